"""What answering a question takes, told before anything is solved."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.race_forecast import Forecast
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.tables.memory import DEFAULT_BYTES, Memory
from yahtzee_cluster.text import rough_size


@dataclass(frozen=True)
class Plan:
    """The size of the rest of a game, and the rough time for solving it."""

    values: int
    bytes: int
    """For all values."""
    least_bytes: int
    """For two layers of the table, which is what solving takes at a time."""
    seconds: float
    """On this machine, roughly."""
    fits: bool
    """Whether that is within the limits; if it is not, a game of two is played by the rule, and others are refused."""

    @classmethod
    def of_nothing(cls) -> Self:
        """The plan where nothing has to be solved."""
        return cls(0, 0, 0, 0.0, fits=True)

    @classmethod
    def of(cls, problem: Scorecards | Race, threads: int, limit_bytes: int | None) -> Self:
        """The plan for a goal of one player."""
        memory = Memory(problem)
        values, subsets = memory.n_bytes // 8, 1 << len(problem.element_names)
        seconds = (values * problem.assumed_value_s + subsets * problem.assumed_subset_s) / threads
        least = memory.least_bytes
        return cls(
            values, memory.n_bytes, least, seconds, least <= (DEFAULT_BYTES if limit_bytes is None else limit_bytes)
        )

    @classmethod
    def of_race(cls, needed: Forecast, limit_bytes: int | None, limit_s: float) -> Self:
        """The plan for a game of two."""
        fits = (
            needed.least_bytes <= (DEFAULT_BYTES if limit_bytes is None else limit_bytes) and needed.seconds <= limit_s
        )
        return cls(needed.n_values, needed.n_bytes, needed.least_bytes, needed.seconds, fits)

    def to_dict(self) -> dict[str, Any]:
        """The plan, ready for JSON."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The plan for people."""
        if not self.values:
            return "nothing has to be solved"
        return "\n".join([
            f"{'values':10} {self.values:,}",
            f"{'memory':10} {rough_size(self.bytes)}, {rough_size(self.least_bytes)} at a time",
            f"{'time':10} about {self.seconds:.3g} s",
            f"{'fits':10} {'yes' if self.fits else 'no; --cache and --limit set the limits'}",
        ])  # fmt: skip
