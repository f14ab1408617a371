"""Tables of probabilities, one for each need: of the best play for it, and of several other ways to play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.expected import moments_after
from yahtzee_cluster.objectives.probabilities import Approximated, Distribution, Probabilities, Scores, Strategies
from yahtzee_cluster.storage.verification import Judgements
from yahtzee_cluster.tables.scorecards import MOMENTS, ScorecardTable
from yahtzee_cluster.tables.table import Values
from yahtzee_cluster.text import as_percent, shown


class ProbabilityTable(ScorecardTable):
    """The probability of every need from every anchor; unless a subclass says otherwise, the highest there is."""

    problem: Probabilities
    number = "need"
    names: ClassVar[tuple[str, ...]] = ("p",)

    @property
    def target(self) -> int:
        """The highest need that has a probability."""
        return self.problem.target

    def row(self, anchor: Anchor, quantity: int = 0) -> Values:
        """The probabilities of needs 1, 2, … from an anchor; beyond the end of the row they are 0.

        A table of scores also has the means (quantity 1) and second moments (2) of the points still to come.
        """
        problem = self.problem
        if not 0 <= quantity < problem.quantities:
            raise UsageError(f"quantity: expected one of {problem.quantities}, counted from 0, found {quantity}")
        place = self.anchors.reachable(anchor)
        first = int(problem.rows.offset[place] + quantity * problem.rows.n_values[anchor.free])
        return self.read(anchor.free, first, int(problem.rows.length[place]), quantity)

    @property
    def numbers(self) -> range:
        """All needs up to the target."""
        return range(self.target + 1)

    def layout(self, places: NDArray[np.int64], quantity: int) -> tuple[NDArray[Any], ...]:
        """Where these rows of a quantity begin, their first needs and their lengths."""
        rows = self.problem.rows
        size = rows.n_values[self.anchors.columns(places)[0]]
        return rows.offset[places] + quantity * size, 1 + rows.first[places], rows.length[places]

    def beside(self, places: NDArray[np.int64], numbers: range, quantity: int) -> Values:  # noqa: ARG002
        """1 for a need of 0, 0 for needs out of reach, and NaN for those that have no row because none occurs there."""
        needs, rows = np.array(numbers), self.problem.rows
        occur = (rows.first[places, None] < needs) & (needs <= rows.last[places, None])
        return np.where(needs == 0, 1.0, np.where(occur, 0.0, np.nan))

    def value(self, anchor: Anchor, need: int) -> float:
        """The probability to score at least `need` from an anchor."""
        self._check_need(need)
        return _probability(self.row(anchor), need)

    def curve(self) -> Values:
        """The probability to score at least s from the start, for s = 0 … target."""
        return self._from_start(0, 1.0, 0.0)

    def curves(self) -> dict[str, Values]:
        """The curve, as `p`."""
        return {"p": self.curve()}

    def state(self, cards: Sequence[Anchor], number: int = 0) -> dict[str, float]:
        """The probability of a need."""
        return {"p": self.value(cards[0], number)}

    def headline(self) -> list[str]:
        """The curve in steps of 50 points."""
        shown, curve = sorted({*range(0, self.target + 1, 50), self.target}), self.curve()
        heading, beside = self._beside(shown)
        lines = [f"{'score':>5}  {'P(score at least)':>18}{heading}"]
        return lines + [f"{score:>5}  {as_percent(curve[score]):>16} %{beside.get(score, '')}" for score in shown]

    def _beside(self, scores: Sequence[int]) -> tuple[str, dict[int, str]]:  # noqa: ARG002
        """What the headline has to the right of the probabilities: its heading, and the text for each score."""
        return "", {}

    def _check_need(self, need: int) -> None:
        if isinstance(need, bool) or not isinstance(need, int | np.integer):
            raise UsageError(f"need: expected a whole number, found {shown(need)}")
        if need > self.target:
            raise UsageError(f"need: this table goes up to {self.target}, found {need}")

    def _from_start(self, quantity: int, at_zero: float, beyond: float) -> Values:
        """One quantity from the start for needs 0 … target: its value for need 0, the row, then its value beyond."""
        curve = np.full(self.target + 1, beyond)
        curve[0] = at_zero
        row = self.row(self.start, quantity)
        curve[1 : len(row) + 1] = row
        return curve

    # --------------------------------------------------------------------------------------------------- judging

    @property
    def lengths(self) -> NDArray[np.int32]:
        """[place]: how many needs have a probability."""
        return self.problem.rows.length

    def judged(self, place: int, random: np.random.Generator) -> Judgements:
        """All quantities of a random need."""
        anchor, need = self.anchors.anchor(place), int(random.integers(1, self.lengths[place] + 1))
        yield from self.judged_need(anchor, need)

    def judged_need(self, anchor: Anchor, need: int) -> Judgements:
        """The probability of a need."""
        yield f"{anchor}, need {need}", self.value(anchor, need), self.judged_probability(anchor, need)

    def judged_probability(self, anchor: Anchor, need: int) -> float:
        """The probability of a need, recomputed from the rows of the anchors after this turn."""
        row = cache(self.row)

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self.plays(anchor, roll):
                yield (_probability(row(after), need - points),)

        return reference.best_turn(options)[0]


class MaxProbTable(ProbabilityTable):
    """The highest probability of every need."""

    reaches_scores = True

    def _beside(self, scores: Sequence[int]) -> tuple[str, dict[int, str]]:
        """The published probabilities, where there are any."""
        published = dict(self.rules.published_maxprob)
        beside = {score: f"  {published[score]:>9} %" for score in scores if score in published}
        return "  published" if published else "", beside


class ReachTable(ProbabilityTable):
    """The highest probability of every need that is left of a single target on the way to it."""

    def row(self, anchor: Anchor, quantity: int = 0) -> Values:
        """The probabilities of needs 1, 2, … from an anchor; NaN for needs too low to occur there.

        It is empty where all that occur are out of reach, however high the target is.
        """
        row = super().row(anchor, quantity)
        n_before = int(self.problem.rows.first[self.anchors.index(anchor)]) if len(row) else 0
        return np.concatenate([np.full(n_before, np.nan), row])


class DistributionTable(ProbabilityTable):
    """The probability of every need when playing for the highest expected score."""

    problem: Distribution

    def judged_probability(self, anchor: Anchor, need: int) -> float:
        """The probability of a need; the expected scores decide."""
        row, expected = cache(self.row), self.problem.expected

        def options(roll: reference.Roll) -> Iterable[tuple[reference.Row, reference.Row]]:
            for after, points in self.plays(anchor, roll):
                moments = moments_after(points, *expected.moments(self.anchors.index(after)))
                yield moments, (_probability(row(after), need - points),)

        return reference.evaluated_turn(options)[0]


class StrategyTable(ProbabilityTable):
    """The probability of every need for a strategy that plays for it, and what decides in that strategy."""

    problem: Strategies

    def for_target(self, target: int) -> StrategyTable:
        """This table, whose values decide how to play for at least `target` points."""
        if not 1 <= target <= self.target:
            raise UsageError(f"target: this table knows how to play for 1 to {self.target}, found {target}")
        return self

    def lookup(
        self, places: NDArray[np.int64], scores: NDArray[np.int64], target: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """By what the row of each game is looked up, and whether its row decides.

        That is the need for the target; once it is reached, or out of reach, the highest mean decides.
        """
        needs = target - scores
        return needs, (needs > 0) & (needs <= self.lengths[places])


class ApproximatedTable(StrategyTable):
    """The probability of every need for a strategy that takes the points still to come for normally distributed."""

    problem: Approximated
    gives_advice = False

    def judged_probability(self, anchor: Anchor, need: int) -> float:
        """The probability of a need; the normal distributions decide."""
        row, expected = cache(self.row), self.problem.expected

        def options(roll: reference.Roll) -> Iterable[tuple[reference.Row, float]]:
            for after, points in self.plays(anchor, roll):
                moments = moments_after(points, *expected.moments(self.anchors.index(after)))
                yield (*moments, float(points >= need)), _probability(row(after), need - points)

        return reference.heuristic_turn(options, need)


class ScoresTable(StrategyTable):
    """The highest probability of every need, and the moments of the points still to come when playing for it."""

    problem: Scores
    reaches_scores = True
    names: ClassVar[tuple[str, ...]] = ("p", "mean", "second_moment")

    def for_comparison(self, target: int) -> StrategyTable:
        """This table, which tells what another decision costs when playing for `target`."""
        return self.for_target(target)

    def moments(self, anchor: Anchor, need: int | None = None) -> tuple[float, float]:
        """Mean and second moment of the points still to come from an anchor when playing for a need.

        Where the need is reached, or out of reach, play goes on for the highest mean.
        """
        if need is None:
            return super().moments(anchor)
        rows = self.problem.rows
        place = self.anchors.reachable(anchor)
        self._check_need(need)
        if not 1 <= need <= rows.length[place]:
            return self.problem.expected.moments(place)
        distance = int(rows.n_values[anchor.free])
        first = int(rows.offset[place]) + need - 1
        mean, second = (float(self.read(anchor.free, first + i * distance, 1, i)[0]) for i in (1, 2))
        return mean, second

    def beside(self, places: NDArray[np.int64], numbers: range, quantity: int) -> Values:
        """Where the need is reached, or out of reach, the moments are those of the highest mean."""
        if not quantity:
            return super().beside(places, numbers, quantity)
        expected = self.problem.expected
        moment = (expected.mean, expected.second_moment)[quantity - 1][places]
        return np.repeat(moment[:, None], len(numbers), axis=1)

    def score_curve(self) -> tuple[Values, Values]:
        """Mean and standard deviation of the final score when playing for at least s, for s = 0 … target."""
        for_mean = self.problem.expected.moments(self.problem.expected.start)
        mean, second = (self._from_start(i, moment, moment) for i, moment in enumerate(for_mean, start=1))
        return mean, np.sqrt(np.maximum(second - mean**2, 0))

    def curves(self) -> dict[str, Values]:
        """The probabilities, and mean and standard deviation of the final score when playing for each score."""
        return super().curves() | dict(zip(("mean", "std"), self.score_curve(), strict=True))

    def state(self, cards: Sequence[Anchor], number: int = 0) -> dict[str, float]:
        """The probability of a need, and both moments when playing for it."""
        moments = zip(("mean", "second_moment"), self.moments(cards[0], number), strict=True)
        return super().state(cards, number) | dict(moments)

    def _beside(self, scores: Sequence[int]) -> tuple[str, dict[int, str]]:
        """Mean and standard deviation."""
        means, deviations = self.score_curve()
        beside = {score: f"  {means[score]:>9.4f}  {deviations[score]:>8.4f}" for score in scores}
        return f"  {'mean':>9}  {'std':>8}", beside

    def judged_need(self, anchor: Anchor, need: int) -> Judgements:
        """The probability of a need, and both moments when playing for it."""
        yield from super().judged_need(anchor, need)
        both = zip(MOMENTS, self.moments(anchor, need), self._judged_moments(anchor, need), strict=True)
        yield from ((f"{anchor}, need {need}, {name}", stored, judged) for name, stored, judged in both)

    def _judged_moments(self, anchor: Anchor, need: int) -> reference.Row:
        row = cache(self.row)

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self.plays(anchor, roll):
                moments = self.moments(after, max(need - points, 0))
                yield _probability(row(after), need - points), *moments_after(points, *moments)

        return reference.best_turn(options)[1:]


def _probability(row: Values, need: int) -> float:
    """The probability of a need by the row of an anchor: 1 where nothing is needed, 0 beyond the end."""
    if need <= 0:
        return 1.0
    return float(row[need - 1]) if need <= len(row) else 0.0
