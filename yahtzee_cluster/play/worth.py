"""Strategies that play each turn optimally for its points plus an approximate worth of the scorecard after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeGuard

import numpy as np

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import Fields, read_numbers
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.play.strategy import ByAnchorAlone
from yahtzee_cluster.play.worth_terms import (
    ACTIVATIONS,
    ECKER,
    HALVES,
    Bonus,
    Boxes,
    Chip,
    Ecker,
    Halves,
    Network,
    Numbers,
    Pairs,
    Places,
    Table,
    Term,
    Values,
    shapes_fit,
)
from yahtzee_cluster.text import did_you_mean, shown

TERMS = ("boxes", "bonus", "chip", "pairs", "halves", "ecker", "table", "network")
MOST = 1e9
"""Numbers beyond this are taken for mistakes."""


@dataclass(frozen=True)
class Worth(ByAnchorAlone):
    """Maximises the points of a turn plus the worth of the scorecard after it, which is a sum of terms.

    Ties go to the keep with the most dice, then the highest faces, and to the first box.
    """

    game: Rules
    terms: tuple[Term, ...]

    @classmethod
    def parse(cls, table: Mapping[str, Any], source: str, rules: Rules) -> Self:
        """Read the fields of a strategy file, without its header; `source` names it in error messages."""
        outer = Fields(table, source, ("worth",))
        given = table.get("worth")
        if not isinstance(given, dict):
            raise outer.error("worth", "expected a table, which may be empty", given)
        reader = _Reader(Fields(given, source, TERMS, "worth: "), rules)
        return cls(rules, tuple(reader.term(name) for name in TERMS if name in given))

    @property
    def rules(self) -> Rules:
        """The game that it was made for."""
        return self.game

    @property
    def words(self) -> str:  # type: ignore[override]
        """What it consists of."""
        return f"the worth of a scorecard by {self.n_parameters} numbers"

    @property
    def n_parameters(self) -> int:
        """How many numbers it consists of."""
        anchors = Anchors(self.game)
        return sum(term.count(anchors) for term in self.terms)

    def values(self, expected: ExpectedTable) -> Values:
        """The worth of every place of the game."""
        if expected.anchors.rules.table != self.game.table:
            raise UsageError(f"this strategy is for the game {self.game.name}; it cannot play another one")
        return self.at(Places(expected))

    def at(self, places: Places) -> Values:
        """The worth of these places."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = sum((term.values(places) for term in self.terms), np.zeros(len(places.free)))
        if not np.isfinite(found).all():
            raise UsageError("worth: some scorecards are worth more than numbers can hold; use smaller ones")
        return found

    def decider(self, turn: Turn, expected: ExpectedTable) -> policies.ByWorth:
        """The kernel that decides."""
        return policies.ByWorth(turn, expected.anchors, self.values(expected))


