"""Advice for a position: every legal move with its value, the best first.

Only the rows of the states after this turn are read from the table, a few dozen. One turn of the kernel then gives the
values of all moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cmp_to_key
from itertools import combinations
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, is_integer
from yahtzee_cluster.game.dice import INDEX, N_DICE, Keep
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.notation import five_dice, words_of
from yahtzee_cluster.game.possible_scores import check_score
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.game.scorecard import legal_play
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, moments_after, solve_expected
from yahtzee_cluster.tables.table import Table
from yahtzee_cluster.tables.utility import UtilityTable
from yahtzee_cluster.text import shown

TIE = 1e-12
MAX_REACH = 1_000_000_000
START_OF_TURN = 3
"""The rolls left before the first one."""

Worth = tuple[float, ...]
"""The value of a move or a state by every criterion of a goal, the most important first."""


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

    def __post_init__(self) -> None:
        if self.roll is not None:
            object.__setattr__(self, "roll", five_dice(self.roll))
        least, most = (0, START_OF_TURN - 1) if self.roll else (START_OF_TURN, START_OF_TURN)
        if not is_integer(self.rolls_left, least, most):
            expected = f"{least} to {most} with dice on the table" if self.roll else f"{most} without dice"
            raise UsageError(f"rolls left: expected {expected}, found {shown(self.rolls_left)}")
        if not is_integer(self.score, 0, MAX_COUNT):
            raise UsageError(f"score so far: expected a whole number from 0 to {MAX_COUNT}, found {shown(self.score)}")


@dataclass(frozen=True)
class Goal:
    """The objective of a game: to reach a score, the utility of a table, or the highest expected score.

    >>> yc.Goal(reach=250).words
    'at least 250 points'
    >>> yc.Goal().words
    'the highest expected score'
    """

    reach: int | None = None
    utility: str | None = None
    """The name of the utility."""

    def __post_init__(self) -> None:
        if self.reach is not None and (self.utility is not None or not is_integer(self.reach, 0, MAX_REACH)):
            raise UsageError(f"reach: expected a score to play for, and nothing beside it, found {shown(self.reach)}")

    @property
    def words(self) -> str:
        """The goal in words."""
        if self.utility is not None:
            return self.utility
        return "the highest expected score" if self.reach is None else f"at least {self.reach} points"

    @property
    def outcome(self) -> str:
        """The end of a sentence that begins with the probability of the goal."""
        won = {"beat": "to win, a tie counted half", "beat-all": "to win, a tie counted as lost"}
        return won.get((self.utility or "").partition(":")[0], "of reaching it")


MEAN = Goal()


@dataclass(frozen=True)
class Move:
    """A legal move: to keep some dice, or to score in a box."""

    words: str
    keep: Keep | None = None
    category: str | None = None
    points: int | None = None
    """The points for scoring, bonuses included."""


class Figures(TypedDict, total=False):
    """The figures of a move that belong to a goal."""

    p: float
    """The probability of reaching the goal; a tie with the best opponent counts half if the goal says so."""
    worth: float
    """The expected utility, for a goal that is not a probability."""
    expected: float | None
    """The expected final score when playing for the goal; a table with probabilities only does not have it."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A move with its figures."""

    move: Move
    p: float | None = None
    worth: float | None = None
    expected: float | None = None
    cost: float
    """The difference in value to the best move, by the goal."""


# ------------------------------------------------------------------------------------- values of states, by goal


class Aim(ABC):
    """The value of states after a play, for a goal and a score so far."""

    n_criteria = 3

    def __init__(self, expected: ExpectedTable, score: int) -> None:
        self.expected = expected
        self.score = score

    @abstractmethod
    def worth(self, after: Anchor, points: int) -> Worth:
        """The value of a state after a play for so many points."""

    @abstractmethod
    def figures(self, worth: Worth) -> Figures:
        """The figures of a move with this value."""

    def moments(self, after: Anchor, points: int) -> tuple[float, float]:
        """Mean and second moment of the points from this play on, playing for the highest mean after it."""
        return moments_after(points, *self.expected.moments(self.expected.anchors.index(after)))


class ForTheMean(Aim):
    """The highest expected score."""

    n_criteria = 2

    def worth(self, after: Anchor, points: int) -> Worth:
        """Mean and second moment."""
        return self.moments(after, points)

    def figures(self, worth: Worth) -> Figures:
        """The expected final score."""
        return {"expected": self.score + worth[0]}


