"""The flags of the run command, and those that other commands share with it."""

from __future__ import annotations

import argparse
from functools import partial

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, whole_number
from yahtzee_cluster.output import add_version
from yahtzee_cluster.runtime.configuration import AUTO, KEEP, MAX_THREADS, Computation, parse_bytes
from yahtzee_cluster.runtime.disk import DISK_TIMEOUT_S
from yahtzee_cluster.runtime.heartbeat import LEASE_S
from yahtzee_cluster.text import shown

GRACE_S = 30.0


def add_run(parser: argparse.ArgumentParser, kind: type[Computation], example: str, *, complete: bool = False) -> None:
    """Add the flags of a run command; a complete one plans and verifies as well."""
    parser.description = (
        "Compute a table, alone or behind mpirun: rank 0 schedules, the others compute. "
        "To resume an interrupted run, give the same command again."
    )
    parser.epilog = (
        f"Example: {example}. "
        "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 75 stopped on request (the same command resumes)."
    )
    add_computation(parser, kind)
    if complete:
        parser.add_argument(
            "--plan", type=parse_count, metavar="RANKS", help="print a forecast for this number of ranks, and exit"
        )
        parser.add_argument("--verify", action="store_true", help="verify every byte of the table, and exit")
    parser.add_argument(
        "--grace",
        type=parse_count,
        default=GRACE_S,
        metavar="SECONDS",
        help="after SIGTERM, SIGINT or SIGUSR1, the time in which classes in progress may still be committed "
        f"(default: {GRACE_S:g})",
    )
    parser.add_argument(
        "--lease",
        type=parse_count,
        default=LEASE_S,
        metavar="SECONDS",
        help="the time without a heartbeat after which a rank counts as lost; the others continue without it if the "
        f"launcher permits (default: {LEASE_S:g})",
    )
    parser.add_argument(
        "--disk-timeout",
        type=parse_count,
        default=DISK_TIMEOUT_S,
        metavar="SECONDS",
        help="the time that a call to the disk, or to its server, may take before the run ends "
        f"(default: {DISK_TIMEOUT_S})",
    )
    parser.add_argument("--anonymous", action="store_true", help="record neither host nor versions in the table")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def add_computation(parser: argparse.ArgumentParser, kind: type[Computation]) -> None:
    """Add the flags of a computation to a parser."""
    default = kind.__dataclass_fields__
    add = parser.add_argument
    add_version(parser)
    kind.add_flags(parser)
    add(
        "--G",
        metavar="N|NAMES|auto",
        help="the fixed set that partitions the table into classes: its size, or its elements separated by commas "
        f"(default: {AUTO}, the size with the shortest run)",
    )
    add_cache(parser)
    add(
        "--threads",
        type=partial(parse_count, most=MAX_THREADS),
        metavar="N",
        help=f"cores used by each worker (default: {default['threads'].default})",
    )
    add(
        "--keep",
        choices=KEEP,
        help="what to keep on disk: all classes, or only the frontier, those still to be read; of dropped classes "
        "the digests stay, and in the end only the last class is left (default: all)",
    )
    add("--store", metavar="DIR", help="directory of the table (default: one under ./runs)")


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Add --cache, the one flag that may differ between ranks."""
    default = Computation.__dataclass_fields__["cache"].default
    parser.add_argument(
        "--cache", type=_size, metavar="SIZE", help=f"size of the cache of each rank (default: {default})"
    )


def parse_count(text: str, most: int = MAX_COUNT) -> int:
    """Parse the value of a flag that takes a whole number from 1 on."""
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
