"""What the worth of a scorecard is made of: each term gives a number for every place, and all of them are added."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.objectives.expected import ExpectedTable

Values = NDArray[np.float64]
Numbers = tuple[float, ...]
LAST_TURNS = 4
"""For how many free boxes Ecker takes the exact values."""
ECKER = ("additive", "regression", "small-regression", "max-dp", "heuristic")
HALVES = ("chip in both", "chip in lower half")
ACTIVATIONS = ("tanh", "relu")
TOGETHER = 2048
"""Places that go through a network together, so that their units stay in a cache of the processor."""


class Places:
    """What terms look at: free boxes, chip and upper total of every place, or of some."""

    def __init__(self, expected: ExpectedTable, some: NDArray[np.int64] | None = None) -> None:
        self.expected = expected
        anchors = self.anchors = expected.anchors
        cards = np.argwhere(anchors.place >= 0)
        n_lanes = anchors.n_lanes[cards[:, 0]]
        which = slice(None) if some is None else some
        self.free, self.chip = np.repeat(cards, n_lanes, axis=0)[which].T
        """[place]: the set of free boxes, and whether the Yahtzee box has got points in this game."""
        self.pays = self.chip | anchors.rules.chip
        """[place]: whether further Yahtzees pay, as they may from the beginning in the rest of a game."""
        self.lane = np.arange(anchors.n_places)[which] - anchors.place[self.free, self.chip]
        """[place]: the lane among those of a scorecard; 0 where the bonus is decided."""

    @property
    def open(self) -> NDArray[np.bool_]:
        """[place]: whether the upper bonus can still be won."""
        return np.asarray(self.lane > 0)

    @cached_property
    def missing(self) -> NDArray[np.int64]:
        """[place]: what the upper total lacks to the bonus, where that is open."""
        return np.asarray(self.anchors.reserve[self.free] + 1 - self.lane)

    @cached_property
    def boxes(self) -> NDArray[np.bool_]:
        """[free, box]: whether a box is in a set."""
        n_boxes = len(self.anchors.rules.categories)
        return (np.arange(1 << n_boxes)[:, None] >> np.arange(n_boxes) & 1).astype(bool)


class Term(ABC):
    """A part of the worth of a scorecard."""

    @abstractmethod
    def values(self, places: Places) -> Values:
        """The part of every place."""

    @abstractmethod
    def count(self, anchors: Anchors) -> int:
        """How many numbers it consists of."""


@dataclass(frozen=True)
class Boxes(Term):
    """A weight for each free box."""

    weights: Numbers

    def values(self, places: Places) -> Values:
        """The sum of the weights of the free boxes."""
        return np.asarray((places.boxes @ np.array(self.weights))[places.free])

    def count(self, anchors: Anchors) -> int:  # noqa: ARG002
        """One for each box."""
        return len(self.weights)


@dataclass(frozen=True)
class Chip(Term):
    """A weight for each free box that counts only while further Yahtzees pay; one for all boxes or one for each."""

    weights: Numbers

    def values(self, places: Places) -> Values:
        """The sum of the weights of the free boxes, with a chip."""
        weights = np.broadcast_to(self.weights, places.boxes.shape[1])
        return np.asarray((places.boxes @ weights)[places.free] * places.pays)

    def count(self, anchors: Anchors) -> int:
        """One, or one for each box other than the Yahtzee box."""
        yahtzee_boxes = anchors.rules.yahtzee_box.bit_count()
        return 1 if len(self.weights) == 1 else len(self.weights) - yahtzee_boxes


@dataclass(frozen=True)
class Bonus(Term):
    """Points times the chance to win the upper bonus, by a normal approximation of what the free boxes still add."""

    points: float
    means: Numbers
    variances: Numbers
    n_numbers: int

    def values(self, places: Places) -> Values:
        """The points times the chance, where the bonus is open."""
        mean = places.boxes @ np.array(self.means)
        deviation = np.sqrt(places.boxes @ np.array(self.variances))
        chance = normal((mean[places.free] - places.missing) / np.maximum(deviation, 1e-9)[places.free])
        return np.where(places.open, self.points * chance, 0.0)

    def count(self, anchors: Anchors) -> int:  # noqa: ARG002
        """As many as the file gives."""
        return self.n_numbers


@dataclass(frozen=True)
class Pairs(Term):
    """A weight for each of some pairs of boxes that are both free."""

    weights: tuple[tuple[int, int, float], ...]

    def values(self, places: Places) -> Values:
        """The sum of the weights of the pairs."""
        worth = np.zeros(len(places.boxes))
        for one, other, weight in self.weights:
            worth += weight * (places.boxes[:, one] & places.boxes[:, other])
        return np.asarray(worth[places.free])

    def count(self, anchors: Anchors) -> int:  # noqa: ARG002
        """One for each pair."""
        return len(self.weights)


@dataclass(frozen=True)
class Halves(Term):
    """The exact values of the game with the upper boxes alone, and of that with the lower boxes alone, added."""

    chip_in_both: bool

    def values(self, places: Places) -> Values:
        """The sum of both halves."""
        exact, anchors = places.expected.mean, places.anchors
        upper, lower = _halves(anchors)
        in_upper = places.chip if self.chip_in_both else 0
        return np.asarray(
            exact[anchors.place[places.free & upper, in_upper] + places.lane]
            + exact[anchors.place[places.free & lower, places.chip]]
        )

    def count(self, anchors: Anchors) -> int:
        """The numbers in the tables of both halves."""
        upper, lower = _halves(anchors)
        sets = np.arange(anchors.rules.all_free + 1)
        ups, lows = sets[sets & lower == 0], sets[sets & upper == 0]
        chips = 2 if self.chip_in_both and anchors.rules.has_chip else 1
        return int(chips * anchors.n_lanes[ups].sum() + (anchors.place[lows] >= 0).sum())


def _halves(anchors: Anchors) -> tuple[int, int]:
    """The upper and the lower boxes; the Yahtzee box is a lower one, so that the chip cannot miss one half."""
    lower = anchors.rules.lower_boxes
    return anchors.rules.all_free & ~lower, lower


@dataclass(frozen=True)
class Table(Term):
    """A number for each set of free boxes."""

    numbers: Numbers

    def values(self, places: Places) -> Values:
        """The number of the free boxes."""
        return np.asarray(np.array(self.numbers)[places.free])

    def count(self, anchors: Anchors) -> int:  # noqa: ARG002
        """One for each set."""
        return len(self.numbers)


@dataclass(frozen=True)
class Network(Term):
    """A feed-forward network of what is free, the chip, the upper total, and whether the bonus is open."""

    activation: str
    layers: tuple[tuple[tuple[Numbers, ...], Numbers], ...]
    """For each layer the weights, [unit, input], and the biases."""

    @staticmethod
    def n_inputs(n_boxes: int) -> int:
        """The free boxes, the chip, whether the bonus is open, and how far the total is from its par."""
        return n_boxes + 3

    @staticmethod
    def inputs(places: Places) -> Values:
        """[place, input]. The par counts three of each free upper box; it is divided by the threshold."""
        anchors = places.anchors
        ahead = 3 * anchors.reserve[places.free] / 5 - places.missing
        columns = [places.boxes[places.free], places.pays, places.open, places.open * ahead / anchors.threshold]
        return np.column_stack(columns).astype(np.float64)

    def values(self, places: Places) -> Values:
        """The output of the network."""
        inputs, found = self.inputs(places), np.empty(len(places.free))
        arrays = [(np.array(weights), np.array(biases)) for weights, biases in self.layers]
        for start in range(0, len(found), TOGETHER):
            there = inputs[start : start + TOGETHER]
            for weights, biases in arrays[:-1]:
                there = there @ weights.T
                there += biases
                (np.tanh if self.activation == "tanh" else _positive)(there, out=there)
            weights, biases = arrays[-1]
            found[start : start + TOGETHER] = (there @ weights.T + biases)[:, 0]
        return found

    def count(self, anchors: Anchors) -> int:  # noqa: ARG002
        """All weights and biases."""
        return sum(len(biases) * (len(weights[0]) + 1) for weights, biases in self.layers)


@dataclass(frozen=True)
class Ecker(Term):
    """A table by free boxes, computed from the exact one as Ecker describes; bonuses are left out."""

    method: str

    def values(self, places: Places) -> Values:
        """The number of the free boxes."""
        return np.asarray(ecker_table(self.method, places.expected)[places.free])

    def count(self, anchors: Anchors) -> int:
        """The numbers of the exact table that are needed, or the coefficients of a regression."""
        n_boxes = len(anchors.rules.categories)
        last = sum(math.comb(n_boxes, n) for n in range(1, min(LAST_TURNS, n_boxes) + 1))
        return {"additive": n_boxes, "regression": n_boxes + 1, "small-regression": n_boxes + 1}.get(self.method, last)


def _positive(there: Values, out: Values) -> Values:
    return np.maximum(there, 0.0, out=out)


def ecker_table(method: str, expected: ExpectedTable) -> Values:
    """[free]: the value that one of Ecker's strategies expects of the free boxes."""
    anchors = expected.anchors
    exact = expected.mean[anchors.place[:, 0]]
    n_boxes = len(anchors.rules.categories)
    boxes = (np.arange(len(exact))[:, None] >> np.arange(n_boxes) & 1).astype(np.float64)
    if method == "additive":
        return np.asarray(boxes @ exact[1 << np.arange(n_boxes)])
    sizes = boxes.sum(axis=1).astype(int)
    if method in {"regression", "small-regression"}:  # the number of turns to go, his further variable, adds nothing
        taken = sizes <= (LAST_TURNS if method == "small-regression" else n_boxes)
        inputs = np.column_stack([np.ones(len(exact)), boxes])
        return np.asarray(inputs @ np.linalg.lstsq(inputs[taken], exact[taken], rcond=None)[0])
    return _grown(method, exact, sizes)