class _Reader:
    """Reads the terms of a strategy file."""

    def __init__(self, fields: Fields, rules: Rules) -> None:
        self.fields, self.source = fields, fields.source
        self.names = tuple(category.name for category in rules.categories)
        self.faces = tuple(category.face or 0 for category in rules.categories)
        self.rules = rules

    def term(self, name: str) -> Term:
        readers: dict[str, Callable[[Any], Term]] = {
            "boxes": lambda value: Boxes(self._for_boxes(name, value, self.names)),
            "bonus": self._bonus,
            "chip": self._chip,
            "pairs": self._pairs,
            "halves": lambda _: Halves(self._one_of(name, HALVES) == HALVES[0]),
            "ecker": lambda _: Ecker(self._one_of(name, ECKER)),
            "table": self._table,
            "network": self._network,
        }
        return readers[name](self.fields.table[name])

    def _one_of(self, name: str, choices: tuple[str, ...]) -> str:
        return str(self.fields.choice(name, choices, None))

    def _table_of(self, name: str, value: object, known: tuple[str, ...]) -> Fields:
        if not isinstance(value, dict):
            raise self.fields.error(name, "expected a table", value)
        return Fields(value, self.source, known, f"worth: {name}: ")

    def _number(self, fields: Fields, key: str, value: object) -> float:
        if not is_number(value):
            raise fields.error(key, "expected a number", value)
        return float(value)

    def _for_boxes(self, name: str, value: object, wanted: tuple[str, ...]) -> Numbers:
        """A number for each of these boxes; 0 for all others."""
        if not isinstance(value, dict):
            raise self.fields.error(name, "expected a table with a number for each box", value)
        for key in value:
            if key not in wanted:
                question = did_you_mean(key, wanted)
                expected = f"expected no such box here, only {', '.join(wanted)}"
                raise Fields({}, self.source, (), f"worth: {name}: ").error(key, expected, value[key], question)
        fields = self._table_of(name, value, wanted)
        for box in wanted:
            if box not in value:
                raise fields.error(box, f"expected a number for each box of the game {self.rules.name}", None)
        return tuple(self._number(fields, box, value[box]) if box in wanted else 0.0 for box in self.names)

    def _chip(self, value: object) -> Term:
        if not (self.rules.has_chip or self.rules.chip):
            raise self.fields.error("chip", "expected only where further Yahtzees pay", value)
        if not isinstance(value, dict):
            return Chip((self._number(self.fields, "chip", value),))
        return Chip(self._for_boxes("chip", value, tuple(name for name in self.names if name != self.rules.yahtzee)))

    def _bonus(self, value: object) -> Term:
        if not self.rules.upper_bonus:
            raise self.fields.error("bonus", "expected only in a game with an upper bonus", value)
        fields = self._table_of("bonus", value, ("points", "mean", "variance"))
        points = self._number(fields, "points", fields.table.get("points", self.rules.upper_bonus))
        means, n_means = self._per_upper_box(fields, "mean", 1)
        variances, n_variances = self._per_upper_box(fields, "variance", 2)
        if min(variances) < 0:
            raise fields.error("variance", "expected no negative number", min(variances))
        return Bonus(points, means, variances, n_means + n_variances + ("points" in fields.table))

    def _per_upper_box(self, fields: Fields, key: str, power: int) -> tuple[Numbers, int]:
        """A number for each upper box, or one that is multiplied by a power of the face of each."""
        value = fields.table.get(key)
        if is_number(value):
            return tuple(float(value) * face**power for face in self.faces), 1
        wanted = tuple(name for name, face in zip(self.names, self.faces, strict=True) if face)
        if not isinstance(value, dict):
            raise fields.error(key, "expected a number, or one for each upper box", value)
        return self._for_boxes(f"bonus: {key}", value, wanted), len(wanted)

    def _pairs(self, value: object) -> Term:
        weights = []
        for one, others in self._table_of("pairs", value, self.names).table.items():
            for other, weight in self._table_of(f"pairs: {one}", others, self.names).table.items():
                fields = Fields({}, self.source, (), f"worth: pairs: {one}: ")
                a, b = self.names.index(one), self.names.index(other)
                if b <= a:
                    raise fields.error(other, "expected each pair once, in the order of the boxes", weight)
                weights.append((a, b, self._number(fields, other, weight)))
        return Pairs(tuple(weights))

    def _table(self, value: object) -> Term:
        fields = self._table_of("table", value, ("file",))
        file = fields.text("file")
        numbers = read_numbers(str(Path(self.source).parent / file))
        if len(numbers) != self.rules.all_free + 1:
            expected = f"expected {self.rules.all_free + 1} numbers in it, one for each set of free boxes"
            raise FileError(self.source, f"worth: table: file: {expected}, found {len(numbers)} in {shown(file)}")
        if max(map(abs, numbers)) > MOST:
            raise FileError(self.source, f"worth: table: file: expected numbers up to {MOST:g} in {shown(file)}")
        return Table(tuple(numbers))

    def _network(self, value: object) -> Term:
        fields = self._table_of("network", value, ("activation", "layer"))
        activation = fields.choice("activation", ACTIVATIONS, "tanh")
        layers = fields.table.get("layer")
        if not isinstance(layers, list) or not layers or not all(isinstance(layer, dict) for layer in layers):
            raise fields.error("layer", "expected one or more [[worth.network.layer]] tables", layers)
        read = tuple(self._layer(number, layer) for number, layer in enumerate(layers, start=1))
        n_inputs = Network.n_inputs(len(self.names))
        if not shapes_fit(read, n_inputs):
            found = " → ".join(f"{len(weights[0])}×{len(weights)}" for weights, _ in read)
            expected = f"expected layers that lead from {n_inputs} inputs to 1 output, with a bias for each unit"
            raise FileError(self.source, f"worth: network: layer: {expected}, found {found}")
        return Network(activation, read)

    def _layer(self, number: int, layer: Mapping[str, Any]) -> tuple[tuple[Numbers, ...], Numbers]:
        fields = Fields(layer, self.source, ("weights", "biases"), f"worth: network: layer {number}: ")
        weights, biases = layer.get("weights"), layer.get("biases")
        if not isinstance(weights, list) or not weights or not all(map(_is_row, weights)):
            raise fields.error("weights", "expected a list of numbers for each unit", weights)
        if not _is_row(biases):
            raise fields.error("biases", "expected a list of numbers", biases)
        return tuple(tuple(map(float, row)) for row in weights), tuple(map(float, biases))


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether this is a finite number of a reasonable size."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def _is_row(value: object) -> TypeGuard[list[float]]:
    return isinstance(value, list) and bool(value) and all(map(is_number, value))
