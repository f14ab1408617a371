"""Asking a table on disk: single values, whole curves, and whether every byte is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, Fields
from yahtzee_cluster.game.anchors import Anchor
from yahtzee_cluster.game.possible_scores import check_score
from yahtzee_cluster.game.rules import as_published, rules_of
from yahtzee_cluster.objectives import CHOICES, OBJECTIVES
from yahtzee_cluster.objectives.expected import Expected, std_of
from yahtzee_cluster.objectives.probabilities import Probabilities, Scores
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import printable


class Table:
    """A table of some game on disk; what is asked for is read, and nothing else."""

    def __init__(self, path: Path, problem: Scorecards, fixed: int) -> None:
        self.path = path
        self.problem = problem
        self.rules = problem.rules
        self.objective: str = problem.identity["objective"]
        self.store = Store.of(path, problem, fixed)

    @property
    def target(self) -> int:
        """The highest score that the table knows a probability for."""
        return self._probabilities.target

    def row(self, anchor: Anchor, quantity: int = 0) -> NDArray[np.float64]:
        """The probabilities of needs 1, 2, … from an anchor; from the end of the row on they are 0.

        In a table of scores, also the means (1) and the second moments (2) of what is still scored.
        """
        problem = self._probabilities
        if not 0 <= quantity < problem.quantities:
            raise UsageError(f"quantity: expected one of {problem.quantities}, counted from 0, found {quantity}")
        place = problem.anchors.reachable(anchor)
        first = int(problem.rows.offset[place] + quantity * problem.rows.n_values[anchor.free])
        return self._values(anchor.free, first, int(problem.rows.length[place]), quantity)

    def _values(self, free: int, first: int, length: int, quantity: int) -> NDArray[np.float64]:
        """Some of those with these free categories, none of which is beyond what there can be."""
        cls, start = self.store.partition.class_of(free), self.store.start(free) + first
        values = self.store.row(cls, start, start + length)
        if not self.problem.possible(values, quantity):
            raise self.store.impossible(cls)
        return values

    def rows(self, cls: ClassId) -> dict[int, NDArray[np.float64]]:
        """All values of a class by free categories, as they were committed, and none beyond what there can be."""
        block, n_quantities = self.store.block(cls), len(self.problem.limits)
        rows = {free: block[free] for free in block.subsets.tolist()}
        for values in rows.values():
            for quantity, part in enumerate(np.split(values, n_quantities)):
                if not self.problem.possible(part, quantity):
                    raise self.store.impossible(cls)
        return rows

    def value(self, anchor: Anchor, need: int) -> float:
        """The probability to score at least `need` from an anchor."""
        self._check_need(need)
        row = self.row(anchor)
        if need <= 0:
            return 1.0
        return float(row[need - 1]) if need <= len(row) else 0.0

    def worth(self, anchor: Anchor, score: int) -> float:
        """In a table of some utility: what playing on is worth, with so many points so far."""
        check_score(self._utility.anchors, anchor, score)
        return self.worth_unchecked(anchor, score)

    def worth_unchecked(self, anchor: Anchor, score: int) -> float:
        """The same, of a score that some game is known to have there; for any other the entry means nothing."""
        row = self._utility.row(self._utility.anchors.reachable(anchor))
        if not 0 <= score < row.stop - row.start:
            raise UsageError(f"score: the row ends at {row.stop - row.start - 1} points, found {score}")
        return float(self._values(anchor.free, row.start + score, 1, 0)[0])

    def worths(self, anchor: Anchor) -> NDArray[np.float64]:
        """A whole row of some utility, by the points so far."""
        row = self._utility.row(self._utility.anchors.reachable(anchor))
        return self._values(anchor.free, row.start, row.stop - row.start, 0)

    def curve(self) -> NDArray[np.float64]:
        """The probability to score at least s from the start, for s = 0 … target."""
        curve = np.zeros(self.target + 1)
        curve[0] = 1.0
        row = self.row(Anchor(self.rules.all_free, 0, False))
        curve[1 : len(row) + 1] = row
        return curve

    def score_curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the final score of who plays for at least s, for s = 0 … target."""
        expected = self._scores.expected
        mean = np.full(self.target + 1, expected.mean[expected.start])
        second = np.full(self.target + 1, expected.second_moment[expected.start])
        for number, curve in enumerate((mean, second), start=1):
            row = self.row(Anchor(self.rules.all_free, 0, False), number)
            curve[1 : len(row) + 1] = row
        return mean, np.sqrt(np.maximum(second - mean**2, 0))

    def moments(self, anchor: Anchor, need: int | None = None) -> tuple[float, float]:
        """Mean and second moment of what is still scored from an anchor.

        In a table of expected scores by who plays for the highest mean; in a table of scores by who plays for a need.
        """
        if need is None:
            if not isinstance(self.problem, Expected):
                raise UsageError(f"{self.path}: holds {self.objective}, not expected scores")
            places = self.problem.anchors.places(anchor.free)
            first, distance = self.problem.anchors.reachable(anchor) - places.start, places.stop - places.start
            quantity = 0
        else:
            rows, expected = self._scores.rows, self._scores.expected
            place = self.problem.anchors.reachable(anchor)
            self._check_need(need)
            if not 1 <= need <= rows.length[place]:  # reached already, or out of reach
                return float(expected.mean[place]), float(expected.second_moment[place])
            distance = int(rows.n_values[anchor.free])
            first, quantity = distance + int(rows.offset[place]) + need - 1, 1
        mean, second = (float(self._values(anchor.free, first + i * distance, 1, quantity + i)[0]) for i in range(2))
        return mean, second

    def _check_need(self, need: int) -> None:
        if need > self.target:
            raise UsageError(f"need: this table goes up to {self.target}, found {need}")

    def expected_score(self) -> tuple[float, float]:
        """Mean and standard deviation of the final score."""
        mean, second_moment = self.moments(Anchor(self.rules.all_free, 0, False))
        return mean, std_of(mean, second_moment)

    @property
    def _utility(self) -> Utility:
        if not isinstance(self.problem, Utility):
            raise UsageError(f"{self.path}: holds {self.objective}, not what final scores are worth")
        return self.problem

    @property
    def _scores(self) -> Scores:
        if not isinstance(self.problem, Scores):
            raise UsageError(f"{self.path}: holds {self.objective}, not the scores of who plays for a need")
        return self.problem

    @property
    def _probabilities(self) -> Probabilities:
        if not isinstance(self.problem, Probabilities):
            raise UsageError(f"{self.path}: holds {self.objective}, not probabilities")
        return self.problem


