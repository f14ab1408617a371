"""`yahtzee-cluster report`: a page with tables and figures."""

from __future__ import annotations

import argparse
from pathlib import Path

from yahtzee_cluster.analysis.findings import Another, find
from yahtzee_cluster.analysis.report import prepare, write
from yahtzee_cluster.commands.shared import count
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.play.strategies import OfGoal, common_rules, parse_strategy
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Write a report of a game from a table of scores: one HTML page, its figures as SVG and PNG, and its "
        "tables as CSV. Print the path of the page."
    )
    parser.epilog = f"Example: {parser.prog} --store runs/yahtzee-scores-1575-G5 --for 250 --out report"
    parser.add_argument("--store", required=True, metavar="DIR", help="a table with objective `scores`")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory of the report")
    compared = parser.add_mutually_exclusive_group()
    compared.add_argument(
        "--for", dest="target", type=count, metavar="N", help="compare, turn by turn, with playing for this score"
    )
    compared.add_argument(
        "--goal",
        metavar="GOAL",
        help="add playing for another goal, as for `yahtzee-cluster probe`; reach:N is --for N",
    )
    compared.add_argument(
        "--strategy", metavar="STRATEGY", help="add a strategy: one that `yahtzee-cluster strategies` lists, or a file"
    )


def run(options: argparse.Namespace) -> str:
    """Write the report, and name its page."""
    if not options.out:
        raise UsageError("out: name a directory with --out")
    table, out = open_table(options.store), Path(options.out)
    table.score_curve()  # raises for other kinds of table, before anything is written
    goal = None if options.goal is None else parse_goal(options.goal)
    strategy = None if options.strategy is None else parse_strategy(options.strategy)
    if goal == MEAN or (strategy and strategy.words == MEAN.words):
        raise UsageError("a report always has the highest expected score; name another goal or strategy")
    rules = common_rules([strategy] if strategy else [], table.rules)  # refuses a strategy for another game
    prepare(out)
    if strategy:
        another = Another("strategy", options.strategy, f"playing by {strategy.name}", strategy.played(rules))
    elif goal and goal.reach is None:
        another = Another("goal", str(goal), f"playing for {goal.words}", OfGoal(goal).played(table.rules))
    else:
        return str(write(find(table, goal.reach if goal else options.target), out))
    return str(write(find(table, None, another), out))
