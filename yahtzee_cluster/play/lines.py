"""Advice line by line, for other programs."""

from __future__ import annotations

import sys

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import WHOLE_NUMBER, whole_number
from yahtzee_cluster.game.notation import anchor_of, parse_dice
from yahtzee_cluster.objectives.goals import MEAN
from yahtzee_cluster.output import write_stdout
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.position import START_OF_TURN, Position
from yahtzee_cluster.text import shown


def answer_lines(adviser: Adviser) -> None:
    """Answer every line of stdin with one on stdout; an invalid line with the reason."""
    n_refused = 0
    for number, line in enumerate(sys.stdin, start=1):
        try:
            write_stdout(answer(line, adviser))
        except UsageError as error:
            n_refused += 1
            write_stdout(f"error: line {number}: {error}")
    if n_refused:
        raise UsageError(f"lines that could not be answered: {n_refused}")


def answer(line: str, adviser: Adviser) -> str:
    """The best move in the position that a line states, after the expected points still to come.

    With a table of some utility, the expected utility comes first instead.
    """
    advice = adviser.advise(parse_line(line, adviser))[0]
    worth = advice.worth if advice.p is None else advice.p
    return f"{f'{advice.expected:.6f}' if worth is None else f'{worth:.12g}'} {advice.move.words}"


def parse_line(line: str, adviser: Adviser) -> Position:
    """The position that a line states.

    A mark for each box, `x` if it is used and `-` if not; the points in the upper boxes; whether further Yahtzees pay a
    bonus, `True` or `False`; how many rerolls are left, 3 before the first roll; five dice; and for a table of some
    utility the score so far.
    """
    rules = adviser.rules
    words, n_boxes = line.split(), len(rules.categories)
    last = ["the score so far"] if adviser.goal != MEAN else []
    if len(words) != n_boxes + 8 + len(last):
        wanted = [f"{n_boxes} marks", "upper total", "True or False", "rerolls left", "five dice", *last]
        raise UsageError(
            f"expected {', '.join(wanted[:-1])} and {wanted[-1]}: {n_boxes + 8 + len(last)} words, found {len(words)}"
        )
    score = words.pop() if last else "0"
    marks, (upper, active, left, *dice) = words[:n_boxes], words[n_boxes:]
    if not set(marks) <= {"x", "-"}:
        raise UsageError(f"marks: expected x for a used box and - for a free one, found {shown(' '.join(marks))}")
    numbers = {"upper total": upper, "score so far": score}
    for name, number in numbers.items():
        if whole_number(number) is None:
            raise UsageError(f"{name}: {WHOLE_NUMBER}, found {shown(number)}")
    if active not in {"True", "False"}:
        raise UsageError(f"bonus active: expected True or False, found {shown(active)}")
    if left not in {"0", "1", "2", "3"}:
        raise UsageError(f"rerolls left: expected 0, 1, 2 or 3, found {shown(left)}")
    used = sum(1 << box for box, mark in enumerate(marks) if mark == "x")
    anchor = anchor_of(adviser.anchors, used, int(upper), active == "True")
    if int(left) == START_OF_TURN:
        return Position(anchor, score=int(score))
    return Position(anchor, parse_dice(" ".join(dice)), int(left), int(score))
