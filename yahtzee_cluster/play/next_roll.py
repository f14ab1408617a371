"""What the next roll may bring: every roll that is possible after a keep, with its chance and its luck."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.dice import INDEX, N_DICE, ROLLS, Keep
from yahtzee_cluster.game.notation import words_of
from yahtzee_cluster.objectives.goals import Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.choices import THROWN
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.text import short


@dataclass(frozen=True)
class NextRoll:
    """A roll that is possible after a keep."""

    dice: Keep
    chance: float
    value: float
    """The value of the position after it, by the goal."""

    def to_dict(self) -> dict[str, Any]:
        """The roll, ready for JSON."""
        return {"dice": self.dice, "chance": self.chance, "value": self.value}


def next_rolls(adviser: Adviser, position: Position, keep: Keep, goal: Goal) -> list[NextRoll]:
    """All rolls that are possible after a keep, the worst first; before the first roll, the keep is empty.

    The mean of their values is the value of the keep, so that value less mean is the luck of a roll.
    """
    if position.rolls_left == 0 or len(keep) == N_DICE:
        raise UsageError("keep: no dice are rolled again")
    if Counter(keep) - Counter(position.dice or ()):
        raise UsageError(f"keep: {short(words_of(keep))} needs dice that are not on the table")
    found = []
    for roll, chance in zip(ROLLS, THROWN[INDEX[keep]].tolist(), strict=True):
        if chance:
            after = replace(position, roll=roll, rolls_left=position.rolls_left - 1)
            found.append(NextRoll(roll, chance, adviser.advise(after, goal)[0].value))
    return sorted(found, key=lambda one: (one.value, one.dice))
