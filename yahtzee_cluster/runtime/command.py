"""The command that computes a table, with or without mpirun in front, whatever the problem.

Results go to stdout, progress and complaints to stderr.
"""

from __future__ import annotations

import os
import signal

# Nothing here multiplies matrices, and threads that wait for that cost each rank time and memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import argparse
import json
import logging
import platform
import resource
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from yahtzee_cluster import __version__
from yahtzee_cluster.engine.fixed_set import Scales, needed_bytes
from yahtzee_cluster.engine.frontier import Frontier, growth
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.output import Parser, open_streams, say
from yahtzee_cluster.runtime.cluster import (
    MASTER,
    AloneError,
    Ranks,
    Team,
    finish,
    has_finished,
    launched,
    library_version,
    run_worker,
    world,
)
from yahtzee_cluster.runtime.configuration import (
    AUTO,
    KEEP,
    Computation,
    add_flags,
    check_fits,
    fixed_set,
    megabytes,
    parse_bytes,
    parse_count,
)
from yahtzee_cluster.runtime.disk import DISK_TIMEOUT_S, DiskTimeoutError
from yahtzee_cluster.runtime.executor import Crew, Usage
from yahtzee_cluster.runtime.heartbeat import LEASE_S
from yahtzee_cluster.runtime.planner import as_text, make_plan
from yahtzee_cluster.runtime.progress import Progress
from yahtzee_cluster.runtime.serial import Alone
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.supervisor import Note, guarded
from yahtzee_cluster.storage.claim import claim, table_path
from yahtzee_cluster.storage.errors import DroppedError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.storage.verification import verify

log = logging.getLogger("yahtzee_cluster")
STARTED = time.perf_counter()
GRACE_S = 30.0
SPARE_ROOM = 1.25
"""So many times what a frontier is expected to take must be free: classes do not take as long as planned."""
FORWARDED_S = 0.5
"""Launchers forward what was printed; when a job is aborted they may lose what they have not read by then."""


@dataclass(frozen=True)
class Orders:
    """All that a worker needs to know before it can do anything."""

    problem: Recurrence
    fixed: int
    directory: Path
    cache_bytes: int
    n_threads: int
    lease_s: float
    disk_timeout_s: float

    def crew(self, rank: int) -> Crew:
        """The one that works on it on this rank."""
        store = Store.of(self.directory, self.problem, self.fixed)
        needed = needed_bytes(store.partition)
        if needed > self.cache_bytes:  # other hosts may have more
            raise UsageError(f"--cache is too small here: a class of this table needs {megabytes(needed)}")
        return Crew(self.problem, store, self.cache_bytes, self.n_threads, rank, self.disk_timeout_s)


@dataclass(frozen=True)
class Command:
    """A kind of computation, and how it is called."""

    kind: type[Computation]
    program: str
    example: str
    complete: bool = False
    """Whether it plans and verifies as well."""


def main(command: Command, arguments: Sequence[str] | None = None, note: Note | None = None) -> int:
    """Run one computation, on all ranks that there are; return the exit code."""
    open_streams()
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, stream=sys.stderr)
    try:
        comm = world()  # until then, signals end a rank as they end any program: nothing has been begun
    except YahtzeeClusterError as error:
        return _refuse(command, error)
    request = StopRequest()
    request.listen()
    note = note or Note()
    name = f"{command.program}: rank {comm.rank} on {platform.node()}"
    try:
        if comm.rank == MASTER:
            note.identify(f"{name}, the master,")
            return _lead(command, comm, request, arguments)
        run_worker(comm, lambda orders: _own(command, orders, arguments).crew(comm.rank), request, name, note)
        request.listen_no_more()
        finish()
        return 0
    except YahtzeeClusterError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return _leave_alone(comm, error.exit_code)
    except BaseException:
        log.exception("%s", name)
        return _leave_alone(comm, 1)