def _grown(method: str, exact: Values, sizes: NDArray[np.int64]) -> Values:
    """The exact values of the last turns, and larger sets from smaller ones."""
    found = np.where(sizes <= LAST_TURNS, exact, 0.0)
    for free in np.argsort(sizes, kind="stable")[int((sizes <= LAST_TURNS).sum()) :].tolist():
        if method == "heuristic":
            n = int(sizes[free])
            found[free] = sum(found[free ^ 1 << c] for c in range(free.bit_length()) if free >> c & 1) / (n - 1)
        else:
            parts = subsets(free)
            found[free] = (found[parts] + found[free ^ parts]).max()
    return found


def subsets(free: int) -> NDArray[np.int64]:
    """All subsets of a set but itself and the empty one."""
    parts = np.zeros(1, np.int64)
    for c in range(free.bit_length()):
        if free >> c & 1:
            parts = np.concatenate([parts, parts | 1 << c])
    return np.asarray(parts[1:-1])


def normal(x: Values) -> Values:
    """The distribution function of the standard normal, to about 1e-7, by formula 7.1.26 of Abramowitz and Stegun."""
    z = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    upper = tail * np.exp(-(np.minimum(z, 25.0) ** 2)) / 2
    return np.asarray(np.where(x < 0, upper, 1 - upper))


def shapes_fit(layers: Sequence[tuple[tuple[Numbers, ...], Numbers]], n_inputs: int) -> bool:
    """Whether each layer takes what the one before it puts out, and the last one puts out a single number."""
    outputs = [n_inputs, *(len(biases) for _, biases in layers)]
    fit = all(
        len(weights) == n_out and all(len(row) == n_in for row in weights)
        for (weights, _), (n_in, n_out) in zip(layers, pairwise(outputs), strict=True)
    )
    return fit and outputs[-1] == 1
