"""What all tables of games on disk have in common: where they are, and what they cannot be asked."""
# ruff: noqa: ARG002  # what refuses a question does not look at it

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import highest_score
from yahtzee_cluster.game.rule_files import preset_names
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.storage import verification
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.storage.verification import Verdict
from yahtzee_cluster.text import printable

if TYPE_CHECKING:
    import xarray as xr

    from yahtzee_cluster.tables.probabilities import StrategyTable
    from yahtzee_cluster.tables.utility import UtilityTable

Values = NDArray[np.float64]
Card = Anchor | Scorecard | str | Mapping[str, int]
"""A scorecard: the state that it leaves, itself, as `parse_scorecard` reads it, or its points by the names of boxes."""


class Entries(Protocol):
    """What a table reads its values from: a store on disk, or memory."""

    path: Path
    partition: Partition

    def start(self, subset: int) -> int:
        """Offset of the entries of a subset in its class."""

    def row(self, cls: ClassId, start: int, stop: int) -> Values:
        """A few entries of a class."""

    def block(self, cls: ClassId) -> Block:
        """All entries of a class."""

    def impossible(self, cls: ClassId) -> YahtzeeClusterError:
        """Error for a class whose values are impossible."""


class Table(ABC):
    """A table of some game, on disk or in memory. Only the values that are asked for are read.

    There is a class for each kind of table. It answers the questions that its values can answer; this class refuses
    all the others with a `UsageError`.

    >>> table = yc.open_table("yacht")
    >>> print(f"{table.value(table.start, need=200):.6f} {table.curve()[250]:.6f}")
    0.239565 0.013868
    >>> print(f"{table['aces=3, yacht=50'][150]:.6f}")  # for another scorecard, with 150 points to go
    0.527464
    >>> table.moments(table.start)
    Traceback (most recent call last):
    yahtzee_cluster.errors.UsageError: yacht: holds maxprob, not expected scores
    """

    problem: Scorecards | Race
    n_players: ClassVar[int] = 1
    number: ClassVar[str | None] = None
    """The number that a state needs besides the scorecards: `need`, `score` or `lead`."""
    gives_advice: ClassVar[bool] = True
    """Whether the table may stand beside a request for advice, if only to name the game."""
    reaches_scores: ClassVar[bool] = False
    """Whether it has the highest probability of reaching a score."""

    def __init__(self, problem: Any, entries: Entries, named: str | None = None) -> None:
        self.problem = problem
        self.entries = entries
        self.path = entries.path
        self.named = printable(str(entries.path) if named is None else named)
        """The directory as the user wrote it."""
        self.rules: Rules = problem.rules
        self.anchors: Anchors = problem.anchors
        self.objective: str = problem.identity["objective"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.named!r}, {self.objective} of {self.rules.name})"

    @property
    def store(self) -> Store:
        """The store of a table on disk."""
        assert isinstance(self.entries, Store)
        return self.entries

    def refusal(self, reason: str) -> UsageError:
        """The error for a question that this kind of table cannot answer."""
        return UsageError(f"{self.path}: holds {self.objective}{reason}")

    def _refusal_for_want_of(self, objectives: str) -> UsageError:
        """The error for a question to a table with one of these objectives; it names the command that makes one."""
        rules = self.rules.name if self.rules.name in preset_names() else "FILE"
        flags = f"--rules {rules} --objective scores --target {highest_score(self.anchors)}"
        command = f"`python -m yahtzee_cluster.run {flags}` computes one"
        return self.refusal(f"; expected a table of {objectives}: {command}")

    @property
    def computed_on(self) -> str | None:
        """The day on which the table was begun, as `2026-01-31`; None if it does not say."""
        header = read_header(self.path)
        began = re.match(r"\d{4}-\d\d-\d\d", str(header.provenance.get("began", ""))) if header else None
        return began[0] if began else None

    @property
    def start(self) -> Anchor:
        """The state before the first turn."""
        return Anchor(self.rules.all_free, 0, chip=False)

    # ---------------------------------------------------------------------------------- what every kind answers

    @property
    @abstractmethod
    def quantities(self) -> int:
        """How many quantities the table holds of every state."""

    @abstractmethod
    def state(self, cards: Sequence[Anchor], number: int = 0) -> dict[str, float]:
        """All quantities of one state by name, given each player's anchor and the number, if this kind has one."""

    @abstractmethod
    def headline(self) -> list[str]:
        """The lines that a run prints at its end."""

    def verify(self, n_sampled: int = 0, seed: int | None = None) -> Verdict:
        """Check every value, and recompute at least one value of every class."""
        return verification.verify(self.problem, self.store, n_sampled, seed)

    # ------------------------------------------------------------------------------------ tables of one player

    def __getitem__(self, card: Card) -> Values:
        """The values of a scorecard, by the points still needed or by the score so far, from 0 on.

        Of a table of scores these are the probabilities; of one of expected scores, mean and second moment.
        """
        raise self.refusal("")

    __iter__ = None  # a table has no order

    def sel(self, card: Card | Sequence[Card] | None = None, **number: Any) -> xr.Dataset:
        """The values of some scorecards (by default of all states), at some needs or scores, as xarray selects them.

        >>> table = yc.open_table("yacht")
        >>> table.sel(["aces=3", "yacht=50"], need=slice(100, 102)).p.dims
        ('card', 'need')
        """
        raise self.refusal("")

    def to_xarray(self, card: Card | Sequence[Card] | None = None) -> xr.Dataset:
        """The values of some scorecards, or of all states, as labelled arrays, read where they are looked at.

        The dimensions are `card`, if several are given, or `state`, and `need` or `score`. The coordinates `upper` (-1
        where the upper bonus is decided), `chip` and `is_free` (by `box`) describe the states. NaN stands for scores
        that no game has there. Needs the extra `data`.
        """
        raise self.refusal("")

    # ----------------------------------------------------------------------------------- tables of probabilities

    @property
    def target(self) -> int:
        """The highest need that has a probability."""
        raise self.refusal(", not probabilities")

    def row(self, anchor: Anchor, quantity: int = 0) -> Values:
        """One quantity of an anchor for needs 1, 2, …; the probabilities are quantity 0."""
        raise self.refusal(", not probabilities")

    def value(self, anchor: Anchor, need: int) -> float:
        """The probability to score at least `need` from an anchor."""
        raise self.refusal(", not probabilities")

    def curve(self) -> Values:
        """The probability to score at least s from the start, for s = 0 … target."""
        raise self.refusal(", not probabilities")

    def curves(self) -> dict[str, Values]:
        """All that is known of the final score, for s = 0 … target, by name; the curve is `p`."""
        raise self.refusal(", not probabilities")

    def score_curve(self) -> tuple[Values, Values]:
        """Mean and standard deviation of the final score when playing for at least s, for s = 0 … target."""
        raise self._refusal_for_want_of("scores")

    def for_target(self, target: int) -> StrategyTable:
        """This table, if its values decide how to play for at least `target` points."""
        raise self._refusal_for_want_of("scores or approx")

    def for_comparison(self, target: int) -> StrategyTable:
        """This table, if it also tells what another decision costs when playing for `target`."""
        raise self._refusal_for_want_of("scores")

    # ------------------------------------------------------------------------------- tables of other objectives

    def moments(self, anchor: Anchor, need: int | None = None) -> tuple[float, float]:
        """Mean and second moment of the points still to come from an anchor.

        A table of expected scores has them for the highest mean, a table of scores when playing for a need.
        """
        raise self.refusal(", not expected scores") if need is None else self._refusal_for_want_of("scores")

    def worth(self, anchor: Anchor, score: int) -> float:
        """The expected utility of an anchor with so many points so far."""
        raise self.refusal(", not what final scores are worth")

    @property
    def goal(self) -> str | None:
        """The name of the utility that the table is played for, if it holds one."""
        return None

    def for_goal(self) -> UtilityTable:
        """This table, if its values decide how to play for its goal."""
        raise self.refusal("; expected a table of some utility")
