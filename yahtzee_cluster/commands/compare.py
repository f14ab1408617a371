"""`yahtzee-cluster compare`: where playing for a score and for the highest expected score differ."""

from __future__ import annotations

import argparse
import json

from yahtzee_cluster.analysis.comparison import facts, words
from yahtzee_cluster.analysis.evaluation import losses_in_words
from yahtzee_cluster.analysis.forward import compare
from yahtzee_cluster.commands.shared import add_json, count
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.strategies import common_rules, parse_strategy
from yahtzee_cluster.play.strategy import ByAnchorAlone, Strategy
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print where playing for the highest expected score differs from playing for a score, or from a strategy that "
        "decides by the scorecard alone, decision by decision."
    )
    parser.epilog = f"Examples: {parser.prog} --store runs/yahtzee-scores-1575-G5 --for 250; {parser.prog} greedy"
    parser.add_argument(
        "strategy", nargs="?", metavar="STRATEGY", help="one that `yahtzee-cluster strategies` lists, or a TOML file"
    )
    parser.add_argument("--store", metavar="DIR", help="a table of scores, for playing for a score")
    parser.add_argument("--for", dest="target", type=count, metavar="N", help="the score")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Compare two ways to play, decision by decision."""
    if options.strategy is not None:
        refuse_flags(options, ["store"], "a strategy is compared without a table")
        if options.target is not None:
            raise UsageError("a strategy is compared with the highest expected score; leave out --for")
        return _compared(parse_strategy(options.strategy), options.json)
    if options.store is None or options.target is None:
        raise UsageError("name a strategy, or a table of scores with --store and the score with --for")
    table = open_table(options.store)
    both = compare(options.target, table)
    if options.json:
        return json.dumps(facts(options.target, both, table.rules))
    return words(options.target, both, table.rules)


def _compared(strategy: Strategy, as_json: bool) -> str:
    """Where a strategy decides otherwise than for the highest expected score, and what that costs."""
    if not isinstance(strategy, ByAnchorAlone):
        raise UsageError(
            f"{strategy.words} depends on more than the scorecard; name another strategy, or --for a score"
        )
    found = strategy.evaluated(solve_expected(common_rules([strategy])))
    if not as_json:
        return "\n".join(losses_in_words(found))
    habits = [{"words": habit.words, "loss": habit.loss} for habit in found.habits]
    return json.dumps({"strategy": strategy.name, "by_turn": found.loss.tolist(), "habits": habits})
