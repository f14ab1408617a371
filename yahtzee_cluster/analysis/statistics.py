"""What the strategy with the highest expected score earns where: exact statistics of every box and bonus.

Every play pays in several *currencies*: each box is one, the upper bonus and the extra bonus for further Yahtzees are
two more, and together they are the score.
One pass from the end of the game to its start finds what playing on is still worth in each currency, one pass the
other way how likely every play is; both together give all variances and covariances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)

CONSTANT = 1e-12
"""A variance below this part of the mean square is rounding, and counts as 0."""

UPPER_BONUS, EXTRA_BONUS = "upper bonus", "extra bonus"

Values = NDArray[np.float64]
Spread = tuple[Values, Values]
"""A distribution: all values that have a probability, in increasing order, and these probabilities."""


@dataclass(frozen=True)
class Currencies:
    """The currencies of a game: the boxes, and the bonuses of its rules."""

    names: tuple[str, ...]
    payoffs: Values
    """[currency, outcome]: the points for this outcome."""
    crossing: Values
    """[currency]: the points for reaching the upper threshold."""
    once: NDArray[np.bool_]
    """[currency]: whether a game pays it at most once."""

    @classmethod
    def of(cls, moves: Moves, bonus: int) -> Currencies:
        """The currencies of a game."""
        boxes = [category.name for category in moves.rules.categories]
        bonuses = [UPPER_BONUS] * bool(bonus) + [EXTRA_BONUS] * any(outcome.extra for outcome in moves.outcomes)
        names = boxes + [name + "*" * (name in boxes) for name in bonuses]
        payoffs = np.zeros((len(names), len(moves.outcomes)))
        for number, outcome in enumerate(moves.outcomes):
            payoffs[outcome.category, number] = outcome.points - outcome.extra
            if outcome.extra:
                payoffs[-1, number] = outcome.extra
        crossing = np.zeros(len(names))
        if bonus:
            crossing[len(boxes)] = bonus
        once = np.array([True] * len(boxes) + [name == UPPER_BONUS for name in bonuses])
        return cls(tuple(names), payoffs, crossing, once)


@dataclass(frozen=True)
class Statistics:
    """Means and covariances of all currencies, over whole games."""

    names: tuple[str, ...]
    mean: Values
    covariance: Values
    met: Values
    """[place]: the probability that a game reaches this anchor."""
    distributions: tuple[Spread | None, ...]
    """[currency]: of the points in a whole game; None for the extra bonus, which a game may pay several times."""

    @property
    def variance(self) -> Values:
        """The variance of each currency."""
        return np.diag(self.covariance)


def statistics(rules: Rules, start: Anchor | None = None, isa: str | None = None) -> Statistics:
    """The statistics of the strategy with the highest expected score, ties going to the larger second moment.

    From the start, or from some state on.
    """
    table = solve_expected(rules, isa)
    turn = Turn(compile_moves(rules), isa)
    return statistics_of(table.decider(turn), table.anchors, start)


def statistics_of(decider: policies.Decider, anchors: Anchors, start: Anchor | None = None) -> Statistics:
    """The statistics of a strategy that decides by the anchor alone, from the start, or from some state on."""
    place = anchors.index(Anchor(anchors.rules.all_free, 0, chip=False)) if start is None else anchors.reachable(start)
    currencies = Currencies.of(decider.turn.moves, anchors.bonus)
    n_places, n_currencies = anchors.n_places, len(currencies.names)
    worth = np.empty((n_currencies, n_places))
    policies.worth(decider, currencies.payoffs, currencies.crossing, worth)
    met = np.zeros(n_places)
    met[place] = 1.0
    n_plays, product = np.empty((2, len(decider.turn.moves.outcomes))), np.empty((n_currencies, n_currencies))
    policies.trace(decider, currencies.payoffs, currencies.crossing, worth, met, n_plays, product)
    pays = np.stack([currencies.payoffs, currencies.payoffs + currencies.crossing[:, None]])
    at_once = np.einsum("wo,wpo,wqo->pq", n_plays, pays, pays)
    mean = worth[:, place]
    square = at_once + product + product.T
    covariance = square - np.outer(mean, mean)
    constant = np.diag(covariance) <= CONSTANT * np.diag(square)  # what is left there is rounding
    covariance[constant] = covariance[:, constant] = 0.0
    paid_once = zip(np.moveaxis(pays, 1, 0), currencies.once, strict=True)
    distributions = tuple(_distribution(points, n_plays) if once else None for points, once in paid_once)
    return Statistics(currencies.names, mean, covariance, met, distributions)


def _distribution(points: Values, chances: Values) -> Spread:
    """The distribution of a currency that one play of a game pays, or none; what is left of 1 is the chance of 0."""
    values, which = np.unique(points, return_inverse=True)
    each = np.bincount(which.ravel(), chances.ravel())
    paid = (values != 0) & (each > 0)
    nothing = 1 - each[paid].sum()
    if nothing < CONSTANT:
        return values[paid], each[paid]
    return np.append(0.0, values[paid]), np.append(nothing, each[paid])


def range_of_mean(rules: Rules, name: str, power: int = 1, isa: str | None = None) -> tuple[float, float]:
    """The least and the most that a box or the upper bonus brings on average, however ties are broken.

    Or the same for a power of what it brings.
    """
    table = solve_expected(rules, isa)
    decider, currencies = _decider(rules, table, isa)
    at = currencies.names.index(name)
    payoffs, crossing = currencies.payoffs[[at, at]] ** power, currencies.crossing[[at, at]] ** power
    payoffs[0], crossing[0] = -payoffs[0], -crossing[0]
    out = np.empty((2, table.anchors.n_places))
    policies.most_among_ties(decider, payoffs, crossing, out)
    return -float(out[0, table.start]), float(out[1, table.start])


def percentile(curve: Sequence[float] | Values, share: float) -> int:
    """The percentile of a share of all games: the lowest score that these do not exceed. `curve[s]` is P(score ≥ s)."""
    not_above = 1 - np.append(curve[1:], 0.0)
    return int(np.argmax(not_above >= share))


def _decider(rules: Rules, table: ExpectedTable, isa: str | None) -> tuple[policies.Decider, Currencies]:
    turn = Turn(compile_moves(rules), isa)
    return table.decider(turn), Currencies.of(turn.moves, table.anchors.bonus)
