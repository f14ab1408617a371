"""Whole games, from the first turn to the last: what a strategy scores, exactly.

Games go from layer to layer: those of one set of free categories, with their chances, to the sets with one category
less. Two layers are in memory at a time.
Who plays for a need decides by a table of scores; who has reached it, or cannot any more, by the highest mean.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Anchor
from yahtzee_cluster.dice import KEEPS, ROLLS, Keep
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.kernels.flow import Flow
from yahtzee_cluster.objectives.probabilities import Scores
from yahtzee_cluster.rules import Rules
from yahtzee_cluster.statistics import EXTRA_BONUS, Currencies
from yahtzee_cluster.table import Table

COSTLIEST = 10
"""So many of the costliest positions are named."""

AHEAD = 2
"""So many turns for each thread are played before they are added up."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Played:
    """What comes of all games together."""

    curve: Values
    """[s]: how likely the final score is at least s."""
    names: tuple[str, ...]
    """The boxes, then the bonuses."""
    mean: Values
    variance: Values
    """NaN for the extra bonus, which a game may pay several times."""

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and second moment of the final score."""
        rest = self.curve[1:]
        return float(rest.sum()), float((2 * np.arange(1, len(self.curve)) - 1) @ rest)


@dataclass
class Arrived:
    """The games of one set of free categories: those that play for the target still, and the others."""

    still_open: Values | None
    played_free: Values

    def add(self, other: Arrived) -> None:
        """Add more games of the same set."""
        self.played_free += other.played_free
        if self.still_open is None:
            self.still_open = other.still_open
        elif other.still_open is not None:
            self.still_open += other.still_open


@dataclass(frozen=True)
class Costly:
    """A position in which the strategies part, and what that costs whoever plays, by the measure of the other one."""

    cost: float
    """Times the chance to meet the position."""
    anchor: Anchor
    need: int
    stage: int
    """0 the first keep, 1 the second, 2 the box."""
    roll: Keep
    decided: Keep | str
    other: Keep | str
    """What the other one would do."""


@dataclass(frozen=True)
class Comparison:
    """How somebody who plays is like another one who looks on and would decide otherwise now and then."""

    played: Played
    taken: Values
    """[turn, stage]: how many decisions are taken on average while the target is neither reached nor out of reach."""
    otherwise: Values
    """[turn, stage]: how many of them the other one would take otherwise."""
    cost: Values
    """[turn, stage]: what that costs, by the measure of the other one, if he played on from there."""
    costliest: tuple[Costly, ...]


def compare(target: int, table: Table, threads: int | None = None) -> tuple[Comparison, Comparison]:
    """Who plays for the highest mean, judged by who plays for a target; and the other way round."""
    first, second = (_checked(target, table, threads, by_mean, comparing=True) for by_mean in (True, False))
    return first.compared(), second.compared()


@dataclass(frozen=True)
class _Seen:
    """What one step has to say besides where its games are now."""

    met: Values
    compared: Values
    costliest: Values


def play_for_mean(rules: Rules, start: Anchor | None = None, threads: int | None = None) -> Played:
    """All games of who plays for the highest mean, from the start or from some state on."""
    return _Games(Scores(rules, 1), None, 0, threads).played(start)


def play_for(target: int, table: Table, start: Anchor | None = None, threads: int | None = None) -> Played:
    """All games of who plays for at least so many points, from the start or some other state, by a table of scores."""
    return _checked(target, table, threads).played(start)


def _checked(
    target: int, table: Table, threads: int | None, by_mean: bool = False, *, comparing: bool = False
) -> _Games:
    if not isinstance(table.problem, Scores):
        raise UsageError(f"{table.path}: holds {table.objective}; games are played by a table of scores")
    if not 1 <= target <= table.target:
        raise UsageError(f"target: this table knows how to play for 1 to {table.target}, found {target}")
    return _Games(table.problem, table, target, threads, by_mean, comparing)


class _Games:
    """All games of one strategy."""

    def __init__(
        self,
        problem: Scores,
        table: Table | None,
        target: int,
        threads: int | None,
        by_mean: bool = False,
        comparing: bool = False,
    ) -> None:
        self._problem = problem
        self._table = table
        self._target = target
        self._threads = threads or len(os.sched_getaffinity(0))
        self._width = _width(problem)
        self._kernels: SimpleQueue[Flow] = SimpleQueue()
        for _ in range(self._threads):
            self._kernels.put(problem.flow(self._width, target, by_mean, comparing))
        self._moves = problem.new_turn().moves
        self._met = np.zeros((2, len(self._moves.outcomes)))
        self._compared = np.zeros((len(problem.element_names), 3, 3))
        self._costliest: list[Values] = []

    def compared(self) -> Comparison:
        """Play them all, and look at every decision."""
        played = self.played()
        taken, otherwise, cost = np.moveaxis(self._compared, 2, 0)
        costliest = sorted(np.concatenate(self._costliest).tolist(), key=lambda row: -row[0])[:COSTLIEST]
        return Comparison(played, taken, otherwise, cost, tuple(self._costly(row) for row in costliest if row[0] > 0))

    def _costly(self, row: list[float]) -> Costly:
        cost, (place, need, stage, roll, mine, other) = row[0], map(int, row[1:])
        names = KEEPS if stage < 2 else self._problem.element_names
        return Costly(cost, self._problem.anchors.anchor(place), need, stage, ROLLS[roll], names[mine], names[other])

    def played(self, start: Anchor | None = None) -> Played:
        """Play them all, from the start if nothing else is said."""
        start = start or Anchor(self._problem.rules.all_free, 0, chip=False)
        arrived = {start.free: self._start(start)}
        with ThreadPoolExecutor(self._threads) as pool:
            while 0 not in arrived:
                arrived = self._turn(arrived, pool)
        return self._result(arrived[0].played_free)

    def _start(self, anchor: Anchor) -> Arrived:
        problem, place = self._problem, self._problem.anchors.reachable(anchor)
        n_open, n_free = self._room(anchor.free)
        games = Arrived(np.zeros(n_open), np.zeros(n_free))
        if 1 <= self._target <= problem.rows.length[place]:
            assert games.still_open is not None
            games.still_open[problem.rows.offset[place] + self._target - 1] = 1.0
        else:
            games.still_open = None
            lane = place - int(problem.anchors.place[anchor.free, int(anchor.chip)])
            before = int(problem.anchors.n_lanes[anchor.free] * self._width[anchor.free, 0]) if anchor.chip else 0
            games.played_free[before + lane * self._width[anchor.free, int(anchor.chip)]] = 1.0
        return games

    def _turn(self, arrived: dict[int, Arrived], pool: ThreadPoolExecutor) -> dict[int, Arrived]:
        """Play a turn of all games; where they are then."""
        n_free = next(iter(arrived)).bit_count()
        rows, turn = self._rows_below(n_free), len(self._compared) - n_free
        after: dict[int, Arrived] = {}
        # Whatever is ready first, games are added up in the order of their sets.
        waiting: deque[Future[tuple[dict[int, Arrived], _Seen]]] = deque()
        sets = iter(sorted(arrived))
        while True:
            for free in islice(sets, AHEAD * self._threads - len(waiting)):
                waiting.append(pool.submit(self._step, free, arrived[free], rows))
            if not waiting:
                return after
            left, seen = waiting.popleft().result()
            self._met += seen.met
            self._compared[turn] += seen.compared
            self._costliest.append(seen.costliest)
            for free, games in left.items():
                if free in after:
                    after[free].add(games)
                else:
                    after[free] = games

    def _step(self, free: int, games: Arrived, rows: dict[int, Values]) -> tuple[dict[int, Arrived], _Seen]:
        n_categories = len(self._problem.element_names)
        opened = games.still_open if games.still_open is not None and games.still_open.any() else None
        left: dict[int, Arrived] = {}
        for category in range(n_categories):
            if free >> category & 1:
                n_open, n_free = self._room(free ^ 1 << category)
                left[category] = Arrived(None if opened is None else np.zeros(n_open), np.zeros(n_free))
        seen = _Seen(np.zeros_like(self._met), np.zeros((3, 3)), np.zeros((COSTLIEST, 7)))
        to = [left.get(category) for category in range(n_categories)]
        kernel = self._kernels.get()
        try:
            kernel.step(
                free,
                [rows.get(free ^ 1 << category) for category in range(n_categories)],
                opened,
                games.played_free,
                [games.still_open if games else None for games in to],
                [games.played_free if games else None for games in to],
                seen.met,
                seen.compared,
                seen.costliest,
            )
        finally:
            self._kernels.put(kernel)
        return {free ^ 1 << category: games for category, games in left.items()}, seen

    def _rows_below(self, layer: int) -> dict[int, Values]:
        """What decides for games that play for the target in this layer: the rows of the layer below."""
        if self._table is None:
            return {}
        store = self._table.store
        found: dict[int, Values] = {}
        for cls in store.partition.classes:
            members = store.partition.members(cls)
            if int(members[0]).bit_count() == layer - 1:
                block = store.block(cls)
                found |= {subset: block[subset] for subset in members.tolist()}
        return found

    def _room(self, free: int) -> tuple[int, int]:
        kernel = self._kernels.get()
        self._kernels.put(kernel)
        return kernel.room(free)

    def _result(self, ended: Values) -> Played:
        scores = np.zeros(int(self._width[0].max()))
        at = 0
        for chip in range(2):
            if self._problem.anchors.place[0, chip] >= 0:
                width = int(self._width[0, chip])
                scores[:width] += ended[at : at + width]
                at += width
        curve = np.cumsum(scores[::-1])[::-1]
        currencies = Currencies.of(self._moves, self._problem.anchors.bonus)
        pays = np.stack([currencies.payoffs, currencies.payoffs + currencies.crossing[:, None]])
        mean, square = (np.einsum("wo,wpo->p", self._met, pays**power) for power in (1, 2))
        once = np.array([name != EXTRA_BONUS for name in currencies.names])
        return Played(curve, currencies.names, mean, np.where(once, square - mean**2, np.nan))


def _width(problem: Scores) -> NDArray[np.int64]:
    """[free, chip]: one more than the most that games can have scored by then."""
    most = np.zeros((problem.rules.all_free + 1, 2), np.int64)
    points = [[0] * 2 for _ in problem.element_names]  # with the chip of before
    for outcome in problem.new_turn().moves.outcomes:
        for chip in range(2):
            if chip or not outcome.extra:
                points[outcome.category][chip] = max(points[outcome.category][chip], outcome.points)
    for free in range(problem.rules.all_free, 0, -1):
        for category, paid in enumerate(points):
            if free >> category & 1:
                left = free ^ 1 << category
                most[left, 0] = max(most[left, 0], most[free, 0] + paid[0])
                most[left, 1] = max(most[left, 1], most[free, 0] + paid[0], most[free, 1] + paid[1])
    return most + problem.anchors.bonus + 1
