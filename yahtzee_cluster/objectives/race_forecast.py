"""What solving a race takes, told in milliseconds even where it would take years."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from time import thread_time

import numpy as np

from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.sides import Integers, Side

MOST_SAMPLED = 512
"""Anchors of a player with equally many free categories that are looked at; all of them where they are no more."""
REROLLS = 256
TRIES = 5
START_S = 0.003
REROLLS_OF_A_TURN = {1: 1.54, 2: 4.9}
"""The time for one vector of leads, by the number of quantities, in units of the two rerolls of a turn.

Measured with 40 races from 2 to 6 free boxes each: a vector took 1.08 µs, and 3.44 µs with wins apart from ties, where
two rerolls took 0.70 µs (2026-11-19, AMD EPYC with AVX-512, shared; processor time).
"""


@dataclass(frozen=True)
class Forecast:
    """What solving a race takes."""

    n_values: int
    """Exact where no layer has many anchors, otherwise within a few percent."""
    n_bytes: int
    """Memory for all values."""
    least_bytes: int
    """Memory for two layers, which is what solving takes at a time."""
    seconds: float
    """With all threads at work, each on a core of its own."""


def forecast(race: Race, threads: int) -> Forecast:
    """What solving a race on some threads takes on this machine."""
    turn, sampled = Turn(race.sides[1].moves), [_by_size(side) for side in race.sides]
    layers: list[float] = []
    n_vectors = 0.0
    for size in range(len(sampled[1])):
        for other in (size - 1, size):
            if 0 <= other < len(sampled[0]):
                (one, weight_one), (two, weight_two) = sampled[0][other], sampled[1][size]
                weight = weight_one * weight_two
                _, length = race.leads(one[:, None], two)
                layers.append(weight * race.quantities * float(length.sum()))
                n_vectors += weight * float((-(-length // turn.width)).sum())
    started = []
    for _ in range(TRIES):
        began = thread_time()
        turn.rerolls(REROLLS)
        started.append(thread_time() - began)
    vector_s = min(started) / REROLLS * REROLLS_OF_A_TURN[race.quantities]
    n_bytes, least = 8 * sum(layers), 8 * max(lower + upper for lower, upper in pairwise([0.0, *layers]))
    return Forecast(round(sum(layers)), round(n_bytes), round(least), START_S + n_vectors * vector_s / threads)


def _by_size(side: Side) -> list[tuple[Integers, float]]:
    """Some numbers of anchors with 0, 1, … free categories, and how many anchors each of them stands for."""
    sizes = np.bitwise_count(np.repeat(np.arange(len(side.first) - 1), np.diff(side.first)))
    found = []
    for size in range(side.n_categories + 1):
        alike = np.flatnonzero(sizes == size)
        alike = alike[np.argsort(side.most[alike], kind="stable")]  # so that every part of the range is sampled
        n = min(len(alike), MOST_SAMPLED)
        found.append((alike[((np.arange(n) + 0.5) * len(alike) / n).astype(np.int64)], len(alike) / n))
    return found
