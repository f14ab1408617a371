"""`yahtzee-cluster evaluate`: what a strategy earns, and what its decisions cost, exactly."""

from __future__ import annotations

import argparse
import json
import sys
from math import isnan
from typing import Any

import numpy as np

from yahtzee_cluster.analysis.evaluation import Evaluation, losses_in_words
from yahtzee_cluster.analysis.forward import Played
from yahtzee_cluster.analysis.statistics import PERCENTILES, percentile
from yahtzee_cluster.commands.shared import add_json, box_table
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.expected import solve_expected, std_of
from yahtzee_cluster.objectives.goals import Goal, parse_goal
from yahtzee_cluster.play.opponents import curve_of
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.strategies import OfGoal, common_rules, parse_strategy
from yahtzee_cluster.play.strategy import ByAnchorAlone, Strategy
from yahtzee_cluster.play.strategy_files import Described
from yahtzee_cluster.play.wording import percentiles

LAST_DIGIT = 1e-6
"""The last digit of a mean that is printed."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print what a strategy earns: exact mean, deviation, boxes and percentiles; and, if it decides by the "
        "scorecard alone, what its decisions cost against optimal play, turn by turn and habit by habit. Nothing is "
        "simulated."
    )
    parser.epilog = f"Examples: {parser.prog} greedy; {parser.prog} mine.toml --goal reach:250 --json"
    parser.add_argument(
        "strategy",
        metavar="STRATEGY",
        help="one that `yahtzee-cluster strategies` lists, a TOML file, `expected`, a goal, or a table",
    )
    parser.add_argument("--rules", metavar="NAME|FILE", help="another game, for strategies that can play any")
    parser.add_argument("--goal", metavar="GOAL", help="add the value of the strategy for a goal, such as reach:250")
    parser.add_argument("--mean", action="store_true", help="print the mean alone, which takes a second")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Evaluate a strategy."""
    strategy = parse_strategy(options.strategy)
    rules = common_rules([strategy], None if options.rules is None else load_rules(options.rules))
    goal = None if options.goal is None else parse_goal(options.goal)
    _check(strategy, rules, goal)
    by_anchor = strategy if isinstance(strategy, ByAnchorAlone) else None
    if options.mean:
        if goal or not by_anchor:
            raise UsageError("mean: goes with strategies that decide by the scorecard alone, and without a goal")
        mean = by_anchor.mean(solve_expected(rules))
        return json.dumps({"strategy": strategy.name, "mean": mean}) if options.json else f"{mean:.6f}"
    found = by_anchor.evaluated(solve_expected(rules)) if by_anchor else None
    games = found.games if found else strategy.played(rules)
    mean, second_moment = games.moments
    facts: dict[str, Any] = {"strategy": strategy.name, "rules": rules.name, "mean": mean}
    facts["std"] = std_of(mean, second_moment)
    if isinstance(strategy, Described):
        facts |= {"parameters": strategy.n_parameters, "published": strategy.published}
    if goal:
        worths = goal.worths(len(games.curve), lambda opponent: curve_of(opponent, rules))
        facts |= {"goal": str(goal), "value": games.mean_worth(worths)}
    if found:
        facts |= {"best": found.best, "loss": found.best - mean, "by_ties": _range(found.by_ties)}
    shares = {share: percentile(games.curve, share / 100) for share in PERCENTILES}
    if options.json:
        return json.dumps(facts | _details(games, found) | {"percentiles": shares, "p": games.curve.tolist()})
    lines = [f"{key:12}{_shown(value)}" for key, value in facts.items() if value is not None]
    lines += ["", *box_table(games.names, games.mean.tolist(), _variances(games, found))]
    lines += ["", *percentiles({f"{share:g}": at for share, at in shares.items()})]
    return "\n".join(lines + (["", *losses_in_words(found)] if found else []))


def _check(strategy: Strategy, rules: Rules, goal: Goal | None) -> None:
    """Refuse a goal that has no value here, before anything is played; warn of rules that never match."""
    if rules.whole and (goal or isinstance(strategy, OfGoal)):
        raise UsageError("goal: is about the whole game, and these are the rules of the rest of one")
    if goal:
        goal.worths(1, lambda _: np.ones(1))
    if isinstance(strategy, Described) and isinstance(strategy.strategy, RuleList):
        for line in strategy.strategy.warnings():
            print(f"warning: {line}", file=sys.stderr)


def _range(means: tuple[float, float]) -> tuple[float, float] | None:
    """The lowest and the highest mean by ties, where they differ in a digit that is printed."""
    return means if means[1] - means[0] > LAST_DIGIT else None


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:.6f} to {value[1]:.6f}, by how ties are broken"
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _details(games: Played, found: Evaluation | None) -> dict[str, Any]:
    variances = [None if isnan(variance) else variance for variance in _variances(games, found)]
    boxes = {"names": games.names, "means": games.mean.tolist(), "variances": variances}
    if not found:
        return boxes
    habits = [{"words": habit.words, "loss": habit.loss} for habit in found.habits]
    covariances = found.statistics.covariance.tolist()
    return boxes | {"covariances": covariances, "by_turn": found.loss.tolist(), "habits": habits}


def _variances(games: Played, found: Evaluation | None) -> list[float]:
    variances: list[float] = (found.statistics.variance if found else games.variance).tolist()
    return variances
