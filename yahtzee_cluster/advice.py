"""What to do in a position: every legal move with what it is worth, the best first.

Only the table's rows of the states that the position can lead to are read, a few dozen; what a move is worth then takes
one turn of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cmp_to_key
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Anchor
from yahtzee_cluster.dice import INDEX, N_DICE, Keep
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.moves import compile_moves
from yahtzee_cluster.objectives.expected import moments_after, solve_expected
from yahtzee_cluster.rules import Rules
from yahtzee_cluster.table import Table

TIE = 1e-12
START_OF_TURN = 3
"""So many rolls are left before the first."""

Worth = tuple[float, ...]
"""By every criterion of a goal, the first first."""

WorthOf = Callable[[Anchor, int], Worth]
"""Of a state after a play that pays so much."""


@dataclass(frozen=True)
class Position:
    """A scorecard and the dice on the table."""

    anchor: Anchor
    """Its upper total is the points in the upper categories, whether or not they still matter."""
    roll: Keep | None = None
    rolls_left: int = START_OF_TURN
    score: int = 0
    """So far."""


@dataclass(frozen=True)
class Move:
    """One thing to do: keep some dice, or score in some box."""

    words: str
    keep: Keep | None = None
    category: str | None = None
    points: int | None = None
    """What scoring pays at once, bonuses included."""


@dataclass(frozen=True)
class Advice:
    """What a move is worth."""

    move: Move
    p: float | None
    """The probability to reach the goal, if that is a score."""
    expected: float
    """The expected final score."""
    cost: float
    """How much less it is worth than the best move, by the goal."""


class Adviser:
    """Knows a game, and how likely every score is if a table is at hand."""

    def __init__(self, rules: Rules, table: Table | None = None) -> None:
        self.rules = rules
        self.expected = solve_expected(rules)
        self.anchors = self.expected.anchors
        self._table = table
        self._turn = Turn(compile_moves(rules))

    def advise(self, position: Position, reach: int | None = None) -> list[Advice]:
        """Every legal move, the best first: to reach at least some score, or for the highest expected score.

        Among moves that are equally likely to reach it, the expected score decides, and then the larger second moment.
        """
        anchor = position.anchor
        if not anchor.free:
            raise UsageError("no box is free: the game is over")
        self.check(position, reach)
        need = None if reach is None else reach - position.score
        if position.roll is None:
            found = [(Move("roll all dice"), self._start(anchor, need))]
        elif position.rolls_left == 0:
            found = self._boxes(anchor, position.roll, need)
        else:
            found = self._keeps(anchor, position.roll, position.rolls_left, need)
        ranked = sorted(found, key=cmp_to_key(_which_first))
        best = ranked[0][1][0]
        return [
            Advice(
                move=move,
                p=None if reach is None else worth[0],
                expected=position.score + worth[0 if reach is None else 1],
                cost=max(best - worth[0], 0.0),
            )
            for move, worth in ranked
        ]

    def score(self, anchor: Anchor, roll: Keep, category: int) -> tuple[Anchor, int]:
        """Where scoring a roll in a box leads, and what it pays, bonuses included."""
        name = self.rules.categories[category].name
        if not anchor.free >> category & 1:
            raise UsageError(f"box: {name} is used")
        for play in self.rules.plays(anchor.free, anchor.chip, roll):
            if play.category == category:
                return self.anchors.after(anchor, play)
        raise UsageError(f"box: {name} is not open to this roll while another box has to take it")

    def check(self, position: Position, reach: int | None) -> None:
        """Refuse a goal that nobody here can judge."""
        if reach is None:
            return
        need = reach - position.score
        if self._table is None:
            raise UsageError("a score to beat or to reach needs a table of probabilities: name one with --store")
        if need > self._table.target:
            raise UsageError(f"{need} points are still needed, and this table goes up to {self._table.target}")

    def _start(self, anchor: Anchor, need: int | None) -> Worth:
        first, second, *more = self._outcomes(anchor, need)
        return tuple(float(best[0]) for best in self._turn.best(anchor.free, anchor.chip, first, second, *more))

    def _boxes(self, anchor: Anchor, roll: Keep, need: int | None) -> list[tuple[Move, Worth]]:
        worth_of = self._worth_of(need)
        found = []
        for play in self.rules.plays(anchor.free, anchor.chip, roll):
            after, points = self.anchors.after(anchor, play)
            name = self.rules.categories[play.category].name
            move = Move(f"score {name} for {points}", category=name, points=points)
            found.append((move, worth_of(after, points)))
        return found

    def _keeps(self, anchor: Anchor, roll: Keep, rolls_left: int, need: int | None) -> list[tuple[Move, Worth]]:
        weighed = self._turn.weigh(anchor.free, anchor.chip, *self._outcomes(anchor, need))[:, 2 - rolls_left, :, 0]
        inside = {keep for size in range(N_DICE + 1) for keep in combinations(roll, size)}
        ordered = sorted(inside, key=INDEX.__getitem__, reverse=True)  # the order in which `choose` breaks ties
        return [(Move(words_of(keep), keep=keep), tuple(weighed[:, INDEX[keep]].tolist())) for keep in ordered]

    def _outcomes(self, anchor: Anchor, need: int | None) -> list[NDArray[np.float64]]:
        """By each criterion, what every outcome is worth; those of used categories are worth nothing."""
        worth_of = self._worth_of(need)
        outcomes = self._turn.moves.outcomes
        worth = np.zeros((2 if need is None else 3, len(outcomes), 1))
        for number, outcome in enumerate(outcomes):
            if anchor.free >> outcome.category & 1:
                worth[:, number, 0] = worth_of(*self.anchors.after(anchor, outcome))
        return list(worth)

    def _worth_of(self, need: int | None) -> WorthOf:
        @cache
        def row(place: int) -> NDArray[np.float64]:
            assert self._table
            return self._table.row(self.anchors.anchor(place))

        def worth_of(after: Anchor, points: int) -> Worth:
            place = self.anchors.index(after)
            moments = moments_after(points, *self.expected.moments(place))
            if need is None:
                return moments
            left = need - points
            if left <= 0:
                return 1.0, *moments
            return float(row(place)[left - 1]) if left <= len(row(place)) else 0.0, *moments

        return worth_of


def words_of(keep: Keep) -> str:
    """What to say to keep some dice."""
    if len(keep) == N_DICE:
        return "keep all dice"
    return f"keep {' '.join(map(str, keep))}" if keep else "roll all dice again"


def _which_first(one: tuple[Move, Worth], other: tuple[Move, Worth]) -> int:
    """Below 0 if the first is worth more; by the first criterion in which they do not tie."""
    for mine, theirs in zip(one[1], other[1], strict=True):
        if abs(mine - theirs) > TIE * max(abs(mine), abs(theirs)):
            return -1 if mine > theirs else 1
    return 0
