"""The search for the best strategy of a class: all strategies by worth of one form, judged by their exact mean.

CMA-ES proposes the numbers of a generation, and the means of these tell it where to look next.
All randomness comes from the seed, and means are taken in the order of the proposals: how many workers compute them
does not change the result.
A checkpoint holds the means of all generations; the state of the search follows from them, without evaluating anything.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis import evaluation
from yahtzee_cluster.errors import FileError, UsageError, needs
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.play.worth import Worth, is_number

Values: TypeAlias = NDArray[np.float64]
Evaluate: TypeAlias = Callable[[Sequence[Values]], list[float]]
"""Finds the means of the strategies with these numbers, in this order."""
FORMAT = 1
STEP = 0.1
"""How far the first proposals lie around the start, as a part of the size of the numbers."""
MOST_NUMBERS = 2000
MAX_CHECKPOINT_BYTES = 100_000_000


@dataclass(frozen=True)
class Class:
    """All strategies of one form: a strategy file without its header, whose numbers are free."""

    rules: Rules
    table: dict[str, Any]
    source: str

    def __post_init__(self) -> None:
        self.strategy(self.start)
        if not 2 <= len(self.start) <= MOST_NUMBERS:
            raise FileError(self.source, f"expected 2 to {MOST_NUMBERS} numbers to search for, found {len(self.start)}")

    @property
    def start(self) -> Values:
        """The numbers of the file."""
        return np.array([holder[key] for holder, key in _numbers(self.table)], np.float64)

    @property
    def scale(self) -> Values:
        """The size of each number: its own, or the mean of those beside it if that is larger."""
        sizes = []
        for holder, key in _numbers(self.table):
            beside = holder.values() if isinstance(holder, dict) else holder
            mean = float(np.mean([abs(value) for value in beside if is_number(value)]))
            sizes.append(max(abs(holder[key]), mean) or 1.0)
        return np.array(sizes)

    def filled(self, numbers: Values) -> dict[str, Any]:
        """The file with these numbers."""
        table = copy.deepcopy(self.table)
        for (holder, key), number in zip(_numbers(table), numbers.tolist(), strict=True):
            holder[key] = max(number, 0.0) if key == "variance" else number
        for holder, key in _numbers(table.get("worth", {}).get("bonus", {}).get("variance", 0.0)):
            holder[key] = max(holder[key], 0.0)
        return table

    def strategy(self, numbers: Values) -> Worth:
        """The strategy with these numbers."""
        return Worth.parse(self.filled(numbers), self.source, self.rules)


def _numbers(table: Any) -> Iterator[tuple[Any, Any]]:
    """Where the numbers of a parsed file are: each is `holder[key]`."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, value in items:
        if is_number(value):
            yield table, key
        else:
            yield from _numbers(value)


@dataclass
class Search:
    """A search in progress."""

    of: Class
    seed: int = 1
    population: int | None = None
    means: list[list[float]] = field(default_factory=list)
    """[generation]: the mean of each proposal."""
    best: float = -math.inf
    best_numbers: Values = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        with needs("search", "cmaes", "search"):
            from cmaes import CMA  # noqa: PLC0415  # optional

        self._scale = self.of.scale
        start = self.of.start / self._scale
        self._search = CMA(mean=start, sigma=STEP, seed=self.seed, population_size=self.population)
        self.population = int(self._search.population_size)
        known, self.means = self.means, []
        for means in known:
            self._learn(self._proposals(), means)

    def generation(self, evaluate: Evaluate) -> None:
        """Propose the numbers of a generation, evaluate them, and learn from it."""
        proposals = self._proposals()
        self._learn(proposals, evaluate([proposal * self._scale for proposal in proposals]))

    @property
    def has_converged(self) -> bool:
        """Whether there is nothing left to find here."""
        return bool(self._search.should_stop())

    def _proposals(self) -> list[Values]:
        return [self._search.ask() for _ in range(self._search.population_size)]

    def _learn(self, proposals: Sequence[Values], means: Sequence[float]) -> None:
        self._search.tell([(proposal, -mean) for proposal, mean in zip(proposals, means, strict=True)])
        self.means.append(list(means))
        first = int(np.argmax(means))
        if means[first] > self.best:
            self.best, self.best_numbers = means[first], proposals[first] * self._scale

    # ------------------------------------------------------------------------------------------ checkpoint

    @property
    def _identity(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "rules": self.of.rules.table,
            "table": self.of.table,
            "seed": self.seed,
            "population": self.population,
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint; the one before is kept until it is complete."""
        beside = path.with_name(f"{path.name}.new")
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(json.dumps({**self._identity, "means": self.means}))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise UsageError(f"checkpoint: {path} cannot be written: {error.strerror}") from error

    @classmethod
    def begun_or_continued(cls, of: Class, seed: int, population: int | None, path: Path | None) -> Search:
        """The search of this checkpoint, if there is one; else a new one."""
        begun = cls(of, seed, population)
        if path is None or not path.exists():
            return begun
        saved = _read(path)
        if {key: saved.get(key) for key in begun._identity} != begun._identity:  # its own class
            raise UsageError(f"checkpoint: {path} is of another search; name another file, or remove it")
        means = saved.get("means")
        size = begun.population
        if not isinstance(means, list) or not all(_is_generation(row, size) for row in means):
            raise UsageError(f"checkpoint: {path} is damaged; remove it to begin again")
        return cls(of, seed, population, means)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CHECKPOINT_BYTES + 1)
        saved = json.loads(text)
    except OSError as error:
        raise UsageError(f"checkpoint: {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"checkpoint: {path} is damaged; remove it to begin again") from error
    return saved if isinstance(saved, dict) else {}


def _is_generation(row: object, size: int | None) -> bool:
    return isinstance(row, list) and len(row) == size and all(map(is_number, row))


# -------------------------------------------------------------------------------------------- evaluation


def mean_of(of: Class, numbers: Values) -> float:
    """The exact mean of the strategy with these numbers."""
    expected, moves = _exact(of.rules)
    return evaluation.mean_of(of.strategy(numbers).decider(Turn(moves), expected), expected)


@lru_cache(maxsize=1)
def _exact(rules: Rules) -> tuple[ExpectedTable, Any]:
    return solve_expected(rules), compile_moves(rules)


def rounded(of: Class, numbers: Values, loss: float = 1e-4) -> tuple[Values, float]:
    """The numbers with as few decimals as cost at most this much of the mean, and that mean."""
    exact = mean_of(of, numbers)
    for decimals in range(8):
        short = np.round(numbers, decimals)
        mean = mean_of(of, short)
        if mean >= exact - loss:
            return short, mean
    return numbers, exact


def toml_of(table: dict[str, Any], prefix: str = "") -> str:
    """A parsed file as TOML: fields first, then the tables within."""
    inside = {key: value for key, value in table.items() if isinstance(value, dict) or _is_tables(value)}
    fields = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in inside]
    blocks = ["\n".join(fields)] if fields else []
    for key, value in inside.items():
        name = f"{prefix}{_key(key)}"
        if isinstance(value, list):
            blocks += [f"[[{name}]]\n{toml_of(item, f'{name}.')}" for item in value]
        else:
            plain = not value or any(not isinstance(item, dict) for item in value.values())
            blocks.append(f"[{name}]\n" * plain + toml_of(value, f"{name}."))
    return "\n\n".join(block.rstrip() for block in blocks)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + "".join(f"    {_value(row)},\n" for row in value) + "]"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f"{value:.12g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
