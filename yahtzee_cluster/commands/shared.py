"""Flags that several verbs share, and how they are parsed."""

from __future__ import annotations

import argparse
import json
from typing import Any

from yahtzee_cluster.fields import WHOLE_NUMBER, whole_number
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.notation import anchor_of, names_of, parse_used
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.text import shown


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the flag for machine-readable output."""
    parser.add_argument("--json", action="store_true", help="print one JSON object with full precision")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a verb that reads a table."""
    parser.add_argument("--store", required=True, metavar="DIR", help="the directory of the table")
    add_json(parser)


def add_scorecard(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a scorecard."""
    parser.add_argument("--used", metavar="NAMES", help="the used categories, separated by commas")
    parser.add_argument("--upper", type=count, metavar="N", help="points in the upper categories so far")
    parser.add_argument("--chip", action="store_true", help="the Yahtzee box is used and holds points")


def count(text: str) -> int:
    """Parse a whole number, 0 included."""
    count = whole_number(text)
    if count is None:
        raise argparse.ArgumentTypeError(f"{WHOLE_NUMBER}, found {shown(text)}")
    return count


def lead(text: str) -> int:
    """Parse a whole number that may be negative."""
    return -count(text[1:]) if text.startswith("-") else count(text)


def scorecard(options: argparse.Namespace, anchors: Anchors) -> tuple[Anchor, dict[str, Any]]:
    """The anchor that the options name, and the scorecard as they give it."""
    used = parse_used(options.used or "", anchors.rules)
    anchor = anchor_of(anchors, used, options.upper, options.chip)
    return anchor, {"used": names_of(used, anchors.rules), "upper": options.upper or 0, "chip": options.chip}


def answer(facts: dict[str, Any], options: argparse.Namespace) -> str:
    """Format figures by name, for people or as JSON."""
    if options.json:
        return json.dumps(facts)
    words = {True: "yes", False: "no"}
    shown = {key: ", ".join(value) or "nothing" if isinstance(value, list) else value for key, value in facts.items()}
    return "\n".join(f"{key:15}{words[v] if isinstance(v, bool) else v}" for key, v in shown.items())
