"""`yahtzee-cluster review`: what luck and decisions made of a game."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from yahtzee_cluster.analysis.comparison import STAGES
from yahtzee_cluster.commands.shared import add_json, read_games
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.review import Review, in_figures, level, review
from yahtzee_cluster.text import short

WIDTH_95 = 1.96
"""Standard errors on both sides of a mean that cover 95 % of all cases."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Review games: the luck of every roll, what every decision cost, and the best move in its place. The value at "
        "the start, plus luck, minus losses, is the result, exactly. A record is a text with a line for each turn, "
        "such as `22256 keep 222, 22235 keep 222, 22266 full-house`."
    )
    parser.epilog = f"Examples: {parser.prog} game.txt; {parser.prog} game.txt --goal reach:250 --json"
    parser.add_argument("games", nargs="+", metavar="GAME", help="files with records; - for standard input")
    parser.add_argument("--rules", metavar="NAME|FILE", help="the game, where a record does not say it")
    parser.add_argument("--goal", metavar="GOAL", help="review by this goal (default: that of the record, or the mean)")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Review the games, one by one and all together."""
    rules = None if options.rules is None else load_rules(options.rules)
    goal = None if options.goal is None else parse_goal(options.goal)
    records = read_games(options.games, rules)
    with Adviser(records[0].rules) as adviser:
        found = [review(record, adviser, goal or parse_goal(record.goal or str(MEAN))) for record in records]
    if options.json:
        if len(found) == 1:
            return json.dumps(found[0].to_dict() | _level(found))
        return json.dumps({"games": [one.to_dict() for one in found], "all": _together(found) | _level(found)})
    lines = [
        line for file, one in zip(options.games, found, strict=True) for line in _in_words(one, file, len(found) > 1)
    ]
    if len(found) > 1:
        lines += [f"all {len(found)} games", *in_figures(_together(found))]
    return "\n".join([*lines, *_level_in_words(found)])


# -------------------------------------------------------------------------------------------------- in words


def _in_words(one: Review, file: str, is_one_of_many: bool) -> list[str]:
    lines = [f"{file}:"] if is_one_of_many else []
    lines += [f"{'goal':15} {one.goal.words}", *in_figures(one.figures), "", *_turns(one), ""]
    if one.costliest:
        lines += ["costliest decisions:", *(decision.words for decision in one.costliest), ""]
    return lines


def _turns(one: Review) -> list[str]:
    """A line for each turn: its box, its luck and its losses."""
    cards = one.record.cards
    lines = [f"{'turn':>4}  {'box':16} {'points':>6} {'luck':>9}  {'  '.join(f'{stage:>11}' for stage in STAGES)}"]
    played = zip(one.record.turns, cards, cards[1:], strict=False)
    for number, (turn, before, after) in enumerate(played, one.record.first_turn):
        points = after.score - before.score
        luck = sum(roll.luck for roll in one.rolls if roll.turn == number)
        losses = [sum(d.loss for d in one.decisions if (d.turn, d.stage) == (number, stage)) for stage in range(3)]
        told = "  ".join(f"{loss or 0:>11.4f}" if loss else f"{'':>11}" for loss in losses)
        name = short(one.record.rules.categories[turn.box].name, 16)
        lines.append(f"{number:>4}  {name:16} {points:>6} {luck:>+9.4f}  {told}".rstrip())
    return lines


# -------------------------------------------------------------------------------------------------- many games


def _together(found: Sequence[Review]) -> dict[str, float]:
    """Means over games, that of the loss with an interval."""
    losses = np.array([one.loss for one in found])
    off = WIDTH_95 * float(losses.std(ddof=1)) / math.sqrt(len(losses))
    figures = {
        name: float(np.mean([one.figures[name] for one in found])) for name in ("start", "luck", "loss", "result")
    }
    return figures | {"loss from": figures["loss"] - off, "loss to": figures["loss"] + off}


def _level(found: Sequence[Review]) -> dict[str, Any]:
    """Between which named strategies these games lie by what they lose; only where all is known of whole games."""
    if not all(one.is_rated for one in found):
        return {"level": None}
    better, worse = level(float(np.mean([one.loss for one in found])), found[0].record.rules)
    return {"level": {"below": better, "above": worse}}


def _level_in_words(found: Sequence[Review]) -> list[str]:
    between = _level(found)["level"] or {}
    words = {"below": "more than {} loses on average", "above": "less than {}"}
    said = [words[side].format(name) for side, name in between.items() if name]
    return [f"That is {', and '.join(said)}."] if said else []
