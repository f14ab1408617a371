"""The exact distribution of the scores of a strategy, by a forward pass over whole games.

The pass goes from layer to layer: the probabilities of all states with one set of free categories flow to the sets with
one category less. Two layers are in memory at a time.
A strategy that plays for a need decides by a table of scores; once the need is reached, or out of reach, by the highest
mean.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.statistics import CONSTANT, Currencies
from yahtzee_cluster.game.anchors import most_scored
from yahtzee_cluster.game.dice import KEEPS, ROLLS, Keep
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels.flow import Flow
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.objectives.goals import MEAN, words_of_table
from yahtzee_cluster.progress import Report, stage
from yahtzee_cluster.tables.probabilities import StrategyTable
from yahtzee_cluster.tables.table import Table
from yahtzee_cluster.tables.utility import UtilityTable

COSTLIEST = 10
"""The number of costliest positions that are reported."""

AHEAD = 2
"""The number of steps for each thread that may be under way before their results are added up."""

Values = NDArray[np.float64]

DeciderOf = Callable[[Turn], Decider]
"""Makes the kernel that decides by the anchor alone, for a turn of one thread."""

States = Mapping[tuple[Anchor, int], float]
"""The probabilities of states with equally many free categories, each an anchor and a score so far."""


@dataclass(frozen=True)
class Played:
    """The results of all games of a strategy."""

    curve: Values
    """[s]: the probability of a final score of at least s."""
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

    def mean_worth(self, worths: Values) -> float:
        """The mean of what final scores are worth, given the worth of each from 0 on."""
        return float(-np.diff(self.curve, append=0.0) @ worths[: len(self.curve)])


@dataclass(frozen=True)
class Costly:
    """A position in which two strategies decide differently, and the cost of that by the objective of the other one."""

    cost: float
    """The loss, times the probability of the position."""
    anchor: Anchor
    need: int
    stage: int
    """0 the first keep, 1 the second, 2 the box."""
    roll: Keep
    decided: Keep | str
    other: Keep | str
    """The decision of the other strategy."""


@dataclass(frozen=True)
class Comparison:
    """The decisions of a strategy, compared with those of another one in the same positions."""

    played: Played
    taken: Values
    """[turn, stage]: the expected number of decisions while the target is neither reached nor out of reach."""
    otherwise: Values
    """[turn, stage]: the expected number of those in which the other strategy decides differently."""
    cost: Values
    """[turn, stage]: the expected cost of that, by the objective of the other strategy playing on from there."""
    costliest: tuple[Costly, ...]


def compare(target: int, table: Table, threads: int | None = None) -> tuple[Comparison, Comparison]:
    """Playing for the highest mean, judged by playing for a target; and the other way round."""
    scores = table.for_comparison(target)
    expected = scores.problem.expected
    first, second = (_Games(expected, scores, target, threads, by_mean, comparing=True) for by_mean in (True, False))
    return first.compared(), second.compared()


@dataclass(frozen=True)
class _Seen:
    """The results of one step, besides the states that its games lead to."""

    met: Values
    compared: Values
    costliest: Values


def play_for_mean(rules: Rules, start: Anchor | None = None, threads: int | None = None) -> Played:
    """All games played for the highest mean, from the start or from a state on."""
    return _Games(solve_expected(rules), None, 0, threads).played(_from(rules, start))


def play_for(target: int, table: Table, start: Anchor | None = None, threads: int | None = None) -> Played:
    """All games played for a target by a table of scores or approx, from the start or from a state on."""
    strategy = table.for_target(target)
    return _Games(strategy.problem.expected, strategy, target, threads).played(_from(table.rules, start))


def play_by(table: Table, start: Anchor | None = None, threads: int | None = None) -> Played:
    """All games played for the utility of a table, from the start or from a state on."""
    strategy = table.for_goal()
    return _Games(strategy.problem.expected, strategy, 0, threads).played(_from(table.rules, start))


def play_by_anchor(
    expected: ExpectedTable,
    decider_of: DeciderOf,
    words: str,
    start: Anchor | None = None,
    threads: int | None = None,
) -> Played:
    """All games of a strategy that decides by the anchor alone; `words` say for the progress what it plays for."""
    games = _Games(expected, None, 0, threads, decider_of=decider_of, words=words)
    return games.played(_from(expected.anchors.rules, start))


def play_on(
    states: States, expected: ExpectedTable, table: Table | None = None, target: int = 0, threads: int | None = None
) -> Played:
    """All games from some states on: for a target or for the utility of a table, or without one for the mean."""
    strategy: StrategyTable | UtilityTable | None = None
    if table:
        strategy = table.for_target(target) if table.goal is None else table.for_goal()
    return _Games(expected, strategy, target, threads).played(states)


def _from(rules: Rules, start: Anchor | None) -> States:
    """A state before the first turn, by default that of a whole game."""
    return {(start or Anchor(rules.all_free, 0, chip=False), 0): 1.0}


class _Games:
    """All games of one strategy."""

    def __init__(
        self,
        expected: ExpectedTable,
        table: StrategyTable | UtilityTable | None,
        target: int,
        threads: int | None,
        by_mean: bool = False,
        comparing: bool = False,
        decider_of: DeciderOf | None = None,
        words: str = MEAN.words,
    ) -> None:
        self._anchors = expected.anchors
        self._rules = expected.anchors.rules
        self._table = table
        self._threads = threads or len(os.sched_getaffinity(0))
        self._moves = compile_moves(self._rules)
        by_table = None if by_mean else table
        self._goal = words_of_table(by_table.goal or f"reach:{target}") if by_table else words
        self._length = 1 + most_scored(self._anchors, self._moves)
        self._offset, self._size = self._anchors.end_to_end(self._length)
        self._kernels: SimpleQueue[Flow] = SimpleQueue()
        for _ in range(self._threads):
            turn = Turn(self._moves)
            player = table.problem.player(turn) if table else None
            decider = (decider_of or expected.decider)(turn)
            flow = Flow(decider, self._length, self._offset, player, target, by_mean, comparing)
            self._kernels.put(flow)
        self._met = np.zeros((2, len(self._moves.outcomes)))
        self._compared = np.zeros((len(self._rules.categories), 3, 3))
        self._costliest: list[Values] = []

    def compared(self) -> Comparison:
        """Play all games, and compare every decision."""
        played = self.played(_from(self._rules, None))
        taken, otherwise, cost = np.moveaxis(self._compared, 2, 0)
        costliest = sorted(np.concatenate(self._costliest).tolist(), key=lambda row: -row[0])[:COSTLIEST]
        return Comparison(played, taken, otherwise, cost, tuple(self._costly(row) for row in costliest if row[0] > 0))

    def _costly(self, row: list[float]) -> Costly:
        cost, (place, need, stage, roll, mine, other) = row[0], map(int, row[1:])
        names = KEEPS if stage < 2 else [category.name for category in self._rules.categories]
        return Costly(cost, self._anchors.anchor(place), need, stage, ROLLS[roll], names[mine], names[other])

    def played(self, states: States) -> Played:
        """Play all games from these states on."""
        games: dict[int, Values] = {}
        for (anchor, score), chance in states.items():
            some = games.setdefault(anchor.free, np.zeros(self._size[anchor.free]))
            some[self._offset[self._anchors.reachable(anchor)] + score] += chance
        sets = np.arange(len(self._size))
        ahead = np.logical_or.reduce([sets & ~free == 0 for free in games])
        self._left = self._total = int(self._size[ahead].sum())
        with stage(f"games played for {self._goal}") as report, ThreadPoolExecutor(self._threads) as pool:
            while 0 not in games:
                games = self._turn(games, pool, report)
        return self._result(games[0])

    def _turn(self, games: dict[int, Values], pool: ThreadPoolExecutor, report: Report) -> dict[int, Values]:
        """Play a turn of all games; both arguments and result are by set of free categories."""
        n_free = next(iter(games)).bit_count()
        rows = {} if self._table is None else self._table.rows_of_layer(n_free - 1)
        turn = len(self._compared) - n_free
        after: dict[int, Values] = {}
        # Results are added up in the order of the sets, whichever is ready first, so that sums do not depend on timing.
        waiting: deque[tuple[int, Future[tuple[dict[int, Values], _Seen]]]] = deque()
        sets = iter(sorted(games))
        while True:
            for free in islice(sets, AHEAD * self._threads - len(waiting)):
                waiting.append((free, pool.submit(self._step, free, games[free], rows)))
            if not waiting:
                return after
            played, future = waiting.popleft()
            left, seen = future.result()
            self._met += seen.met
            self._compared[turn] += seen.compared
            self._costliest.append(seen.costliest)
            for free, some in left.items():
                if free in after:
                    after[free] += some
                else:
                    after[free] = some
            self._left -= int(self._size[played])
            report(1 - self._left / self._total, f"turn {turn + 1} of {len(self._compared)}")

    def _step(self, free: int, games: Values, rows: dict[int, Values]) -> tuple[dict[int, Values], _Seen]:
        after = [free ^ 1 << c if free >> c & 1 else None for c in range(len(self._rules.categories))]
        left = {left: np.zeros(self._size[left]) for left in after if left is not None}
        seen = _Seen(np.zeros_like(self._met), np.zeros((3, 3)), np.zeros((COSTLIEST, 7)))
        kernel = self._kernels.get()
        try:
            kernel.step(
                free,
                [None if left is None else rows.get(left) for left in after],
                games,
                [None if key is None else left[key] for key in after],
                seen.met,
                seen.compared,
                seen.costliest,
            )
        finally:
            self._kernels.put(kernel)
        return left, seen

    def _result(self, ended: Values) -> Played:
        last = self._anchors.places(0)
        scores = np.zeros(int(self._length[last].max()))
        for start, length in zip(self._offset[last].tolist(), self._length[last].tolist(), strict=True):
            scores[:length] += ended[start : start + length]
        curve = np.cumsum(scores[::-1])[::-1]
        currencies = Currencies.of(self._moves, self._anchors.bonus)
        pays = np.stack([currencies.payoffs, currencies.payoffs + currencies.crossing[:, None]])
        mean, square = (np.einsum("wo,wpo->p", self._met, pays**power) for power in (1, 2))
        variance = np.where(square - mean**2 > CONSTANT * square, square - mean**2, 0.0)
        return Played(curve, currencies.names, mean, np.where(currencies.once, variance, np.nan))