def run(command: Command) -> NoReturn:
    """Be this command, to the end of the process."""
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # until a request to stop can be taken, Ctrl-C ends it, without a story
    raise SystemExit(guarded(lambda note: main(command, note=note)) if launched() else main(command))


def start(kind: type[Computation], example: str = "") -> NoReturn:
    """Be the command of one's own kind of computation, which also plans and verifies: call it from `__main__`."""
    run(Command(kind, f"python {sys.argv[0]}", example, complete=True))


def _lead(command: Command, comm: Ranks, request: StopRequest, arguments: Sequence[str] | None) -> int:
    team = Team(comm, request) if comm.size > 1 else Alone(request)
    try:
        result = _execute(command, team, comm.size, request, arguments)
    finally:
        team.dismiss()
    have_parted = not team.broken and _part(team)
    request.listen_no_more()
    if have_parted:
        finish()
    code = (
        say(command.program, result) if isinstance(result, str) else result
    )  # nobody waits for a reader who takes his time
    return code if have_parted else _leave_alone(comm, code)


def _execute(
    command: Command, team: Team | Alone, n_ranks: int, request: StopRequest, arguments: Sequence[str] | None
) -> str | int:
    """Do what the command line says; return what there is to say, or the exit code that comes of it."""
    try:
        options = _parser(command).parse_args(arguments)
        request.grace_s = options.grace
        asked = command.kind.of(options)
        if command.complete and options.plan is not None:
            return "\n".join(as_text(make_plan(asked, asked.problem(), options.plan, Costs())))
        if command.complete and options.verify:
            return _verify(asked)
        return _compute(team, n_ranks, asked, options)
    except SystemExit as end:  # what argparse makes of wrong usage, and of --help
        return int(end.code or 0)
    except YahtzeeClusterError as error:
        return _refuse(command, error)


def _part(team: Team | Alone) -> bool:
    """Leave together with all others; say whether that was possible."""
    try:
        team.part()
    except AloneError as error:
        log.error("%s", error)  # noqa: TRY400  # its story is of no interest
        return False
    return True


def _own(command: Command, orders: Orders, arguments: Sequence[str] | None) -> Orders:
    """The master's orders, with this rank's own cache if its command line has one: hosts may differ."""
    try:
        cache = _parser(command).parse_args(arguments).cache
    except SystemExit:  # it has said why
        raise UsageError("cannot make sense of its own command line") from None
    return orders if cache is None else replace(orders, cache_bytes=parse_bytes(cache))


def _leave_alone(comm: Ranks, code: int) -> int:
    """Leave at once, although others may not: that ends them as well."""
    sys.stdout.flush()
    sys.stderr.flush()
    if not has_finished() and comm.size > 1:
        time.sleep(FORWARDED_S)
        comm.Abort(code)
    os._exit(code)


def _refuse(command: Command, error: YahtzeeClusterError) -> int:
    print(f"{command.program}: {error}", file=sys.stderr)
    return error.exit_code


# ------------------------------------------------------------------------------------------- what is asked


def _parser(command: Command) -> Parser:
    parser = Parser(
        prog=command.program,
        description="Compute a table, alone or behind mpirun: rank 0 schedules, the others compute. "
        "A run that was interrupted goes on when the same command is given again.",
        epilog=f"Example: {command.example}. "
        "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 75 stopped on request: run the same command again.",
    )
    add_flags(parser, command.kind)
    if command.complete:
        parser.add_argument(
            "--plan", type=parse_count, metavar="RANKS", help="print what a run on so many ranks would take, and end"
        )
        parser.add_argument(
            "--verify", action="store_true", help="print whether every byte of the table is right, and end"
        )
    parser.add_argument(
        "--grace",
        type=parse_count,
        default=GRACE_S,
        metavar="SECONDS",
        help="after SIGTERM, SIGINT or SIGUSR1, how long classes that are being computed may still take to be "
        f"committed (default: {GRACE_S:g})",
    )
    parser.add_argument(
        "--lease",
        type=parse_count,
        default=LEASE_S,
        metavar="SECONDS",
        help="a rank that is silent for so long is taken for lost; the others go on without it where the launcher "
        f"lets them (default: {LEASE_S:g})",
    )
    parser.add_argument(
        "--disk-timeout",
        type=parse_count,
        default=DISK_TIMEOUT_S,
        metavar="SECONDS",
        help="how long a disk, or the server that it is on, may take to answer before the run ends "
        f"(default: {DISK_TIMEOUT_S})",
    )
    parser.add_argument("--anonymous", action="store_true", help="write into the table neither host nor versions")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser


# ---------------------------------------------------------------------------------------------- what is done


def _compute(team: Team | Alone, n_ranks: int, asked: Computation, options: argparse.Namespace) -> str:
    """Have the table computed; return what is to be said of it."""
    problem = asked.problem()
    fixed, directory = _where(asked, problem, team.n_workers)
    lease_s, disk_timeout_s = options.lease, options.disk_timeout
    team.begin(Orders(problem, fixed, directory, asked.cache_bytes, asked.threads, lease_s, disk_timeout_s))
    provenance = {} if options.anonymous else _provenance(n_ranks, asked)
    frontier_only = asked.keep != KEEP[0]

    def room(partition: Partition, committed: Collection[ClassId]) -> float:
        return SPARE_ROOM * growth(partition, committed, team.n_workers)

    claimed = claim(directory, problem, fixed, provenance, room if frontier_only else None)
    with _by_way_of(team, claimed) as store:
        classes = store.partition.classes
        log.info(
            "%s G=%s classes=%d ranks=%d threads=%d cache=%s store=%s",
            " ".join(f"{key}={value}" for key, value in asked.about.items() if value is not None),
            ",".join(_names(problem, fixed)) or "-", len(classes), n_ranks, asked.threads, asked.cache, directory,
        )  # fmt: skip
        try:
            done = _sound(team, store, frontier_only=frontier_only)
            schedule = asked.schedule(store.partition, done)
            frontier = Frontier(schedule) if frontier_only else None
            with closing(Progress(schedule, store)) as progress:

                def look() -> None:
                    for cls in frontier.passed() if frontier else ():
                        team.tell_disk(partial(store.drop, cls))
                    progress()

                team.run(schedule, look)
                look()
        except YahtzeeClusterError as error:
            if error.ends_at_once:
                team.give_up()
            raise
        finally:
            usage = team.dismiss()
        n_computed = len(classes) - len(done)
        table_sha256 = team.ask_disk(partial(_finished, store), stoppable=False)
        elapsed_s = time.perf_counter() - STARTED
        result = [] if options.json else team.ask_disk(partial(_result, asked, problem, store), stoppable=False)
    if options.json:
        return json.dumps(
            _summary(asked, problem, fixed, n_ranks, usage, elapsed_s, len(classes), n_computed, table_sha256)
        )
    computed = f"{n_computed} computed now" if n_computed else "all there already"
    report = [f"table      {directory}", f"sha256     {table_sha256}", f"classes    {len(classes)}, {computed}"]
    report.append(f"elapsed    {elapsed_s:.2f} s on {n_ranks} rank{'s' * (n_ranks > 1)}, kernel {usage.kernel_s:.2f} s")
    return "\n".join([*report, "", *result]).rstrip("\n")


@contextmanager
def _by_way_of(team: Team | Alone, claimed: AbstractContextManager[Store]) -> Iterator[Store]:
    """A claim that is made, and given up, in the thread that waits for the disk."""
    with ExitStack() as stack:
        stack.callback(partial(_give_up, team, held := ExitStack()))
        yield team.ask_disk(partial(held.enter_context, claimed))


def _give_up(team: Team | Alone, held: ExitStack) -> None:
    with suppress(DiskTimeoutError):  # the next run finds out that nobody holds the table any more
        team.ask_disk(held.close, stoppable=False)


def _finished(store: Store) -> str:
    """The hash of a table that is there, with its own header."""
    store.check_header()
    return store.table_digest