def open_table(path: str | Path) -> Table:
    """The table of a game of one player in a directory."""
    problem, store = open_store(path)
    if not isinstance(problem, Scorecards):
        raise UsageError(f"{printable(str(path))}: holds the table of two players, which `value` can be asked for")
    return Table(store.path, problem, store.partition.fixed)


def open_store(path: str | Path) -> tuple[Scorecards | Race, Store]:
    """Whatever is in a directory: the problem, and where its table is."""
    path = table_path(path)
    header = read_header(path)
    if header is None:
        there = printable(str(path))
        raise UsageError(f"{there}: holds no table; `python -m yahtzee_cluster.run --store {there}` computes one")
    problem = _problem(header.identity, str(path))
    if not header.describes(problem):
        raise StoreError(f"{printable(str(path))}: its zarr.json is damaged: its header contradicts itself")
    return problem, Store.of(path, problem, header.fixed)


def _problem(identity: dict[str, Any], source: str) -> Scorecards | Race:
    """The problem that a header names, as far as it can be trusted to be one."""
    fields = Fields(identity, source, known=("objective", "rules", "target", "goal", "worth"))
    rules = identity.get("rules")
    if not isinstance(rules, dict):
        raise fields.error("rules", "expected a table", rules)
    objective = fields.choice("objective", CHOICES, None)
    game = as_published(rules_of(rules, f"{source}: rules"))
    if objective == "utility":
        worth = identity.get("worth")
        if not isinstance(worth, list) or not all(isinstance(value, float) for value in worth):
            raise fields.error("worth", "expected a list of numbers", worth)
        return Utility(game, fields.text("goal"), tuple(worth))
    problem = OBJECTIVES[objective](game, fields.integer("target", 1, low=1, high=MAX_COUNT))
    assert isinstance(problem, Scorecards | Race)
    return problem
