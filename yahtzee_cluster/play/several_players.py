"""Policies that depend on the other players' scorecards: Ecker's rule for several players, and perfect play for two."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.kernels.rollout import chances, leads_of, throw
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.play.monte_carlo import Cards, Group, Integers, Outcomes, Seat, TurnPlayer
from yahtzee_cluster.storage.shard import new_values
from yahtzee_cluster.tables.race import RaceTable

Values = NDArray[np.float64]


class ForTheChance(Seat):
    """Plays for the probability of a higher final score than all others (Ecker).

    The points that each player still scores are approximated by a normal distribution, with mean and variance of play
    for the highest expected score. Where probabilities tie, the mean decides.
    """

    def __init__(self, expected: ExpectedTable) -> None:
        self._mean = expected.mean
        self._deviation = expected.deviations
        self._rival_mean = self._rival_deviation = np.empty((0, 0))

    def look_up(self, cards: Cards, player: int) -> None:
        """Compute mean and deviation of the opponents' final scores."""
        rivals = [rival for rival in range(len(cards.score)) if rival != player]
        places = np.stack([cards.places(rival) for rival in rivals], axis=1)
        self._rival_mean = cards.score[rivals].T + self._mean[places]
        self._rival_deviation = self._deviation[places]

    def turn_player(self, turn: Turn) -> TurnPlayer:
        """Plays by decisions that differ from game to game."""

        def play(cards: Cards, group: Group, outcomes: Outcomes) -> None:
            after = After.of(cards, group)
            values = np.zeros((2, turn.n_outcomes, len(group.games)))
            chances(
                after.paid + self._mean[after.places],
                self._deviation[after.places],
                group.lanes,
                group.scores,
                self._rival_mean[group.games],
                self._rival_deviation[group.games],
                after.outcomes,
                *values,
            )
            _choose(turn, group, values, outcomes)

        return play


class Perfectly(Seat):
    """Plays by a table of two players."""

    def __init__(self, table: RaceTable) -> None:
        self._table = table
        self._values = new_values(0)
        sizes = np.bitwise_count(np.arange(table.rules.all_free + 1))
        self._n_alike = np.bincount(sizes)
        self._rank = np.empty(len(sizes), np.int64)
        """[free]: the rank of this set among the sets with as many categories."""
        for size, n_alike in enumerate(self._n_alike.tolist()):
            self._rank[sizes == size] = np.arange(n_alike)
        self._starts = np.empty((0, 0), np.int64)
        """The offsets of subsets in all values, by the ranks of the second player's free categories and the first's."""

    def look_up(self, cards: Cards, player: int) -> None:  # noqa: ARG002
        """Read the values of all states after this turn, class by class."""
        layer = sum(int(free).bit_count() for free in cards.free[:, 0]) - 1
        partition = self._table.entries.partition
        classes = [cls for cls in partition.classes if partition.layer(cls) == layer]
        starts = np.cumsum([0, *(partition.n_values[cls] for cls in classes)]).tolist()
        self._values = new_values(0)  # frees the layer before, so that both are never in memory
        self._values = new_values(starts[-1])
        self._starts = np.empty((self._n_alike[(layer + 1) // 2], self._n_alike[layer // 2]), np.int64)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for _ in pool.map(self._read, classes, starts):
                pass

    def _read(self, cls: ClassId, start: int) -> None:
        block = self._table.block(cls)
        self._values[start : start + len(block.values)] = block.values
        self._starts[self._ranks(block.subsets)] = start + block.starts[:-1]

    def _ranks(self, subsets: Integers) -> tuple[Integers, Integers]:
        rules = self._table.rules
        return self._rank[subsets >> len(rules.categories)], self._rank[subsets & rules.all_free]

    def turn_player(self, turn: Turn) -> TurnPlayer:
        """Plays by decisions that depend on the lead and on the opponent's scorecard."""

        def play(cards: Cards, group: Group, outcomes: Outcomes) -> None:
            values = np.zeros((self._table.quantities, turn.n_outcomes, len(group.games)))
            self._fill(cards, group, values)
            _choose(turn, group, values if group.player == 0 else -values, outcomes)

        return play

    def _fill(self, cards: Cards, group: Group, values: Values) -> None:
        """Fill in the values after every outcome, which are the first player's."""
        problem, anchors, first = self._table.problem, cards.anchors, group.player == 0
        after, other, sign = After.of(cards, group), 1 - group.player, 1 if first else -1
        their_free = cards.free[other, group.games]
        theirs = cards.places(other, group.games) - anchors.place[their_free, 0]
        leads = sign * (group.scores - cards.score[other, group.games])
        n, side = len(anchors.rules.categories), problem.sides[0]
        n_rows = np.diff(side.first)
        for free in np.unique(after.free).tolist():
            one, two = (free, their_free) if first else (their_free, free)
            subsets = one | two << n
            lowest, length = problem.leads(side.first[one], side.first[two])
            which = after.free == free
            leads_of(
                self._values,
                self._starts[self._ranks(subsets)] + theirs * length * (1 if first else n_rows[free]),
                length * (n_rows[their_free] if first else 1),
                lowest,
                length,
                problem.sizes(subsets) // problem.quantities,
                leads,
                group.lanes,
                after.places[which] - anchors.place[free, 0],
                sign * after.paid[which],
                after.outcomes[which],
                values,
            )


@dataclass(frozen=True)
class After:
    """The anchors after every outcome, from each anchor of a scorecard: [n, lane] for outcome `outcomes[n]`."""

    outcomes: Integers
    free: Integers
    """[n]: the categories that are still free then."""
    places: Integers
    paid: Integers

    @classmethod
    def of(cls, cards: Cards, group: Group) -> After:
        """The anchors after all outcomes whose category is free."""
        anchors, moves = cards.anchors, cards.moves
        outcomes = np.flatnonzero(group.free >> moves.columns[0] & 1)
        lanes = np.arange(anchors.n_lanes[group.free])
        free, chip, lane, paid = anchors.lead(group.free, int(group.chip), lanes, moves, outcomes[:, None])
        return cls(outcomes, free[:, 0], anchors.place[free, chip] + lane, paid)


def _choose(turn: Turn, group: Group, values: Values, outcomes: Outcomes) -> None:
    """Play a turn of games that are decided one by one, given the values [criterion, outcome, game]."""
    decisions = turn.choose(group.free, group.chip, *values)
    throw(turn, group.free, group.chip, decisions, np.arange(len(group.games)), group.throws, outcomes)
