"""The moves of a turn and their values, given the values of the states after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import CHILDREN, FIRST_ROLL, INDEX, KEEPS, N_DICE, ROLLS, Keep
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.notation import words_of
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected

TIE = 1e-12
"""Values tie if they differ by no more than this fraction."""
CARDS = 4096
"""Scorecards whose outcomes are remembered."""

Values = NDArray[np.float64]
"""[criterion, …]: values, the most important criterion first."""


@dataclass(frozen=True)
class Move:
    """A legal move: to keep some dice, or to score in a box."""

    words: str
    keep: Keep | None = None
    category: str | None = None
    points: int | None = None
    """The points for scoring, bonuses included."""


ROLL_ALL = Move("roll all dice")


def _thrown() -> NDArray[np.float64]:
    """[keep, roll]: the probability of the roll after the other dice are thrown."""
    thrown = np.concatenate([np.zeros((FIRST_ROLL, len(ROLLS))), np.eye(len(ROLLS))])
    for keep in reversed(range(FIRST_ROLL)):
        thrown[keep] = thrown[list(CHILDREN[keep])].mean(axis=0)
    return thrown


THROWN = _thrown()


@dataclass(frozen=True)
class After:
    """The states that a scorecard may come to by this turn, one for each outcome in a free category."""

    outcomes: NDArray[np.int64]
    places: NDArray[np.int64]
    points: NDArray[np.int64]
    """The points for the outcome, bonuses included."""


class Choices:
    """The choices of a turn in one game."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.anchors = Anchors(rules)
        self.moves = compile_moves(rules)
        self.after = lru_cache(CARDS)(self._after)
        """The states after a turn from an anchor."""
        self._turn = Turn(self.moves)

    @cached_property
    def expected(self) -> ExpectedTable:
        """The table of the highest expected scores."""
        return solve_expected(self.rules)

    def name_of(self, outcome: int) -> str:
        """The name of the category of an outcome."""
        return self.rules.categories[self.moves.outcomes[outcome].category].name

    def _after(self, anchor: Anchor) -> After:
        outcomes = np.flatnonzero(anchor.free >> self.moves.columns[0] & 1)
        lane = self.anchors.index(anchor) - self.anchors.place[anchor.free, int(anchor.chip)]
        left, chip, to, points = self.anchors.lead(anchor.free, anchor.chip, lane, self.moves, outcomes)
        return After(outcomes, self.anchors.place[left, chip] + to, points)

    def evaluated(
        self, anchor: Anchor, roll: Keep | None, rolls_left: int, values: Values
    ) -> tuple[Sequence[Move], Values]:
        """The legal moves, and their values: [criterion, move, lane], from those of the outcomes of `after`.

        Moves stand in the order in which ties are broken. Before the first roll, the only move is to roll.
        """
        if roll is None:
            best = self._turn.best(anchor.free, anchor.chip, *self._of_outcomes(anchor, values))
            return [ROLL_ALL], np.asarray(best).reshape(len(values), 1, -1)
        if rolls_left == 0:
            return self._boxes(anchor, roll, values)
        moves, indices = keeps_of(roll)
        weighed = self._turn.keep_values(anchor.free, anchor.chip, *self._of_outcomes(anchor, values))
        return moves, weighed[:, 2 - rolls_left, indices]

    def ends(self, anchor: Anchor, roll: Keep | None, rolls_left: int, values: Values) -> Values:
        """The probability of each outcome of `after` if the rest of the turn is played by these values."""
        decided = self._turn.choose(anchor.free, anchor.chip, *self._of_outcomes(anchor, values[..., None]))[..., 0]
        rolls = THROWN[0] if roll is None else THROWN[INDEX[roll]]
        for keeps in decided[:2] if roll is None else decided[2 - rolls_left : 2]:
            rolls = np.bincount(keeps, weights=rolls, minlength=len(KEEPS)) @ THROWN
        outcomes = self.moves.outcome_of[self.moves.rows(anchor.free, anchor.chip), decided[2]]
        chances = np.bincount(outcomes, weights=rolls, minlength=len(self.moves.outcomes)).astype(float)
        return chances[self.after(anchor).outcomes]

    def _boxes(self, anchor: Anchor, roll: Keep, values: Values) -> tuple[list[Move], Values]:
        outcomes = self.moves.open_to(anchor.free, anchor.chip, ROLLS.index(roll))
        after = self.after(anchor)
        found = np.searchsorted(after.outcomes, outcomes)
        moves = []
        for outcome, points in zip(outcomes, after.points[found].tolist(), strict=True):
            name = self.name_of(outcome)
            moves.append(Move(f"score {name} for {points}", category=name, points=points))
        return moves, values[:, found]

    def _of_outcomes(self, anchor: Anchor, values: Values) -> list[Values]:
        """The values of all outcomes, [outcome, lane], by each criterion; 0 for outcomes in used categories."""
        spread = np.zeros((len(values), len(self.moves.outcomes), values.shape[2]))
        spread[:, self.after(anchor).outcomes] = values
        return list(spread)


@cache
def keeps_of(roll: Keep) -> tuple[tuple[Move, ...], NDArray[np.int64]]:
    """All keeps of a roll as moves, with their indices, from the greatest index on, as `Turn.choose` prefers them."""
    inside = {keep for size in range(N_DICE + 1) for keep in combinations(roll, size)}
    ordered = sorted(inside, key=INDEX.__getitem__, reverse=True)
    return tuple(Move(words_of(keep), keep=keep) for keep in ordered), np.array([INDEX[keep] for keep in ordered])


def ranked(values: Values) -> list[int]:
    """The moves from the best to the worst, given [criterion, move]: two that tie in all criteria as they stand."""
    return _ranked(values.tolist(), list(range(values.shape[1])))


def _ranked(criteria: list[list[float]], moves: list[int]) -> list[int]:
    first, rest = criteria[0], criteria[1:]
    moves = sorted(moves, key=first.__getitem__, reverse=True)
    found: list[int] = []
    begin = 0
    for end in range(1, len(moves) + 1):
        if end == len(moves) or not tie(first[moves[begin]], first[moves[end]]):
            equal = sorted(moves[begin:end]) if end - begin > 1 else moves[begin:end]
            found += _ranked(rest, equal) if rest and len(equal) > 1 else equal
            begin = end
    return found


def tie(one: float, other: float) -> bool:
    """Whether two values differ by rounding alone."""
    return abs(one - other) <= TIE * max(abs(one), abs(other))
