"""Policies for simulated games: each decides a turn of many games at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.forward import DeciderOf
from yahtzee_cluster.kernels.rollout import throw, throw_by
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.play.monte_carlo import Cards, Group, Outcomes, Seat, TurnPlayer
from yahtzee_cluster.tables.probabilities import StrategyTable
from yahtzee_cluster.tables.utility import UtilityTable

Values = NDArray[np.float64]


class ByAnchor(Seat):
    """Plays by decisions that depend on the anchor alone."""

    def __init__(self, decider_of: DeciderOf) -> None:
        self._decider_of = decider_of

    def turn_player(self, turn: Turn) -> TurnPlayer:
        """Plays by the decisions of one kernel."""
        decider = self._decider_of(turn)

        def play(_: Cards, group: Group, outcomes: Outcomes) -> None:
            decisions = decider.decisions(group.free, group.chip)
            throw(turn, group.free, group.chip, decisions, group.lanes, group.throws, outcomes)

        return play


class ForTheMean(ByAnchor):
    """Plays for the highest expected score."""

    def __init__(self, expected: ExpectedTable) -> None:
        super().__init__(expected.decider)


class ByTable(Seat):
    """Plays for the utility of a table, or for a target by a table of scores or approx.

    Once the target is reached, or out of reach, it plays for the highest expected score.
    """

    def __init__(self, table: StrategyTable | UtilityTable, target: int) -> None:
        self._table = table
        self._target = target
        self._rows: dict[int, Values] = {}

    def look_up(self, cards: Cards, player: int) -> None:
        """Read the rows that decide the turn."""
        layer = int(cards.free[player, 0]).bit_count() - 1
        if not any(subset.bit_count() == layer for subset in self._rows):
            self._rows = self._table.rows_of_layer(layer)

    def turn_player(self, turn: Turn) -> TurnPlayer:
        """Plays by decisions that depend on the score so far."""
        player = self._table.problem.player(turn)
        play_for_mean = ForTheMean(self._table.problem.expected).turn_player(turn)

        def play(cards: Cards, group: Group, outcomes: Outcomes) -> None:
            places = cards.anchors.place[group.free, int(group.chip)] + group.lanes
            wanted, is_open = self._table.lookup(places, group.scores, self._target)
            rows = [self._rows.get(group.free & ~(1 << c)) for c in range(len(cards.anchors.rules.categories))]
            rising = np.lexsort((wanted, group.lanes))
            open_games, others = rising[is_open[rising]], np.flatnonzero(~is_open)
            found = np.empty(len(open_games), np.int16)
            at = group.lanes[open_games], wanted[open_games], group.throws[open_games]
            throw_by(player, group.free, group.chip, rows, *at, found)
            outcomes[open_games] = found
            if len(others):
                found = np.empty(len(others), np.int16)
                play_for_mean(cards, group.part(others), found)
                outcomes[others] = found

        return play
