"""Positions and goals as Python programs state them."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from launch import computed
from small_games import SMALL

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.position import Position

YAHTZEE = Adviser(load_rules("yahtzee"))


def test_dice_in_any_order() -> None:
    """From Python, dice come in any order and in any sequence of whole numbers, and are the same dice."""
    start = Anchor(8191, 0, False)
    known = Position(start, (2, 2, 2, 5, 6), 1)
    for dice in ([6, 2, 5, 2, 2], (2, 6, 2, 5, 2), np.array([5, 6, 2, 2, 2]), range(1, 6)):
        position = Position(start, dice, 1)  # type: ignore[arg-type]
        assert position == (known if 6 in dice else Position(start, (1, 2, 3, 4, 5), 1))
    assert YAHTZEE.advise(Position(start, [6, 2, 5, 2, 2], 1)) == YAHTZEE.advise(known)
    assert YAHTZEE.score(start, [6, 2, 5, 2, 2], 1) == YAHTZEE.score(start, (2, 2, 2, 5, 6), 1)


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda start: Position(start, (1, 2, 3, 4), 1), "dice: expected 5 faces from 1 to 6, found (1, 2, 3, 4)"),
        (lambda start: Position(start, (1, 2, 3, 4, 5, 6), 1), "dice: expected 5 faces"),
        (lambda start: Position(start, (0, 2, 3, 4, 5), 1), "dice: expected 5 faces"),
        (lambda start: Position(start, (1, 2, 3, 4, 7), 1), "dice: expected 5 faces"),
        (lambda start: Position(start, (1, 2, 3, 4, 5.0), 1), "dice: expected 5 faces"),  # type: ignore[arg-type]
        (lambda start: Position(start, 5, 1), "dice: expected 5 faces"),  # type: ignore[arg-type]
        (lambda start: Position(start, (1, 2, 3, 4, 5), 3), "rolls left: expected 0 to 2 with dice on the table"),
        (lambda start: Position(start, (1, 2, 3, 4, 5), -1), "rolls left: expected 0 to 2"),
        (lambda start: Position(start, (1, 2, 3, 4, 5), 1.0), "rolls left: expected 0"),  # type: ignore[arg-type]
        (lambda start: Position(start, rolls_left=1), "rolls left: expected 3 without dice, found 1"),
        (lambda start: Position(start, score=-1), "score so far: expected a whole number from 0 to 1000000, found -1"),
        (lambda start: YAHTZEE.advise(Position(start), -1), "goal: expected reach:N with a whole number"),
        (lambda _: YAHTZEE.advise(Position(Anchor(8190, 6, False))), "cannot bring an upper total of 6"),
        (lambda _: YAHTZEE.advise(Position(Anchor(8191, 0, True))), "no such scorecard"),
        (lambda start: YAHTZEE.advise(Position(start), "beat:1"), "goal: expected win:K*expected"),
        (lambda _: YAHTZEE.check(Position(Anchor(8190, 3, False))), "no game has 0 points here; the least is 3"),
        (lambda start: YAHTZEE.score(start, (1, 1, 1, 1), 0), "dice: expected 5 faces"),
        (lambda start: YAHTZEE.score(start, (1, 1, 1, 1, 1), 13), "box: expected 0 to 12, found 13"),
        (lambda start: YAHTZEE.score(start, (1, 1, 1, 1, 1), -1), "box: expected 0 to 12, found -1"),
        (lambda _: YAHTZEE.score(Anchor(8190, 6, False), (1, 1, 1, 1, 1), 1), "cannot bring an upper total"),
    ],
)  # fmt: skip
def test_what_python_may_not_ask(ask: Callable[[Anchor], object], complaint: str) -> None:
    """A position that there is not, and a goal, are refused in one sentence, and never taken for another."""
    with pytest.raises(UsageError, match=re.escape(complaint)):
        ask(Anchor(8191, 0, False))


def test_another_game_s_table(tmp_path: Path) -> None:
    """A table of another game is refused, and a score so far that no game has where a score is played for."""
    table = computed(SMALL["free"], tmp_path / "table")
    with pytest.raises(UsageError, match="table: holds another game"):
        Adviser(load_rules("yahtzee"), table)
    with pytest.raises(UsageError, match="no game has 4 points here; the nearest are 0 and 5"):
        Adviser(table.rules, table).advise(Position(Anchor(0b1011, 0, False), score=4), 17)
