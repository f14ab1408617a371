"""Questions about positions as JSON objects, one a line, and their answers in the same form."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, is_integer
from yahtzee_cluster.game.notation import anchor_of, five_dice, parse_dice, used_of
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.goals import WIN, Goal, parse_goal
from yahtzee_cluster.output import write_stdout
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import VERSION
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.position import START_OF_TURN, Position, Standing
from yahtzee_cluster.text import short, shown, suggestion

STATE = "used", "upper", "chip", "score"
"""What stands for a scorecard where only the state is known."""
FIELDS = "id", "card", *STATE, "dice", "rolls_left", "others", "goal", "distribution"


def answer_questions(adviser: Adviser, goal: Goal, strategy: Consulted | None = None) -> None:
    """Answer every line of stdin with one on stdout; a line that cannot be answered with an object that says why."""
    n_refused = 0
    for number, line in enumerate(sys.stdin, start=1):
        question: Any = None
        try:
            question = parsed(line)
            told = answered(question, adviser, goal, strategy)
        except UsageError as error:
            n_refused += 1
            told = {"version": VERSION, "line": number, "error": str(error)}
        named = {"id": question["id"]} if question and "id" in question else {}
        write_stdout(json.dumps(named | told))
    if n_refused:
        raise UsageError(f"lines that could not be answered: {n_refused}")


def parsed(line: str) -> dict[str, Any]:
    """The question of a line."""
    try:
        question = json.loads(line, object_pairs_hook=_object, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected a JSON object: {error}") from error
    if not isinstance(question, dict):
        raise UsageError(f"expected a JSON object, found {shown(question)}")
    return question


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{short(twice)} is named twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")


def answered(
    question: Mapping[str, Any], adviser: Adviser, goal: Goal, strategy: Consulted | None = None
) -> dict[str, Any]:
    """The answer to a question; if it names no goal, that is to win against other players, or else `goal`."""
    for name in question:
        if name not in FIELDS:
            raise UsageError(f"no field {shown(name)}; {suggestion(name, FIELDS)}")
    said = question.get("goal")
    if said is not None and not isinstance(said, str):
        raise UsageError(f"goal: expected a text, found {shown(said)}")
    with_distribution = _flag(question, "distribution")
    position = position_of(question, adviser)
    by_default = WIN if position.others and goal == adviser.goal else goal
    goal = by_default if said is None else parse_goal(said)
    if position.others and not goal.is_played_at_a_table:
        raise UsageError("others: only the goal win looks at the other players")
    return adviser.answer(position, goal, with_distribution=with_distribution, strategy=strategy).to_dict()


def position_of(question: Mapping[str, Any], adviser: Adviser) -> Position:
    """The position that a question states: a card, or the state that the rest of the game depends on; and dice."""
    roll, left = _dice(question.get("dice")), question.get("rolls_left")
    if left is None:
        left = START_OF_TURN if roll is None else START_OF_TURN - 1
    cards = question.get("others", [])
    if not isinstance(cards, list):
        raise UsageError(f"others: expected a list of scorecards, found {shown(cards)}")
    others = tuple(Standing.of(_card(card, adviser)) for card in cards)
    if "card" in question:
        beside = [name for name in STATE if name in question]
        if beside:
            raise UsageError(f"card: says all of {', '.join(STATE)}; leave out {', '.join(beside)}")
        return replace(Position.of(_card(question["card"], adviser), roll, left), others=others)
    used = question.get("used", [])
    if not isinstance(used, list) or not all(isinstance(name, str) for name in used):
        raise UsageError(f"used: expected a list of names, found {shown(used)}")
    upper, score = (question.get(name) for name in ("upper", "score"))
    for name, number in (("upper", upper), ("score", score)):
        if number is not None and not is_integer(number, 0, MAX_COUNT):
            raise UsageError(f"{name}: expected a whole number from 0 to {MAX_COUNT}, found {shown(number)}")
    anchor = anchor_of(adviser.anchors, used_of(used, adviser.rules), upper, _flag(question, "chip"))
    return Position(anchor, roll, left, score or 0, others=others)


def _card(said: object, adviser: Adviser) -> Scorecard:
    if isinstance(said, str):
        return parse_scorecard(said, adviser.rules)
    if isinstance(said, dict):
        return Scorecard.of(adviser.rules, said)
    raise UsageError(f"card: expected points by the names of boxes, found {shown(said)}")


def _dice(said: object) -> tuple[int, ...] | None:
    if isinstance(said, str):
        return parse_dice(said)
    return None if said is None else five_dice(said if isinstance(said, list) else (), said)


def _flag(question: Mapping[str, Any], name: str) -> bool:
    flag = question.get(name, False)
    if not isinstance(flag, bool):
        raise UsageError(f"{name}: expected true or false, found {shown(flag)}")
    return flag
