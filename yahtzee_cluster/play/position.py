"""Positions: a scorecard and the dice on the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, is_integer
from yahtzee_cluster.game.dice import Keep
from yahtzee_cluster.game.notation import five_dice
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.text import shown

START_OF_TURN = 3
"""The rolls left before the first one."""


@dataclass(frozen=True)
class Standing:
    """The scorecard of another player, and the score on it."""

    anchor: Anchor
    score: int
    card: Scorecard | None = field(default=None, compare=False, repr=False)
    """The whole scorecard, if it is known."""

    @classmethod
    def of(cls, card: Scorecard) -> Self:
        """That of a scorecard."""
        return cls(card.anchor, card.score, card)


@dataclass(frozen=True)
class Position:
    """A scorecard and the dice on the table, in any order.

    >>> start = yc.Anchor(yc.load_rules("yahtzee").all_free, upper=0, chip=False)
    >>> yc.Position(start, roll=(6, 2, 2, 5, 2), rolls_left=2).roll
    (2, 2, 2, 5, 6)
    """

    anchor: Anchor
    """Its upper total is the points in the upper categories, whether or not they still matter."""
    roll: Sequence[int] | None = None
    rolls_left: int = START_OF_TURN
    score: int = 0
    """The score so far; it makes no difference when playing for the highest expected score."""
    card: Scorecard | None = field(default=None, compare=False)
    """The whole scorecard, if it is known."""
    others: tuple[Standing, ...] = ()
    """The other players, in the order in which they play after this one."""

    @classmethod
    def of(cls, card: Scorecard, roll: Sequence[int] | None = None, rolls_left: int | None = None) -> Self:
        """The position of a scorecard with some dice; with dice, two rolls are left unless it is said otherwise."""
        if rolls_left is None:
            rolls_left = START_OF_TURN if roll is None else START_OF_TURN - 1
        return cls(card.anchor, roll, rolls_left, card.score, card)

    def __post_init__(self) -> None:
        if self.roll is not None:
            object.__setattr__(self, "roll", five_dice(self.roll))
        least, most = (0, START_OF_TURN - 1) if self.roll else (START_OF_TURN, START_OF_TURN)
        if not is_integer(self.rolls_left, least, most):
            expected = f"{least} to {most} with dice on the table" if self.roll else f"{most} without dice"
            raise UsageError(f"rolls left: expected {expected}, found {shown(self.rolls_left)}")
        if self.card and (self.card.anchor, self.card.score) != (self.anchor, self.score):
            object.__setattr__(self, "card", None)  # that of another position, from which this one was derived
        if not is_integer(self.score, 0, MAX_COUNT):
            raise UsageError(f"score so far: expected a whole number from 0 to {MAX_COUNT}, found {shown(self.score)}")

    @property
    def dice(self) -> Keep | None:
        """The dice on the table, in ascending order."""
        return None if self.roll is None else tuple(self.roll)
