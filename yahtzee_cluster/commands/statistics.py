"""`yahtzee-cluster statistics`: what a strategy brings in every box, and percentiles of the final score."""

from __future__ import annotations

import argparse
import json
from math import isnan
from typing import Any

from yahtzee_cluster.analysis.forward import play_for, play_for_mean
from yahtzee_cluster.analysis.statistics import PERCENTILES, percentile, statistics
from yahtzee_cluster.commands.shared import add_json, add_scorecard, box_table, count, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.expected import std_of
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.strategies import OfGoal, common_rules, parse_strategy
from yahtzee_cluster.play.wording import percentiles as in_percentiles
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print exact mean and variance of every box and bonus, and percentiles of the final score, when playing "
        "for the highest expected score or for another goal. --json adds the whole distribution and, for the "
        "highest expected score, all covariances."
    )
    parser.epilog = (
        f"Examples: {parser.prog} --store runs/yahtzee-scores-1575-G5 --for 250; "
        f"{parser.prog} --card aces=3,sixes=24,yahtzee=50 --goal win:231"
    )
    game = parser.add_mutually_exclusive_group()
    game.add_argument("--rules", metavar="NAME|FILE", help="a rule set by name, or a TOML file (default: yahtzee)")
    game.add_argument("--store", metavar="DIR", help="a table of scores or approx, whose rules are used")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--for", dest="target", type=count, metavar="N", help="play for at least N points, by a table")
    goal.add_argument("--goal", metavar="GOAL", help="play for a goal, as for `yahtzee-cluster probe`")
    goal.add_argument(
        "--strategy", metavar="STRATEGY", help="play by a strategy, as for `yahtzee-cluster evaluate`, in whole games"
    )
    add_scorecard(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Compute the exact statistics of a strategy, and format them."""
    if (options.store is None) != (options.target is None):
        raise UsageError("name a table of scores with --store and the score that is played for with --for, or neither")
    table = None if options.store is None else open_table(options.store)
    rules = table.rules if table else load_rules("yahtzee" if options.rules is None else options.rules)
    card = scorecard(options, Anchors(rules))
    start, goal = card.anchor, MEAN if options.goal is None else parse_goal(options.goal)
    strategy = None if options.strategy is None else parse_strategy(options.strategy)
    if options.target is not None:
        goal = Goal("reach", options.target)
    if table:
        games = play_for(options.target, table, start)
    elif strategy:
        refuse_flags(options, ["card", "used", "upper", "chip"], "strategy: is evaluated over whole games")
        rules = common_rules([strategy], None if options.rules is None else rules)
        games = strategy.played(rules)
    elif goal == MEAN:
        games = play_for_mean(rules, start)
    else:
        if rules.whole:
            raise UsageError("goal: is about the whole game; name its rules, and the --card from which it goes on")
        refuse_flags(options, ["used", "upper", "chip"], "goal: is about the final score; give the --card instead")
        games = OfGoal(goal, card.score or 0).played(rest_of(rules, start))
    mean, second_moment = games.moments
    percentiles = {share: percentile(games.curve, share / 100) for share in PERCENTILES}
    played_for = strategy.words if strategy else goal.words
    summary: dict[str, Any] = {"rules": rules.name, "goal": None if strategy else str(goal), "for": options.target}
    summary |= {"strategy": strategy.name if strategy else None, "mean": mean}
    summary["std"] = std_of(mean, second_moment)
    variances = games.variance.tolist()
    if goal == MEAN and not strategy:
        found = statistics(rules, start)
        variances = found.variance.tolist()
        summary["covariances"] = found.covariance.tolist()
    if options.json:
        columns = {"names": games.names, "means": games.mean.tolist()}
        columns["variances"] = [None if isnan(variance) else variance for variance in variances]
        return json.dumps(summary | columns | {"percentiles": percentiles, "p": games.curve.tolist()})
    lines = [f"{'rules':10} {rules.name}", f"{'played for':10} {played_for}"]
    lines += [f"{key:10} {summary[key]:.4f}" for key in ("mean", "std")]
    lines += ["", *box_table(games.names, games.mean.tolist(), variances)]
    lines += ["", *in_percentiles({f"{share:g}": at for share, at in percentiles.items()})]
    return "\n".join(lines)