class ToReach(Aim):
    """At least some score, by a table of maxprob or scores."""

    def __init__(self, expected: ExpectedTable, score: int, table: Table, reach: int) -> None:
        super().__init__(expected, score)
        self._need = reach - score
        self._knows_moments = table.quantities > 1
        if self._need > table.target:
            raise UsageError(f"{self._need} points are still needed, and this table goes up to {table.target}")

        @cache
        def rows(place: int) -> list[NDArray[np.float64]]:
            """The probabilities, and the moments when playing for them if the table has those."""
            anchor = expected.anchors.anchor(place)
            return [table.row(anchor, quantity) for quantity in range(table.quantities)]

        self._rows = rows

    def worth(self, after: Anchor, points: int) -> Worth:
        """The probability, and the moments: when playing for the score if the table has them, else for the mean."""
        left, moments = self._need - points, self.moments(after, points)
        if left <= 0:
            return 1.0, *moments
        probabilities, *beside = self._rows(self.expected.anchors.index(after))
        if left > len(probabilities):
            return 0.0, *moments
        if beside:
            moments = moments_after(points, *(float(row[left - 1]) for row in beside))
        return float(probabilities[left - 1]), *moments

    def figures(self, worth: Worth) -> Figures:
        """The probability, and the expected final score if it is known; once the score is reached, it always is."""
        known = self._need <= 0 or self._knows_moments
        return {"p": worth[0], "expected": self.score + worth[1] if known else None}


class ByUtility(Aim):
    """The utility of a table."""

    def __init__(self, expected: ExpectedTable, score: int, table: UtilityTable) -> None:
        super().__init__(expected, score)
        self._is_chance = table.problem.is_chance
        self._row = cache(lambda place: table.worths(expected.anchors.anchor(place)))

    def worth(self, after: Anchor, points: int) -> Worth:
        """The expected utility, then the moments when playing for the highest mean from there on."""
        row = self._row(self.expected.anchors.index(after))
        score = self.score + points
        # A score beyond the end of the row takes an extra bonus, which is impossible here.
        return float(row[score]) if score < len(row) else 0.0, *self.moments(after, points)

    def figures(self, worth: Worth) -> Figures:
        """The expected utility, as a probability if it is one."""
        return {"p": worth[0]} if self._is_chance else {"worth": worth[0]}


# ------------------------------------------------------------------------------------------------ the adviser


