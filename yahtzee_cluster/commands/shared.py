"""Flags that several verbs share, how they are parsed, and what several print alike."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Sequence
from math import isnan
from typing import Any, NamedTuple

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import WHOLE_NUMBER, read_text, whole_number
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.notation import anchor_of, names_of, parse_used
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.record import Record, parse_record
from yahtzee_cluster.text import short, shown

SEEDS = 10**9
"""As many as `count` reads."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the flag for machine-readable output."""
    parser.add_argument("--json", action="store_true", help="print one JSON object with full precision")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a verb that reads a table."""
    parser.add_argument("--store", required=True, metavar="DIR", help="the directory of the table")
    add_json(parser)


def add_scorecard(parser: argparse.ArgumentParser, prefix: str = "", whose: str = "") -> None:
    """Add the flags that name a scorecard, as it is or by the state that it leaves."""
    parser.add_argument(
        f"--{prefix}card",
        metavar="CARD",
        help=f"the scorecard{whose}, such as aces=3,full-house=25,yahtzee=50,bonus=100; other boxes are free",
    )
    parser.add_argument(f"--{prefix}used", metavar="NAMES", help=f"the used categories{whose}, separated by commas")
    parser.add_argument(
        f"--{prefix}upper", type=count, metavar="N", help=f"points in the upper categories{whose} so far"
    )
    parser.add_argument(f"--{prefix}chip", action="store_true", help=f"the Yahtzee box{whose} is used and holds points")


def count(text: str) -> int:
    """Parse a whole number, 0 included."""
    count = whole_number(text)
    if count is None:
        raise argparse.ArgumentTypeError(f"{WHOLE_NUMBER}, found {shown(text)}")
    return count


def lead(text: str) -> int:
    """Parse a whole number that may be negative."""
    return -count(text[1:]) if text.startswith("-") else count(text)


def add_seed(parser: argparse.ArgumentParser, of: str) -> None:
    """Add the seed of something random."""
    parser.add_argument("--seed", type=count, metavar="N", help=f"seed of {of} (default: another one each time)")


def seed_of(options: argparse.Namespace) -> int:
    """The seed that was given, or a random one."""
    seed: int = secrets.randbelow(SEEDS) if options.seed is None else options.seed
    return seed


def read_games(files: Sequence[str], rules: Rules | None) -> list[Record]:
    """The records of games of the same rules; - stands for standard input."""
    records = []
    for file in files:
        text = sys.stdin.read() if file == "-" else read_text(file)
        records.append(parse_record(text, "standard input" if file == "-" else file, rules))
        if not records[-1].turns:
            raise UsageError(f"{file}: expected a line for each turn, found none")
    if any(record.rules.table != records[0].rules.table for record in records):
        raise UsageError("games: expected records of the same game")
    return records


class Card(NamedTuple):
    """What the flags say of a scorecard."""

    anchor: Anchor
    score: int | None
    """The score so far; None where the flags do not tell it."""
    said: dict[str, Any]
    """The scorecard in an answer."""


def scorecard(options: argparse.Namespace, anchors: Anchors, prefix: str = "") -> Card:
    """The scorecard that the options name: all of it, or what the rest of the game depends on."""
    flag, *state_flags = (f"{prefix}{name}" for name in ("card", "used", "upper", "chip"))
    text, named, upper, chip = (getattr(options, name.replace("-", "_")) for name in (flag, *state_flags))
    if text is None:
        used = parse_used(named or "", anchors.rules)
        said = {"used": names_of(used, anchors.rules), "upper": upper or 0, "chip": chip}
        return Card(anchor_of(anchors, used, upper, chip), None if used else 0, said)
    refuse_flags(options, (name.replace("-", "_") for name in state_flags), f"{flag}: tells all that is used")
    try:
        card = parse_scorecard(text, anchors.rules)
        anchor, score = card.since(anchors.rules)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    state = card.anchor
    used = card.rules.all_free & ~state.free
    said = {"used": names_of(used, card.rules), "upper": state.upper, "chip": state.chip, "score": card.score}
    return Card(anchor, score, {"card": card.as_dict(), **said})


def box_table(names: Sequence[str], means: Sequence[float], variances: Sequence[float]) -> list[str]:
    """Mean, variance and deviation of every box and bonus; the last two are left out where they are not known."""
    lines = [f"{'box or bonus':16} {'mean':>9} {'variance':>12} {'deviation':>10}"]
    for name, mean, variance in zip(names, means, variances, strict=True):
        spread = "" if isnan(variance) else f" {variance:>12.4f} {variance**0.5:>10.4f}"
        lines.append(f"{short(name, 16):16} {mean:>9.4f}{spread}")
    return lines


def answer(facts: dict[str, Any], options: argparse.Namespace) -> str:
    """Format figures by name, for people or as JSON."""
    if options.json:
        return json.dumps(facts)
    return "\n".join(f"{key:15}{_in_words(value)}" for key, value in facts.items())


def _in_words(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        value = [f"{name}={points}" for name, points in value.items()]
    return (", ".join(value) or "nothing") if isinstance(value, list) else value
