"""A job: everything that one run is asked for, from a TOML file and from flags."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yahtzee_cluster import __version__
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, Fields, read_toml
from yahtzee_cluster.forecast import Scales, advise, needed_bytes, smallest_that_fits
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.recurrence import Recurrence
from yahtzee_cluster.rules import load_rules

AUTO = "auto"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Job:
    """What is to be computed, and with what; `rules` is a name or a file."""

    objective: str = "maxprob"
    rules: str = "yahtzee"
    target: int = 800
    G: str = AUTO
    """A number of elements, their names with commas between, or "auto"."""
    cache: str = "256MB"
    threads: int = 1
    store: str | None = None

    @property
    def cache_bytes(self) -> int:
        """The bound of each rank's cache."""
        return parse_bytes(self.cache)

    def problem(self) -> Recurrence:
        """What is to be computed."""
        return OBJECTIVES[self.objective](load_rules(self.rules), self.target)

    def directory(self, problem: Recurrence, fixed: int) -> Path:
        """Where the table is, or will be."""
        if self.store is not None:
            return Path(self.store)
        rules = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(self.rules).stem)
        target = f"-{self.target}" if "target" in problem.identity else ""
        return Path("runs") / f"{rules}-{self.objective}{target}-G{fixed.bit_count()}"


def read_job(path: str) -> Job:
    """The job that a TOML file describes; a file of rules is looked for beside it."""
    fields = Fields(read_toml(path), path, known=tuple(Job.__dataclass_fields__))
    given: dict[str, Any] = {
        "objective": fields.choice("objective", tuple(OBJECTIVES), None) if "objective" in fields.table else None,
        "rules": fields.optional_text("rules"),
        "target": fields.integer("target", None, low=1, high=MAX_COUNT),
        "G": _fixed_text(fields),
        "cache": fields.optional_text("cache"),
        "threads": fields.integer("threads", None, low=1, high=MAX_COUNT),
        "store": fields.optional_text("store"),
    }
    if given["rules"] is not None and given["rules"].endswith(".toml"):
        given["rules"] = str(Path(path).parent / given["rules"])
    job = overridden(Job(), given)
    parse_bytes(job.cache)
    return job


def overridden(job: Job, given: Mapping[str, Any]) -> Job:
    """The job with everything replaced that is given and not None."""
    return replace(job, **{key: value for key, value in given.items() if value is not None})


def _fixed_text(fields: Fields) -> str | None:
    value = fields.table.get("G")
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ",".join(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return fields.optional_text("G")


def parse_bytes(text: str) -> int:
    """A number of bytes, such as 256MB; units are powers of 1024."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"expected a size such as 256MB or 2GB, found {text!r}")
    return int(float(match[1]) * UNITS[match[2].upper()])


def fixed_set(job: Job, problem: Recurrence, n_workers: int) -> int:
    """The fixed set that the job asks for, after making sure that every class fits into the cache."""
    scales = Scales(problem)
    names = problem.element_names
    if job.G == AUTO:
        advised = advise(problem, scales, job.cache_bytes, n_workers, job.threads)
        fixed = scales.pick(len(names) if advised is None else advised)
    elif job.G.strip().isdecimal():
        if len(job.G) > 9 or int(job.G) > len(names):
            raise UsageError(f"G: expected at most {len(names)} elements, found {job.G}")
        fixed = scales.pick(int(job.G))
    else:
        fixed = _named(job.G, names)
    check_fits(job, problem, fixed, scales)
    return fixed


def check_fits(job: Job, problem: Recurrence, fixed: int, scales: Scales) -> None:
    """Refuse a cache in which some class could not be computed."""
    needed = needed_bytes(problem.partition(fixed))
    if needed <= job.cache_bytes:
        return
    smallest = smallest_that_fits(problem, scales, job.cache_bytes)
    if smallest is None:
        least = needed_bytes(problem.partition(scales.pick(len(problem.element_names))))
        advice = f"no G makes it fit, and none needs less than --cache {megabytes(least)}"
    else:
        advice = f"the smallest that fits is --G {smallest}, or take --cache {megabytes(needed)}"
    size = fixed.bit_count()
    raise UsageError(f"--cache {job.cache} is too small for |G| = {size}, which needs {megabytes(needed)}; {advice}")


def megabytes(n_bytes: int) -> str:
    """A size as `--cache` takes it, rounded up."""
    return f"{-(-n_bytes >> 20) if n_bytes % (1 << 20) else n_bytes >> 20}MB"


def _named(text: str, names: tuple[str, ...]) -> int:
    fixed = 0
    for name in (part.strip() for part in text.split(",")):
        if name not in names:
            raise UsageError(f"G: no element {name!r}; expected a number, auto, or some of {', '.join(names)}")
        fixed |= 1 << names.index(name)
    return fixed


# ---------------------------------------------------------------------------------------- the command line


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that describe a job."""
    default = Job()
    add = parser.add_argument
    add("--version", action="version", version=__version__)
    add("--job", metavar="FILE", help="take all of this from a TOML file; flags go before it")
    add("--objective", choices=OBJECTIVES, help=f"what to compute (default: {default.objective})")
    add("--rules", metavar="NAME|FILE", help=f"a rule set by name, or a TOML file (default: {default.rules})")
    add("--target", type=parse_count, metavar="N", help=f"the highest score asked for (default: {default.target})")
    add(
        "--G",
        metavar="N|NAMES|auto",
        help="the fixed set that cuts the table into classes: how many categories, or which, with commas between "
        f"(default: {AUTO}, the size that makes the run shortest)",
    )
    add("--cache", type=_size, metavar="SIZE", help=f"memory for classes, on each rank (default: {default.cache})")
    add("--threads", type=parse_count, metavar="N", help=f"cores that each worker uses (default: {default.threads})")
    add("--store", metavar="DIR", help="where the table is kept (default: a directory under ./runs)")


def job_of(options: argparse.Namespace) -> Job:
    """The job that the flags describe, on top of the job file if there is one."""
    given = {key: value for key, value in vars(options).items() if key in Job.__dataclass_fields__}
    return overridden(read_job(options.job) if options.job else Job(), given)


def parse_count(text: str) -> int:
    """A whole number from 1 on, as a flag has it."""
    if not text.isdecimal() or not 1 <= int(text) <= MAX_COUNT:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MAX_COUNT}, found {text!r}")
    return int(text)


def _size(text: str) -> str:
    try:
        parse_bytes(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
