"""Strategies that decide by the scorecard alone, evaluated exactly: what they earn, and what their decisions cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.comparison import STAGES
from yahtzee_cluster.analysis.forward import DeciderOf, Played, play_by_anchor
from yahtzee_cluster.analysis.statistics import Currencies, Statistics, statistics_of
from yahtzee_cluster.game.dice import KEEPS, N_DICE, Keep
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable

HABITS = 10
"""The most habits that are listed."""
OF_A_KIND = {1: "a single die", 2: "a pair", 3: "a triple", 4: "four of a kind"}
LEAST_LOSS = 1e-9
"""A loss below this many points a game is rounding, or a tie."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Habit:
    """A kind of decision that another one would beat."""

    words: str
    loss: float
    """The expected points lost by it in a game."""


@dataclass(frozen=True)
class Evaluation:
    """What comes of a strategy over whole games."""

    statistics: Statistics
    games: Played
    best: float
    """The highest mean of any strategy."""
    by_ties: tuple[float, float]
    """The lowest and the highest mean that other ways of breaking ties would bring."""
    loss: Values
    """[turn, stage]: the expected points lost by decisions, measured by optimal play from there on."""
    habits: tuple[Habit, ...]
    """The costliest habits."""

    @property
    def mean(self) -> float:
        """The mean of the final score."""
        return self.games.moments[0]


def mean_of(decider: policies.Decider, expected: ExpectedTable) -> float:
    """The mean of the final score of a strategy that decides by the anchor alone, and nothing else."""
    currencies = Currencies.of(decider.turn.moves, expected.anchors.bonus)
    values = np.empty(expected.anchors.n_places)
    points, crossing = currencies.payoffs.sum(axis=0), currencies.crossing.sum()
    if isinstance(decider, policies.ByWorth):
        policies.mean(decider, points, float(crossing), values)
    else:
        policies.worth(decider, points[None], crossing[None], values[None])
    return float(values[expected.start])


def range_among_ties(decider: policies.Decider, expected: ExpectedTable) -> tuple[float, float]:
    """The lowest and the highest mean of a strategy, however ties are broken; rules leave none."""
    if not isinstance(decider, policies.ByWorth):
        mean = mean_of(decider, expected)
        return mean, mean
    currencies = Currencies.of(decider.turn.moves, expected.anchors.bonus)
    points, crossing = currencies.payoffs.sum(axis=0), currencies.crossing.sum()
    out = np.empty((2, expected.anchors.n_places))
    policies.most_among_ties(decider, np.stack([-points, points]), np.array([-crossing, crossing]), out)
    return -float(out[0, expected.start]), float(out[1, expected.start])


def evaluate(expected: ExpectedTable, decider_of: DeciderOf, words: str, threads: int | None = None) -> Evaluation:
    """All that is known of a strategy that decides by the anchor alone."""
    anchors, turn = expected.anchors, Turn(compile_moves(expected.anchors.rules))
    decider, n_boxes = decider_of(turn), len(anchors.rules.categories)
    statistics = statistics_of(decider, anchors)
    by_free, by_keep = np.zeros((n_boxes, len(STAGES))), np.zeros((2, len(KEEPS), len(KEEPS)))
    by_box = np.zeros((n_boxes, n_boxes))
    policies.losses(decider, expected.decider(turn), statistics.met, by_free, by_keep, by_box)
    names = [category.name for category in anchors.rules.categories]
    return Evaluation(
        statistics=statistics,
        games=play_by_anchor(expected, decider_of, words, threads=threads),
        best=float(expected.mean[expected.start]),
        by_ties=range_among_ties(decider, expected),
        loss=by_free[::-1],
        habits=_habits(by_keep, by_box, names),
    )


def losses_in_words(found: Evaluation) -> list[str]:
    """What decisions cost, turn by turn, and the costliest habits."""
    lines = ["points lost in a game, measured by optimal play:", ""]
    lines.append("  ".join([f"{'turn':>4}", *(f"{stage:>11}" for stage in (*STAGES, "all"))]))
    rows = [(str(turn), *row.tolist(), row.sum()) for turn, row in enumerate(found.loss, start=1)]
    rows.append(("all", *found.loss.sum(axis=0).tolist(), found.loss.sum()))
    lines += ["  ".join([f"{turn:>4}", *(f"{loss:>11.4f}" for loss in losses)]) for turn, *losses in rows]
    if found.habits:
        lines += ["", "costliest habits:", *(f"{habit.loss:>9.4f}  {habit.words}" for habit in found.habits)]
    return lines


def _habits(by_keep: Values, by_box: Values, names: list[str]) -> tuple[Habit, ...]:
    """The costliest habits: keeps by their shapes, and boxes by their names."""
    losses: Counter[str] = Counter()
    shapes = [shape(keep) for keep in KEEPS]
    for stage, mine, best in np.argwhere(by_keep > 0).tolist():
        one, other = shapes[mine], shapes[best]
        other = f"other dice of that kind ({other})" if one == other else other
        losses[f"{STAGES[stage]}: {one}, where the best is {other}"] += by_keep[stage, mine, best]
    for mine, best in np.argwhere(by_box > 0).tolist():
        losses[f"box: {names[mine]}, where the best is {names[best]}"] += by_box[mine, best]
    return tuple(Habit(words, loss) for words, loss in losses.most_common(HABITS) if loss > LEAST_LOSS)


def shape(keep: Keep) -> str:
    """What kind of dice these are, whatever their faces.

    >>> shape((2, 2, 2, 5)), shape((3, 4, 5)), shape(())
    ('a triple and a single die', 'a run of 3', 'nothing')
    """
    counts = sorted(Counter(keep).values(), reverse=True)
    if not counts:
        return "nothing"
    if len(keep) == N_DICE:
        return "all dice"
    if counts[0] == 1:
        if len(keep) == 1:
            return OF_A_KIND[1]
        return f"a run of {len(keep)}" if max(keep) - min(keep) < len(keep) else f"{len(keep)} different dice"
    return " and ".join(OF_A_KIND[count] for count in counts)
