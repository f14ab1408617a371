"""`yahtzee-cluster value`: one probability or expected score out of a table."""

from __future__ import annotations

import argparse
from typing import Any

from yahtzee_cluster.commands.shared import add_scorecard, add_store, answer, count, lead, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table

NUMBERS = {
    "lead": "say how many points the first player is ahead, with --lead; behind is below 0",
    "score": "say how many points there are so far, with --score",
    "need": "say how many points are still needed, with --need",
}
"""The numbers that a state may need besides scorecards, and the message where one is missing."""
OF_THE_OTHER = "other_used", "other_upper", "other_chip"
"""The flags for the second player's scorecard."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print one probability or expected score out of a table."
    add_store(parser)
    parser.epilog = (
        f"Example: {parser.prog} --store runs/yahtzee-maxprob-800-G5 --used aces,full-house --upper 3 --need 250"
    )
    add_scorecard(parser)
    parser.add_argument("--need", type=count, metavar="N", help="points still needed (tables of probabilities)")
    parser.add_argument("--score", type=count, metavar="N", help="points so far (tables of a utility)")
    parser.add_argument("--lead", type=lead, metavar="N", help="lead of the first player (tables of two players)")
    parser.add_argument("--other-used", metavar="NAMES", help="used categories of the second player")
    parser.add_argument("--other-upper", type=count, metavar="N", help="upper points of the second player")
    parser.add_argument(
        "--other-chip", action="store_true", help="the second player's Yahtzee box is used and holds points"
    )


def run(options: argparse.Namespace) -> str:
    """Look up a state in a table."""
    table = open_table(options.store)
    takes = {table.number, *(OF_THE_OTHER if table.n_players == 2 else ())}
    unused = (name for name in (*NUMBERS, *OF_THE_OTHER) if name not in takes)
    refuse_flags(options, unused, f"{table.named}: holds {table.objective}")
    cards, asked = _cards(options, table)
    number = _number(options, table)
    return answer(asked | number | table.state(cards, *number.values()), options)


def _cards(options: argparse.Namespace, table: Table) -> tuple[list[Anchor], dict[str, Any]]:
    """The anchor of every player, and what the options say of their scorecards."""
    anchor, asked = scorecard(options, table.anchors)
    if table.n_players == 1:
        return [anchor], asked
    theirs = argparse.Namespace(used=options.other_used, upper=options.other_upper, chip=options.other_chip)
    other, also = scorecard(theirs, table.anchors)
    return [anchor, other], asked | {f"other_{key}": value for key, value in also.items()}


def _number(options: argparse.Namespace, table: Table) -> dict[str, int]:
    """The number that a state of this table needs, by name; nothing if it needs none."""
    if table.number is None:
        return {}
    number = getattr(options, table.number)
    if number is None:
        raise UsageError(f"{table.number}: {NUMBERS[table.number]}")
    return {table.number: number}
