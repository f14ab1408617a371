"""Strategies against each other: who has most points in the end, exactly where nobody looks at others, else by dice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.rules import Rules
from yahtzee_cluster.simulation import Integers, final_scores
from yahtzee_cluster.strategies import Perfect, Strategy, common_rules

MOST_PLAYERS = 16
CONFIDENCE = 0.95
DEVIATIONS = 1.959963984540054
"""So many to either side hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Standing:
    """How one of the players fares."""

    win: float
    """How likely nobody else has as many points."""
    tie: float
    """How likely somebody has as many, and nobody has more."""
    loss: float
    value: float
    """A win, or the part of it that falls to each of those who tie."""
    mean: float
    """Of the final score."""
    games: int | None = None
    """Played with dice; None where the figures are exact."""

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's for the value, with a confidence of 95 %; what varies less than a yes or no is inside more often."""
        if self.games is None:
            return self.value, self.value
        n, squared = self.games, DEVIATIONS**2
        middle = (self.value + squared / (2 * n)) / (1 + squared / n)
        spread = math.sqrt(self.value * (1 - self.value) * squared / n + squared**2 / (4 * n**2)) / (1 + squared / n)
        return middle - spread, middle + spread


def duel(strategies: Sequence[Strategy], rules: Rules | None = None) -> list[Standing]:
    """How everybody fares, exactly."""
    rules = _rules(strategies, rules)
    played = {strategy: strategy.played(rules).curve for strategy in set(strategies)}
    curves = [played[strategy] for strategy in strategies]
    length = max(map(len, curves)) + 1
    at_least = np.stack([np.append(curve, np.zeros(length - len(curve))) for curve in curves])
    return [_standing(at_least, player) for player in range(len(curves))]


def _standing(at_least: NDArray[np.float64], player: int) -> Standing:
    """Of a player among several with these distributions, [player, score]."""
    equal, less = -np.diff(at_least), 1 - at_least[:, :-1]
    mine = equal[player]
    level = mine[None, :]  # [n]: that n others have as many, and nobody has more
    for rival in range(len(at_least)):
        if rival != player:
            padding = np.zeros((1, len(mine)))
            level = np.vstack([level * less[rival], padding]) + np.vstack([padding, level * equal[rival]])
    chances = level.sum(axis=1)
    shares = chances / np.arange(1, len(chances) + 1)
    best = float(chances.sum())
    # A loss is added up of its own: where it is rare, one minus the rest would have no digits left.
    return Standing(
        float(chances[0]), float(chances[1:].sum()), 1 - best, float(shares.sum()), float(at_least[player, 1:].sum())
    )


def simulated_duel(
    strategies: Sequence[Strategy],
    n_games: int,
    seed: int,
    rules: Rules | None = None,
    threads: int | None = None,
) -> list[Standing]:
    """How everybody fares in so many games with dice, taking turns in this order."""
    rules = _rules(strategies, rules)
    if len(strategies) != 2 and any(isinstance(strategy, Perfect) for strategy in strategies):
        raise UsageError("a table of two players knows how to play against one other, not against more")
    expected = solve_expected(rules)
    seats = [strategy.seat(expected) for strategy in strategies]
    return standings(final_scores(expected.anchors, seats, n_games, seed, threads))


def standings(scores: Integers) -> list[Standing]:
    """How everybody fared, by the final scores: [player, game]."""
    best = scores == scores.max(axis=0)
    n_best = best.sum(axis=0)
    n_games = scores.shape[1]
    found = []
    for mine, points in zip(best, scores, strict=True):
        win, level = float((mine & (n_best == 1)).mean()), float((mine & (n_best > 1)).mean())
        share = float((mine / n_best).mean())
        found.append(Standing(win, level, float((~mine).mean()), share, float(points.mean()), n_games))
    return found


def _rules(strategies: Sequence[Strategy], rules: Rules | None) -> Rules:
    if not 2 <= len(strategies) <= MOST_PLAYERS:
        raise UsageError(f"expected 2 to {MOST_PLAYERS} strategies, found {len(strategies)}")
    return common_rules(strategies, rules)
