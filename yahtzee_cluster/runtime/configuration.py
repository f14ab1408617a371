"""The configuration of one run, for any problem, and its flags on the command line.

A program of your own derives a class from `Computation` and passes it to `runtime.command.start`, which makes a command
that computes the table, with or without mpirun, plans it, and verifies it.
"""

from __future__ import annotations

import argparse
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from yahtzee_cluster.engine.fixed_set import MOST_CLASSES, FixedSetSearch, needed_bytes, smallest_that_fits
from yahtzee_cluster.engine.listing import LISTED_BYTES
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.engine.simulator import advise
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import whole_number
from yahtzee_cluster.progress import stage
from yahtzee_cluster.storage.checks import check_problem
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import as_cache_size, rough_size, short, shown, suggestion

AUTO = "auto"
RUNS = Path("runs")
"""Where tables are by default."""
KEEP = ("all", "frontier")
MAX_THREADS = 1024
"""Limit on --threads: each thread allocates its memory at the start."""
COUNTED_AT_ONCE = 1 << 16
MOST_COUNTED = 1 << 10
"""Subsets whose values are counted at a time, and how often at most: of a larger table, only a part is counted."""
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, kw_only=True)
class Computation(ABC):
    """A problem and the resources to compute it with. Each field is a command-line flag of the same name.

    The settings of `Cheapest`, the example of `Recurrence`:

    >>> class Assignment(yc.Computation):
    ...     about = {"problem": "cheapest"}
    ...
    ...     def problem(self):
    ...         return Cheapest()
    ...
    ...     def result(self, problem, store):
    ...         return [f"lowest cost {store.read(store.partition.class_of(0b111))[0]}"]
    >>> Assignment(threads=2).cache_bytes
    268435456
    """

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
    def is_of_thesis(self) -> bool:
        """Whether a plan is set beside the formulas of Cremers' thesis."""
        return False

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

    @property
    def label(self) -> str:
        """Name for the table's directory: this class, and what it is about; numbers with what they count."""
        kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(self).__name__).lower()
        told = {key: value for key, value in self.about.items() if value is not None}
        return "-".join([kind, *(str(v) if isinstance(v, str) else f"{key}-{v}" for key, v in told.items())])

    def directory(self, fixed: int) -> Path:
        """Directory of a table with this fixed set."""
        return RUNS / f"{self._name}-G{fixed.bit_count()}" if self.store is None else table_path(self.store)

    def directories(self) -> list[Path]:
        """Directories that may hold the table, whatever its fixed set."""
        if self.store is not None:
            return [table_path(self.store)]
        return [path for path in RUNS.glob(f"{self._name}-G*") if path.name.removeprefix(f"{self._name}-G").isdecimal()]

    @property
    def _name(self) -> str:
        """Name of the table's directory without the size of its fixed set; no character is special in a pattern."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.label)


def parse_bytes(text: str) -> int:
    """Parse a size such as 256MB; units are powers of 1024."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    if not match:
        raise UsageError(f"expected a size such as 256MB or 2GB, found {shown(text)}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def search_of(problem: Recurrence, *, lists: bool = True) -> FixedSetSearch:
    """The search for fixed sets of a problem; refuses one that will not do, or whose subsets are too many to list."""
    check_problem(problem)
    n, n_bytes = len(problem.element_names), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if lists and problem.has_all_subsets and not problem.is_uniform and LISTED_BYTES << n > n_bytes:
        raise UsageError(
            f"choosing G lists all 2^{n} subsets of this problem, in {rough_size(LISTED_BYTES << n)} of memory; this "
            f"machine has {rough_size(n_bytes)}. If sizes depend on the layer only, define layer_sizes instead"
        )
    return FixedSetSearch(problem)


def fixed_set(asked: Computation, problem: Recurrence, n_workers: int, search: FixedSetSearch | None = None) -> int:
    """Fixed set that G stands for; refuses one with which some class does not fit into the cache."""
    is_open = asked.G == AUTO or asked.G.strip().isdecimal()
    search = search or search_of(problem, lists=is_open)
    if is_open:
        _check_some_set_fits(asked, problem, search)
    if asked.G == AUTO:
        with stage("choice of G"):
            advised = advise(problem, search, asked.cache_bytes, n_workers, asked.threads)
            fixed = search.pick(max(search.sizes()) if advised is None else advised)
    else:
        fixed = given_set(asked.G, problem, search)
    check_fits(asked, fixed, search)
    return fixed


def given_set(given: str, problem: Recurrence, search: FixedSetSearch) -> int:
    """Fixed set that a number of elements, or their names, stand for."""
    names, size = problem.element_names, given.strip()
    if not size.isdecimal():
        return _named(given, names)
    n_fixed = whole_number(size)
    if n_fixed is None or n_fixed > len(names):
        raise UsageError(f"G: expected at most {len(names)} elements, found {short(given)}")
    if n_fixed not in search.sizes():
        raise UsageError(f"G: {n_fixed} elements make more than {MOST_CLASSES:,} classes; take fewer, or name them")
    return search.pick(n_fixed)


def _check_some_set_fits(asked: Computation, problem: Recurrence, search: FixedSetSearch) -> None:
    """Refuse a cache that no fixed set makes large enough, by a lower bound that is found in a second.

    In a table of at most MOST_CLASSES classes, some class has as many values as they have on average.
    """
    n_subsets, n_bytes = 1 << len(problem.element_names), 0
    if problem.is_uniform:
        n_subsets, n_bytes = 0, 8 * search.n_values
    for first in range(0, n_subsets, max(COUNTED_AT_ONCE, n_subsets // MOST_COUNTED)):
        subsets = np.arange(first, min(first + COUNTED_AT_ONCE, n_subsets))
        n_bytes += 8 * int(problem.sizes(subsets[problem.exist(subsets)]).sum())
    least = n_bytes // MOST_CLASSES
    if least > asked.cache_bytes:
        raise UsageError(
            f"--cache {asked.cache} is too small, whatever G: the table has more than {rough_size(n_bytes)}, and with "
            f"at most {MOST_CLASSES:,} classes, one of them has more than {rough_size(least)}"
        )


def check_fits(asked: Computation, fixed: int, search: FixedSetSearch) -> None:
    """Refuse a cache that is too small for some class; the message names a G or a size that will do."""
    needed = needed_bytes(search.partition(fixed))
    if needed <= asked.cache_bytes:
        return
    smallest = smallest_that_fits(search, asked.cache_bytes)
    if smallest is None:
        least = needed_bytes(search.partition(search.pick(max(search.sizes()))))
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
            raise UsageError(
                f"G: no element {shown(name)}; {suggestion(name, names, 'expected a number, auto, or some of')}"
            )
        if fixed >> names.index(name) & 1:
            raise UsageError(f"G: {name} is named twice")
        fixed |= 1 << names.index(name)
    return fixed
