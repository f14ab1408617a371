"""The search for the best strategy of a class: all strategies of one form, judged by their exact value for a goal.

A proposer names the candidates of a generation, and their values tell it where to look next.
All randomness comes from the seed, and values are learned in the order of the candidates, so the number of workers that
compute them does not change the result.
A checkpoint holds the values of all generations; the state of the search follows from these alone.
"""

from __future__ import annotations

import json
import math
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis import evaluation
from yahtzee_cluster.analysis.forward import play_by_anchor
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.opponents import curve_of
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.worth import Worth, is_number
from yahtzee_cluster.text import shown

FORMAT = 2
MAX_CHECKPOINT_BYTES = 100_000_000

Candidate = TypeVar("Candidate")


class Proposer(Protocol[Candidate]):
    """Names candidates and learns from their values; for the same seed and values, the same candidates."""

    population: int
    """The number of candidates of a generation."""

    @property
    def has_converged(self) -> bool:
        """Whether there is nothing left to find here."""

    def ask(self) -> list[Candidate]:
        """The candidates of the next generation."""

    def tell(self, candidates: Sequence[Candidate], values: Sequence[float]) -> None:
        """Learn what these candidates are worth."""


class Class(ABC, Generic[Candidate]):
    """All strategies of one form; a candidate is one of them."""

    rules: Rules
    start: Candidate
    """Where a search begins."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What tells searches in this class from others."""

    @abstractmethod
    def strategy(self, candidate: Candidate) -> RuleList | Worth:
        """The strategy of a candidate."""

    @abstractmethod
    def table(self, candidate: Candidate) -> dict[str, Any]:
        """The strategy file of a candidate, without its header."""

    @abstractmethod
    def proposer(self, seed: int, population: int | None) -> Proposer[Candidate]:
        """A new search in this class."""

    @abstractmethod
    def simplified(self, candidate: Candidate, value_of: Callable[[Candidate], float]) -> Candidate:
        """The candidate without what adds next to nothing to its value."""


@dataclass
class Search(Generic[Candidate]):
    """A search in progress."""

    of: Class[Candidate]
    goal: Goal = MEAN
    seed: int = 1
    population: int | None = None
    values: list[list[float]] = field(default_factory=list)
    """[generation]: the value of each candidate."""
    best: float = -math.inf

    def __post_init__(self) -> None:
        self._proposer = self.of.proposer(self.seed, self.population)
        self.population = self._proposer.population
        self._best_candidate: Candidate | None = None
        known, self.values = self.values, []
        for values in known:
            self._learn(self._proposer.ask(), values)

    def generation(self, evaluate: Callable[[Sequence[Candidate]], list[float]]) -> None:
        """Evaluate the candidates of a generation, and learn from them."""
        candidates = self._proposer.ask()
        self._learn(candidates, evaluate(candidates))

    @property
    def has_converged(self) -> bool:
        """Whether there is nothing left to find here."""
        return self._proposer.has_converged

    @property
    def best_candidate(self) -> Candidate:
        """The best candidate of all generations."""
        if self._best_candidate is None:
            raise ValueError("no generation has been evaluated yet")
        return self._best_candidate

    def simplest(self) -> tuple[Candidate, float]:
        """The best candidate without what adds next to nothing, and its value."""

        def value(candidate: Candidate) -> float:
            return value_of(self.of, self.goal, candidate)

        start = self.of.start
        best = self.best_candidate if self.best > value(start) else start
        found = self.of.simplified(best, value)
        return found, value(found)

    def _learn(self, candidates: Sequence[Candidate], values: Sequence[float]) -> None:
        self._proposer.tell(candidates, values)
        self.values.append(list(values))
        first = max(range(len(values)), key=values.__getitem__)
        if values[first] > self.best:
            self.best, self._best_candidate = values[first], candidates[first]

    # ------------------------------------------------------------------------------------------ checkpoint

    @property
    def _identity(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "rules": self.of.rules.table,
            **self.of.identity,
            "goal": str(self.goal),
            "worths": None if self.goal == MEAN else sha256(_worths(self.goal, self.of.rules).tobytes()).hexdigest(),
            "seed": self.seed,
            "population": self.population,
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint; the one before is kept until it is complete."""
        beside = path.with_name(f"{path.name}.new")
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(json.dumps({**self._identity, "values": self.values}))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise UsageError(f"checkpoint: {path} cannot be written: {error.strerror}") from error

    @classmethod
    def begun_or_continued(
        cls, of: Class[Candidate], goal: Goal, seed: int, population: int | None, path: Path | None
    ) -> Search[Candidate]:
        """The search of this checkpoint, if there is one; else a new one."""
        if of.rules.whole and goal != MEAN:
            raise UsageError("goal: is about the whole game, and these are the rules of the rest of one")
        begun = cls(of, goal, seed, population)
        if path is None or not _is_there(path):
            return begun
        saved, identity = _read(path), json.loads(json.dumps(begun._identity))  # as it is read back
        if {key: saved.get(key) for key in identity} != identity:
            raise UsageError(f"checkpoint: {path} is of another search; name another file, or remove it")
        values = saved.get("values")
        size = begun.population
        if not isinstance(values, list) or not all(_is_generation(row, size) for row in values):
            raise UsageError(f"checkpoint: {path} is damaged; remove it to begin again")
        return cls(of, goal, seed, population, values)


def _is_there(path: Path) -> bool:
    """Whether there is a checkpoint to go on from; refuses what can be none."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise UsageError(f"checkpoint: {shown(str(path))} cannot be read: {error}") from error
    if not stat.S_ISREG(mode):
        raise UsageError(f"checkpoint: {path} is no file")
    return True


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


def value_of(of: Class[Candidate], goal: Goal, candidate: Candidate) -> float:
    """The exact value of a candidate for a goal: its mean, or the mean worth of its final scores."""
    expected, moves = exact(of.rules)
    strategy = of.strategy(candidate)
    if goal == MEAN:
        return evaluation.mean_of(strategy.decider(Turn(moves), expected), expected)
    games = play_by_anchor(expected, lambda turn: strategy.decider(turn, expected), strategy.words, threads=1)
    return games.mean_worth(_worths(goal, of.rules))


@lru_cache(maxsize=1)
def _worths(goal: Goal, rules: Rules) -> NDArray[np.float64]:
    """What final scores are worth by a goal; its opponents play but once."""
    return goal.worths(Utility.count_scores(rules), lambda opponent: curve_of(opponent, rules))


@lru_cache(maxsize=1)
def exact(rules: Rules) -> tuple[ExpectedTable, Moves]:
    """The exact values of a game, and its moves."""
    return solve_expected(rules), compile_moves(rules)
