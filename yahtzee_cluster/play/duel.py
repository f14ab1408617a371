"""Duels of strategies: exact where no strategy looks at its opponents, else by simulated games."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.play.monte_carlo import Integers, final_scores
from yahtzee_cluster.play.strategies import Perfect, common_rules
from yahtzee_cluster.play.strategy import Strategy
from yahtzee_cluster.progress import stage

MOST_PLAYERS = 16
BATCH = 1 << 20
"""The number of games simulated at a time, which bounds the memory."""
TALLIED = ("win", "tie", "loss", "value", "mean")
DEVIATIONS = 1.959963984540054
"""The half-width of a 95 % interval of a normal distribution, in standard deviations."""


@dataclass(frozen=True)
class Standing:
    """The results of one player."""

    win: float
    """The probability that every opponent has fewer points."""
    tie: float
    """The probability that an opponent has as many points, and none has more."""
    loss: float
    value: float
    """The expected share of the win, which is divided equally among players who tie."""
    mean: float
    """The mean of the final score."""
    games: int | None = None
    """The number of simulated games; None for exact results."""

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the value at 95 % confidence; conservative where ties are divided."""
        if self.games is None:
            return self.value, self.value
        n, squared = self.games, DEVIATIONS**2
        middle = (self.value + squared / (2 * n)) / (1 + squared / n)
        spread = math.sqrt(self.value * (1 - self.value) * squared / n + squared**2 / (4 * n**2)) / (1 + squared / n)
        return middle - spread, middle + spread


def duel(strategies: Sequence[Strategy], rules: Rules | None = None) -> list[Standing]:
    """The exact results of all players."""
    rules = _rules(strategies, rules)
    played = {strategy: strategy.played(rules).curve for strategy in dict.fromkeys(strategies)}
    curves = [played[strategy] for strategy in strategies]
    length = max(map(len, curves)) + 1
    at_least = np.stack([np.append(curve, np.zeros(length - len(curve))) for curve in curves])
    return [_standing(at_least, player) for player in range(len(curves))]


def _standing(at_least: NDArray[np.float64], player: int) -> Standing:
    """The results of a player, given P(score ≥ s) of all players as [player, s]."""
    equal, less = -np.diff(at_least), 1 - at_least[:, :-1]
    mine = equal[player]
    level = mine[None, :]  # [n]: the probability that n others have as many, and none has more
    for rival in range(len(at_least)):
        if rival != player:
            padding = np.zeros((1, len(mine)))
            level = np.vstack([level * less[rival], padding]) + np.vstack([padding, level * equal[rival]])
    chances = level.sum(axis=1)
    shares = chances / np.arange(1, len(chances) + 1)
    with np.errstate(divide="ignore"):  # log(0), where an opponent is certain to have more
        nobody_above = np.log1p(-np.delete(at_least, player, axis=0)[:, 1:]).sum(axis=0)
    return Standing(
        win=float(chances[0]),
        tie=float(chances[1:].sum()),
        loss=float(mine @ -np.expm1(nobody_above)),
        value=float(shares.sum()),
        mean=float(at_least[player, 1:].sum()),
    )


def simulated_duel(
    strategies: Sequence[Strategy],
    n_games: int,
    seed: int,
    rules: Rules | None = None,
    threads: int | None = None,
) -> list[Standing]:
    """The results of all players in simulated games, in which they take turns in this order."""
    rules = _rules(strategies, rules)
    if len(strategies) != 2 and any(isinstance(strategy, Perfect) for strategy in strategies):
        raise UsageError("a table of two players knows how to play against one other, not against more")
    expected = solve_expected(rules)
    seat_of = {strategy: strategy.seat(expected) for strategy in dict.fromkeys(strategies)}
    seats = [seat_of[strategy] for strategy in strategies]
    totals = np.zeros((len(seats), len(TALLIED)))
    with stage(f"{n_games:,} games with dice") as report:
        for batch, first in enumerate(range(0, n_games, BATCH)):
            n_now = min(BATCH, n_games - first)

            def report_turn(share: float, turn: str, first: int = first, n_now: int = n_now) -> None:
                report((first + share * n_now) / n_games, turn)

            totals += _tally(final_scores(expected.anchors, seats, n_now, (seed, batch), threads, report_turn))
    shares = (totals / n_games).tolist()
    return [Standing(**dict(zip(TALLIED, row, strict=True)), games=n_games) for row in shares]


def _tally(scores: Integers) -> NDArray[np.float64]:
    """The sums over all games of what `TALLIED` names, for each player, given the final scores [player, game]."""
    best = scores == scores.max(axis=0)
    n_best = best.sum(axis=0)
    facts = best & (n_best == 1), best & (n_best > 1), ~best, best / n_best, scores
    return np.stack([fact.sum(axis=1) for fact in facts], axis=1).astype(float)


def _rules(strategies: Sequence[Strategy], rules: Rules | None) -> Rules:
    if not 2 <= len(strategies) <= MOST_PLAYERS:
        raise UsageError(f"expected 2 to {MOST_PLAYERS} strategies, found {len(strategies)}")
    return common_rules(strategies, rules)
