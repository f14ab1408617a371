"""Reading a table of two players."""

from __future__ import annotations

import numpy as np

from yahtzee_cluster.game.anchors import Anchor
from yahtzee_cluster.game.possible_scores import check_lead
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.storage.store import Store


def value_of(problem: Race, store: Store, one: Anchor, two: Anchor, lead: int) -> list[float]:
    """All quantities of a state that some game comes to."""
    problem.subset(one, two)  # or it says why not, before it looks at the lead
    check_lead(problem.anchors, one, two, lead)
    found = problem.entry(one, two, lead)
    if isinstance(found, float):
        return [found] * problem.quantities
    subset, at = found
    cls, first = store.partition.class_of(subset), store.start(subset)
    size = int(problem.sizes(np.array([subset]))[0])
    values = store.row(cls, first, first + size)[at :: size // problem.quantities]
    if not problem.possible(values):
        raise store.impossible(cls)
    return [float(value) for value in values]


def opening(problem: Race, store: Store) -> list[float]:
    """All quantities of the state in which nothing has been scored yet."""
    start = Anchor(problem.rules.all_free, 0, chip=False)
    return value_of(problem, store, start, start, 0)