def _result(asked: Computation, problem: Recurrence, store: Store) -> Sequence[str]:
    try:
        return asked.result(problem, store)
    except DroppedError as error:
        return [f"result     {error}"]


def _verify(asked: Computation) -> str:
    """Say what there is to say of a table, or what is wrong with it."""
    problem = asked.problem()
    _, directory = _where(asked, problem, 1)
    header = read_header(directory)
    if header is None or not header.describes(problem):
        raise UsageError(f"{directory}: holds no table of this; leave out --verify, and it is computed")
    return verify(problem, Store.of(directory, problem, header.fixed)).report()


def _where(asked: Computation, problem: Recurrence, n_workers: int) -> tuple[int, Path]:
    """The fixed set and the directory; a table that was begun keeps its fixed set, unless another one is asked for."""
    if asked.G == AUTO and asked.store is not None:
        header = read_header(directory := table_path(asked.store))
        if header is not None and header.elements == problem.element_names:
            check_fits(asked, problem, header.fixed, Scales(problem))
            return header.fixed, directory
    fixed = fixed_set(asked, problem, n_workers)
    return fixed, asked.directory(fixed)


def _sound(team: Team | Alone, store: Store, *, frontier_only: bool) -> Sequence[ClassId]:
    """The classes that need not be computed again; what is damaged goes, and what was dropped and is needed."""
    committed, dropped = team.ask_disk(lambda: (store.committed, store.dropped))
    sound = team.check(store, [cls for cls in committed if cls not in dropped])
    if not committed:
        return []
    done, users = set(sound), _users(store.partition)
    sealed = team.ask_disk(lambda: {cls for cls in dropped if store.has_digest(cls)}) if frontier_only else set()
    for cls in reversed(committed):  # whoever reads it comes after it
        if cls in sealed and users[cls] and done.issuperset(users[cls]):
            done.add(cls)
    for cls in set(committed) - done:
        if cls not in dropped:
            log.warning("class %s is damaged and will be computed again", store.place(cls).name)
        team.ask_disk(partial(store.remove, cls))
    again = len(dropped - done)
    log.info("found=%d damaged=%d dropped=%d", len(done), len(committed) - len(done) - again, again)
    return sorted(done)


def _users(partition: Partition) -> dict[ClassId, list[ClassId]]:
    users: dict[ClassId, list[ClassId]] = {cls: [] for cls in partition.classes}
    for cls in partition.classes:
        for other in partition.dependencies(cls):
            users[other].append(cls)
    return users


def _provenance(n_ranks: int, asked: Computation) -> dict[str, Any]:
    """Who began the table, with what, and when."""
    return {
        "program": f"yahtzee_cluster {__version__}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi": library_version(),
        "host": platform.node(),
        "ranks": n_ranks,
        "threads": asked.threads,
        "cache": asked.cache,
        **asked.provenance,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }


# ------------------------------------------------------------------------------------------- what is said


def _names(problem: Recurrence, fixed: int) -> list[str]:
    return [name for i, name in enumerate(problem.element_names) if fixed >> i & 1]


def _summary(
    asked: Computation,
    problem: Recurrence,
    fixed: int,
    n_ranks: int,
    usage: Usage,
    elapsed_s: float,
    n_classes: int,
    n_computed: int,
    sha256: str,
) -> dict[str, Any]:
    own_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        **asked.about,
        "G": _names(problem, fixed),
        "classes": n_classes,
        "classes_computed": n_computed,
        "ranks": n_ranks,
        "threads": asked.threads,
        "elapsed_s": elapsed_s,
        "kernel_s": usage.kernel_s,
        "read_s": usage.read_s,
        "write_s": usage.write_s,
        "idle_s": usage.idle_s,
        "bytes_read": usage.bytes_read,
        "bytes_written": usage.bytes_written,
        "cache_peak_bytes": usage.cache_peak_bytes,
        "rss_peak_bytes": max(usage.rss_peak_bytes, own_rss),
        "table_sha256": sha256,
    }