class Adviser:
    """Gives advice for one game: for the highest expected score, and for the goals of a table if there is one.

    >>> adviser = yc.Adviser(yc.load_rules("yahtzee"))
    >>> start = yc.Anchor(adviser.rules.all_free, upper=0, chip=False)
    >>> for advice in adviser.advise(yc.Position(start, roll=(6, 2, 2, 5, 2), rolls_left=2))[:2]:
    ...     print(f"{advice.move.words} {advice.expected:.2f}")
    keep 2 2 2 257.71
    keep 2 2 2 6 254.46

    With a table of probabilities or scores, also for a score to reach:

    >>> table = yc.open_table("yacht")
    >>> adviser = yc.Adviser(table.rules, table)
    >>> position = yc.Position(table.start, roll=(6, 2, 2, 5, 2), rolls_left=2)
    >>> best = adviser.advise(position, goal=200)[0]
    >>> print(f"{best.move.words} {best.p:.4f}")
    keep 2 2 2 0.2442
    """

    def __init__(self, rules: Rules, table: Table | None = None) -> None:
        if table and table.rules.table != rules.table:
            raise UsageError(f"{table.path}: holds another game")
        if table and not table.gives_advice:
            raise table.refusal("; advice takes a table of maxprob, scores or some utility")
        self.rules = rules
        self.expected = solve_expected(rules)
        self.anchors = self.expected.anchors
        self._table = table
        self._turn = Turn(compile_moves(rules))

    @property
    def goal(self) -> Goal:
        """The goal by default: that of the table, else the highest expected score."""
        return Goal(utility=self._table.goal) if self._table else MEAN

    @property
    def reaches_scores(self) -> bool:
        """Whether the table says how to reach a score."""
        return self._table is not None and self._table.reaches_scores

    def advise(self, position: Position, goal: Goal | int | None = None) -> list[Advice]:
        """Every legal move, the best first, for a goal, or for a score to reach.

        Among moves of the same value, the expected score decides, then the larger second moment. Both are those of
        playing on for the goal if the table has them, else for the highest mean.
        """
        if not position.anchor.free:
            raise UsageError("no box is free: the game is over")
        aim = self._aim(position, goal)
        if position.roll is None:
            found = [(Move("roll all dice"), self._start(position.anchor, aim))]
        elif position.rolls_left == 0:
            found = self._boxes(position.anchor, tuple(position.roll), aim)
        else:
            found = self._keeps(position.anchor, tuple(position.roll), position.rolls_left, aim)
        ranked = sorted(found, key=cmp_to_key(_which_first))
        best = ranked[0][1][0]
        return [
            Advice(move=move, cost=0.0 if _tie(best, worth[0]) else best - worth[0], **aim.figures(worth))
            for move, worth in ranked
        ]

    def check(self, position: Position, goal: Goal | int | None = None) -> None:
        """Refuse a position that no game reaches, and a goal that this adviser has no values for."""
        self._aim(position, goal)
        check_score(self.anchors, position.anchor, position.score)

    def score(self, anchor: Anchor, roll: Sequence[int], category: int) -> tuple[Anchor, int]:
        """The state after scoring a roll in a box, and the points for it, bonuses included."""
        self.anchors.reachable(anchor)
        return self.anchors.after(anchor, legal_play(self.rules, anchor, roll, category))

    def _aim(self, position: Position, goal: Goal | int | None) -> Aim:
        """What moves are valued by in a position, which some game has to reach."""
        self.anchors.reachable(position.anchor)
        if not isinstance(goal, Goal):
            goal = self.goal if goal is None else Goal(reach=goal)
        if goal != MEAN:
            check_score(self.anchors, position.anchor, position.score)
        if goal.reach is not None:
            return ToReach(self.expected, position.score, self._playing, goal.reach)
        if goal.utility is not None:
            return ByUtility(self.expected, position.score, self._valuing(goal.utility))
        return ForTheMean(self.expected, position.score)

    @property
    def _playing(self) -> Table:
        """The table, if it says how to reach a score."""
        if self._table is None:
            raise UsageError("a score to beat or to reach needs a table of maxprob or scores: name one with --store")
        if not self.reaches_scores:
            raise self._table.refusal("; to beat or to reach a score takes a table of maxprob or scores")
        return self._table

    def _valuing(self, goal: str) -> UtilityTable:
        """The table, if it holds the utility that a goal names."""
        if self._table is None or self.goal.utility != goal:
            raise UsageError(f"goal: {shown(goal)} takes a table of it")
        return self._table.for_goal()

    def _start(self, anchor: Anchor, aim: Aim) -> Worth:
        best = self._turn.best(anchor.free, anchor.chip, *self._outcomes(anchor, aim))
        return tuple(float(value[0]) for value in best)

    def _boxes(self, anchor: Anchor, roll: Keep, aim: Aim) -> list[tuple[Move, Worth]]:
        found = []
        for play in self.rules.plays(anchor.free, anchor.chip, roll):
            after, points = self.anchors.after(anchor, play)
            name = self.rules.categories[play.category].name
            move = Move(f"score {name} for {points}", category=name, points=points)
            found.append((move, aim.worth(after, points)))
        return found

    def _keeps(self, anchor: Anchor, roll: Keep, rolls_left: int, aim: Aim) -> list[tuple[Move, Worth]]:
        weighed = self._turn.keep_values(anchor.free, anchor.chip, *self._outcomes(anchor, aim))[
            :, 2 - rolls_left, :, 0
        ]
        inside = {keep for size in range(N_DICE + 1) for keep in combinations(roll, size)}
        ordered = sorted(inside, key=INDEX.__getitem__, reverse=True)  # the order in which `choose` breaks ties
        return [(Move(words_of(keep), keep=keep), tuple(weighed[:, INDEX[keep]].tolist())) for keep in ordered]

    def _outcomes(self, anchor: Anchor, aim: Aim) -> list[NDArray[np.float64]]:
        """The value of every outcome by each criterion; 0 for outcomes in used categories."""
        outcomes = self._turn.moves.outcomes
        worth = np.zeros((aim.n_criteria, len(outcomes), 1))
        for number, outcome in enumerate(outcomes):
            if anchor.free >> outcome.category & 1:
                worth[:, number, 0] = aim.worth(*self.anchors.after(anchor, outcome))
        return list(worth)


def _tie(one: float, other: float) -> bool:
    return abs(one - other) <= TIE * max(abs(one), abs(other))


def _which_first(one: tuple[Move, Worth], other: tuple[Move, Worth]) -> int:
    """Compare two moves by the first criterion in which they do not tie; negative if the first is better."""
    for mine, theirs in zip(one[1], other[1], strict=True):
        if not _tie(mine, theirs):
            return -1 if mine > theirs else 1
    return 0
