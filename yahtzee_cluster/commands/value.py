"""`yahtzee-cluster value`: one probability or expected score out of a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from yahtzee_cluster.commands.shared import Card, add_scorecard, add_store, answer, count, lead, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table

NUMBERS = {
    "lead": "say how many points the first player is ahead, with --lead; behind is below 0",
    "score": "say how many points there are so far, with --score",
    "need": "say how many points are still needed, with --need",
}
"""The numbers that a state may need besides scorecards, and the message where one is missing."""
OF_THE_OTHER = "other_card", "other_used", "other_upper", "other_chip"
"""The flags for the second player's scorecard."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print one probability or expected score out of a table."
    add_store(parser)
    parser.epilog = f"Example: {parser.prog} --store runs/yahtzee-maxprob-800-G5 --card aces=3,full-house=25 --need 222"
    add_scorecard(parser)
    parser.add_argument("--need", type=count, metavar="N", help="points still needed (tables of probabilities)")
    parser.add_argument("--score", type=count, metavar="N", help="points so far (tables of a utility)")
    parser.add_argument("--lead", type=lead, metavar="N", help="lead of the first player (tables of two players)")
    add_scorecard(parser, "other-", " of the second player")


def run(options: argparse.Namespace) -> str:
    """Look up a state in a table."""
    table = open_table(options.store)
    takes = {table.number, *(OF_THE_OTHER if table.n_players == 2 else ())}
    unused = (name for name in (*NUMBERS, *OF_THE_OTHER) if name not in takes)
    refuse_flags(options, unused, f"{table.named}: holds {table.objective}")
    prefixes = ("", "other-")[: table.n_players]
    cards = [scorecard(options, table.anchors, prefix) for prefix in prefixes]
    asked = {
        f"{prefix.replace('-', '_')}{key}": value
        for prefix, card in zip(prefixes, cards, strict=True)
        for key, value in card.said.items()
    }
    _check_beginning(table, cards)
    number = _number(options, table, [card.score for card in cards])
    return answer(asked | number | table.state([card.anchor for card in cards], *number.values()), options)


def _check_beginning(table: Table, cards: Sequence[Card]) -> None:
    """Refuse scorecards that had other points where the table of the rest of a game begins."""
    before = [card.said["score"] - card.score for card in cards if card.score is not None and "score" in card.said]
    known = getattr(table.problem, "before", None) if table.number == "score" else None
    if table.rules.begun and before and (len({*before}) > 1 or known not in {None, before[0]}):
        found = " and ".join(map(str, before))
        wanted = "equally many" if known is None else known
        raise UsageError(f"card: this table begins with {wanted} points so far, and here {found} were scored")


def _number(options: argparse.Namespace, table: Table, scores: Sequence[int | None]) -> dict[str, int]:
    """The number that a state of this table needs, by name; nothing if it needs none."""
    name = table.number
    if name is None:
        return {}
    first, last = scores[0], scores[-1]
    if name != "need" and {options.card, options.other_card} != {None} and first is not None and last is not None:
        refuse_flags(options, [name], f"card: tells the {name}")
        return {name: first if name == "score" else first - last}
    number = getattr(options, name)
    if number is None:
        raise UsageError(f"{name}: {NUMBERS[name]}")
    return {name: number}
