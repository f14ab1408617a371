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
from yahtzee_cluster.objectives.probabilities import MaxProb, Scores
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
    expected: float | None
    """The expected final score of who plays for the goal; a table of probabilities alone does not know it."""
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

        Among moves that are equally likely to reach it, the expected score decides, and then the larger second moment:
        of who goes on playing for it if the table knows them, else of who plays for the highest mean from there on.
        """
        anchor = position.anchor
        if not anchor.free:
            raise UsageError("no box is free: the game is over")
        self.check(position, reach)
        need = None if reach is None else reach - position.score
        # What is reached leaves the expected score to play for.
        has_mean = need is None or need <= 0 or isinstance(self._playing.problem, Scores)
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
                expected=position.score + worth[0 if reach is None else 1] if has_mean else None,
                cost=0.0 if _tie(best, worth[0]) else best - worth[0],
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

    def least_score(self, anchor: Anchor) -> int:
        """The least that a scorecard can hold: its upper total, the bonus if that is won, and a filled Yahtzee box."""
        upper = anchor.upper or 0
        paid = [play.points for play in self._turn.moves.outcomes if play.chip and anchor.chip]
        return upper + self.rules.upper_bonus_for(0, upper) + min(paid, default=0)

    def check(self, position: Position, reach: int | None) -> None:
        """Refuse a goal that nobody here can judge."""
        if reach is None:
            return
        need = reach - position.score
        if need > self._playing.target:
            raise UsageError(f"{need} points are still needed, and this table goes up to {self._playing.target}")

    @property
    def _playing(self) -> Table:
        """The table that knows how to play for a score."""
        if self._table is None:
            raise UsageError("a score to beat or to reach needs a table of maxprob or scores: name one with --store")
        if not isinstance(self._table.problem, MaxProb | Scores):
            raise UsageError(
                f"{self._table.path}: holds {self._table.objective}; to beat or to reach a score takes a "
                "table of maxprob or scores"
            )
        return self._table

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
        def rows(place: int) -> list[NDArray[np.float64]]:
            """Probabilities, and the moments of who plays for them if the table has those."""
            table, anchor = self._playing, self.anchors.anchor(place)
            return [table.row(anchor, quantity) for quantity in range(3 if isinstance(table.problem, Scores) else 1)]

        def worth_of(after: Anchor, points: int) -> Worth:
            place = self.anchors.index(after)
            moments = moments_after(points, *self.expected.moments(place))
            if need is None:
                return moments
            left = need - points
            if left <= 0:
                return 1.0, *moments
            probabilities, *beside = rows(place)
            if left > len(probabilities):
                return 0.0, *moments
            if beside:
                moments = moments_after(points, *(float(row[left - 1]) for row in beside))
            return float(probabilities[left - 1]), *moments

        return worth_of


def words_of(keep: Keep) -> str:
    """What to say to keep some dice."""
    if len(keep) == N_DICE:
        return "keep all dice"
    return f"keep {' '.join(map(str, keep))}" if keep else "roll all dice again"


def _tie(one: float, other: float) -> bool:
    return abs(one - other) <= TIE * max(abs(one), abs(other))


def _which_first(one: tuple[Move, Worth], other: tuple[Move, Worth]) -> int:
    """Below 0 if the first is worth more; by the first criterion in which they do not tie."""
    for mine, theirs in zip(one[1], other[1], strict=True):
        if not _tie(mine, theirs):
            return -1 if mine > theirs else 1
    return 0
