"""What one run is asked for, whatever the problem: the other half of the front door, beside `recurrence`.

A program of one's own derives a class from `Computation`, and hands it to `engine.start`: that makes a command that
computes the table, with or without mpirun in front, plans it, and verifies it.
"""

from __future__ import annotations

import argparse
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from yahtzee_cluster import __version__
from yahtzee_cluster.engine.fixed_set import MOST_CLASSES, Scales, needed_bytes, smallest_that_fits
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.engine.simulator import advise
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, whole_number
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import as_cache_size, short, shown

AUTO = "auto"
KEEP = ("all", "frontier")
MAX_THREADS = 1024
"""Each has memory of its own, before it has anything to do."""
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, kw_only=True)
class Computation(ABC):
    """What is to be computed, and with what. Its fields are flags of its command line, under the same names."""

    G: str = AUTO
    """A number of elements, their names with commas between, or "auto"."""
    cache: str = "256MB"
    threads: int = 1
    store: str | None = None
    keep: str = "all"
    """Of the table on disk: all of it, or the frontier, what classes to come read."""

    @abstractmethod
    def problem(self) -> Recurrence:
        """What is to be computed; workers get it as the master made it, pickled."""

    @property
    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """What it is, in a few words by name: for summaries, and the name of the table's directory."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What a table should say of how it was computed, besides what every table does."""
        return {}

    def result(self, problem: Recurrence, store: Store) -> Sequence[str]:  # noqa: ARG002
        """What people want to know first of a finished table, line by line."""
        return []

    @classmethod  # noqa: B027  # most need none
    def add_flags(cls, parser: argparse.ArgumentParser) -> None:
        """Add what this command line has besides the flags of all runs."""

    @classmethod
    def of(cls, options: argparse.Namespace) -> Self:
        """The computation that a command line asks for."""
        return cls(**{key: value for key, value in vars(options).items() if value is not None and key in cls.names()})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Of all fields."""
        return tuple(cls.__dataclass_fields__)

    def overridden(self, given: Mapping[str, Any]) -> Self:
        """The same with everything replaced that is given and not None."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    def schedule(self, partition: Partition, done: Collection[ClassId]) -> Schedule:
        """Who computes what, and when, of a table of which some classes are done."""
        return Schedule.of(partition, done, self.threads)

    @property
    def cache_bytes(self) -> int:
        """The bound of each rank's cache."""
        return parse_bytes(self.cache)

    def directory(self, fixed: int) -> Path:
        """Where the table is, or will be."""
        if self.store is not None:
            return table_path(self.store)
        words = [re.sub(r"[^A-Za-z0-9._-]+", "-", str(value)) for value in self.about.values() if value is not None]
        return Path("runs") / "-".join([*words, f"G{fixed.bit_count()}"])


def parse_bytes(text: str) -> int:
    """A number of bytes, such as 256MB; units are powers of 1024."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE | re.ASCII)
    if not match:
        raise UsageError(f"expected a size such as 256MB or 2GB, found {shown(text)}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def fixed_set(asked: Computation, problem: Recurrence, n_workers: int) -> int:
    """The fixed set that is asked for, after making sure that every class fits into the cache."""
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
    """Refuse a cache in which some class could not be computed."""
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


# ---------------------------------------------------------------------------------------- the command line


def add_flags(parser: argparse.ArgumentParser, kind: type[Computation]) -> None:
    """The flags of a computation."""
    default = kind.__dataclass_fields__
    add = parser.add_argument
    add("--version", action="version", version=__version__)
    kind.add_flags(parser)
    add(
        "--G",
        metavar="N|NAMES|auto",
        help="the fixed set that cuts the table into classes: how many elements, or which, with commas between "
        f"(default: {AUTO}, the size that makes the run shortest)",
    )
    add_cache(parser)
    add(
        "--threads",
        type=partial(parse_count, most=MAX_THREADS),
        metavar="N",
        help=f"cores that each worker uses (default: {default['threads'].default})",
    )
    add(
        "--keep",
        choices=KEEP,
        help="of the table: all of it, or the frontier, what classes to come read; the rest is dropped, but for its "
        "digests, and in the end all but the last class (default: all)",
    )
    add("--store", metavar="DIR", help="where the table is kept (default: a directory under ./runs)")


def add_cache(parser: argparse.ArgumentParser) -> None:
    """The one flag that may differ between ranks."""
    default = Computation.__dataclass_fields__["cache"].default
    parser.add_argument(
        "--cache", type=_size, metavar="SIZE", help=f"memory for classes, on each rank (default: {default})"
    )


def parse_count(text: str, most: int = MAX_COUNT) -> int:
    """A whole number from 1 on, as a flag has it."""
    count = whole_number(text)
    if count is None or not 1 <= count <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {most}, found {shown(text)}")
    return count


def _size(text: str) -> str:
    try:
        parse_bytes(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
