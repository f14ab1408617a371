"""The configuration of one run, for any problem, and its flags on the command line.

A program of your own derives a class from `Computation` and passes it to `runtime.command.start`, which makes a command
that computes the table, with or without mpirun, plans it, and verifies it.
"""

from __future__ import annotations

import argparse
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from yahtzee_cluster.engine.fixed_set import MOST_CLASSES, Scales, needed_bytes, smallest_that_fits
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.engine.simulator import advise
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import whole_number
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import as_cache_size, short, shown

AUTO = "auto"
KEEP = ("all", "frontier")
MAX_THREADS = 1024
"""Limit on --threads: each thread allocates its memory at the start."""
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, kw_only=True)
class Computation(ABC):
    """A problem and the resources to compute it with. Each field is a command-line flag of the same name."""

    G: str = AUTO
    """A number of elements, their names with commas between, or "auto"."""
    cache: str = "256MB"
    threads: int = 1
    store: str | None = None
    keep: str = "all"
    """What to keep of the table on disk: all of it, or only the frontier, which remaining classes read."""

    @abstractmethod
    def problem(self) -> Recurrence:
        """The problem to compute. The master makes it once, and sends it to the workers, pickled."""

    @property
    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """Short description, as named values: for summaries, and for the name of the table's directory."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Provenance to write into a table besides that which every table has."""
        return {}

    def result(self, problem: Recurrence, store: Store) -> Sequence[str]:  # noqa: ARG002
        """Main results of a finished table, as lines of text."""
        return []

    @classmethod  # noqa: B027  # most need none
    def add_flags(cls, parser: argparse.ArgumentParser) -> None:
        """Add the flags that this kind of computation has besides those of all runs."""

    @classmethod
    def of(cls, options: argparse.Namespace) -> Self:
        """Computation with the options of a command line."""
        return cls(**{key: value for key, value in vars(options).items() if value is not None and key in cls.names()})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of all fields."""
        return tuple(cls.__dataclass_fields__)

    def overridden(self, given: Mapping[str, Any]) -> Self:
        """Copy in which the given values that are not None replace the fields of these names."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    def schedule(self, partition: Partition, done: Collection[ClassId]) -> Schedule:
        """Schedule of a table, some classes of which are done."""
        return Schedule.of(partition, done, self.threads)

    @property
    def cache_bytes(self) -> int:
        """Size limit of each rank's cache."""
        return parse_bytes(self.cache)

    def directory(self, fixed: int) -> Path:
        """Directory of the table."""
        if self.store is not None:
            return table_path(self.store)
        words = [re.sub(r"[^A-Za-z0-9._-]+", "-", str(value)) for value in self.about.values() if value is not None]
        return Path("runs") / "-".join([*words, f"G{fixed.bit_count()}"])


def parse_bytes(text: str) -> int:
    """Parse a size such as 256MB; units are powers of 1024."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    if not match:
        raise UsageError(f"expected a size such as 256MB or 2GB, found {shown(text)}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def fixed_set(asked: Computation, problem: Recurrence, n_workers: int) -> int:
    """Fixed set that G stands for; refuses one with which some class does not fit into the cache."""
    scales = Scales(problem)
    names = problem.element_names
    if asked.G == AUTO:
        advised = advise(problem, scales, asked.cache_bytes, n_workers, asked.threads)
        fixed = scales.pick(max(scales.sizes()) if advised is None else advised)
    elif asked.G.strip().isdecimal():
        n_fixed = whole_number(asked.G.strip())
        if n_fixed is None or n_fixed > len(names):
            raise UsageError(f"G: expected at most {len(names)} elements, found {short(asked.G)}")
        if n_fixed not in scales.sizes():
            raise UsageError(f"G: {n_fixed} elements make more than {MOST_CLASSES:,} classes; take fewer, or name them")
        fixed = scales.pick(n_fixed)
    else:
        fixed = _named(asked.G, names)
    check_fits(asked, problem, fixed, scales)
    return fixed


def check_fits(asked: Computation, problem: Recurrence, fixed: int, scales: Scales) -> None:
    """Refuse a cache that is too small for some class; the message names a G or a size that will do."""
    needed = needed_bytes(problem.partition(fixed))
    if needed <= asked.cache_bytes:
        return
    smallest = smallest_that_fits(problem, scales, asked.cache_bytes)
    if smallest is None:
        least = needed_bytes(problem.partition(scales.pick(max(scales.sizes()))))
        advice = f"no G makes it fit, and none needs less than --cache {as_cache_size(least)}"
    else:
        advice = f"the smallest that fits is --G {smallest}, or take --cache {as_cache_size(needed)}"
    size = fixed.bit_count()
    needs = f"is too small for |G| = {size}, which needs {as_cache_size(needed)}"
    raise UsageError(f"--cache {asked.cache} {needs}; {advice}")


def _named(text: str, names: tuple[str, ...]) -> int:
    fixed = 0
    for name in (part.strip() for part in text.split(",")):
        if name not in names:
            raise UsageError(f"G: no element {shown(name)}; expected a number, auto, or some of {', '.join(names)}")
        if fixed >> names.index(name) & 1:
            raise UsageError(f"G: {name} is named twice")
        fixed |= 1 << names.index(name)
    return fixed
