"""`python -m yahtzee_cluster.run`: compute a table, with or without mpirun in front.

Results go to stdout, progress and complaints to stderr.
"""

from __future__ import annotations

import os
import signal

# Nothing here multiplies matrices, and threads that wait for that cost each rank time and memory.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if __name__ == "__main__":  # until a request to stop can be taken, Ctrl-C ends the process, without a story
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import json
import logging
import platform
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from yahtzee_cluster import __version__
from yahtzee_cluster.cluster import (
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
from yahtzee_cluster.crew import Crew, Usage
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.forecast import Scales, needed_bytes
from yahtzee_cluster.guard import Note, guarded
from yahtzee_cluster.job import (
    AUTO,
    Job,
    add_flags,
    check_fits,
    fixed_set,
    job_of,
    megabytes,
    parse_bytes,
    parse_count,
)
from yahtzee_cluster.kernels.turn import instruction_sets
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.output import Parser, open_streams, say
from yahtzee_cluster.partition import ClassId
from yahtzee_cluster.progress import Progress
from yahtzee_cluster.recurrence import Recurrence
from yahtzee_cluster.rules import Rules, load_rules
from yahtzee_cluster.schedule import Schedule
from yahtzee_cluster.serial import Alone
from yahtzee_cluster.stopping import StopRequest
from yahtzee_cluster.store import Store, claim, read_header
from yahtzee_cluster.table import Table
from yahtzee_cluster.watch import LEASE_S

log = logging.getLogger("yahtzee_cluster")
STARTED = time.perf_counter()
PROGRAM = "python -m yahtzee_cluster.run"
GRACE_S = 30.0
FORWARDED_S = 0.5
"""Launchers forward what was printed; when a job is aborted they may lose what they have not read by then."""


@dataclass(frozen=True)
class Orders:
    """All that a worker needs to know before it can do anything."""

    objective: str
    rules: Rules
    target: int
    fixed: int
    directory: Path
    cache_bytes: int
    n_threads: int
    lease_s: float

    def crew(self, rank: int) -> Crew:
        """The one that works on it on this rank."""
        problem = OBJECTIVES[self.objective](self.rules, self.target)
        partition = problem.partition(self.fixed)
        needed = needed_bytes(partition)
        if needed > self.cache_bytes:  # other hosts may have more
            raise UsageError(f"--cache is too small here: a class of this table needs {megabytes(needed)}")
        return Crew(problem, Store(self.directory, partition), self.cache_bytes, self.n_threads, rank)


def main(arguments: Sequence[str] | None = None, note: Note | None = None) -> int:
    """Run one job, on all ranks that there are; return the exit code."""
    open_streams()
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, stream=sys.stderr)
    try:
        comm = world()  # until then, signals end a rank as they end any program: nothing has been begun
    except YahtzeeClusterError as error:
        return _refuse(error)
    request = StopRequest()
    request.listen()
    note = note or Note()
    name = f"{PROGRAM}: rank {comm.rank} on {platform.node()}"
    try:
        if comm.rank == MASTER:
            note.identify(f"{name}, the master,")
            return _lead(comm, request, arguments)
        run_worker(comm, lambda orders: _own(orders, arguments).crew(comm.rank), request, name, note)
        request.listen_no_more()
        finish()
        return 0
    except YahtzeeClusterError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return _leave_alone(comm, error.exit_code)
    except BaseException:
        log.exception("%s", name)
        return _leave_alone(comm, 1)


def _lead(comm: Ranks, request: StopRequest, arguments: Sequence[str] | None) -> int:
    team = Team(comm, request) if comm.size > 1 else Alone(request)
    try:
        result = _execute(team, comm.size, request, arguments)
    finally:
        team.dismiss()
    have_parted = not team.broken and _part(team)
    request.listen_no_more()
    if have_parted:
        finish()
    code = say(PROGRAM, result) if isinstance(result, str) else result  # nobody waits for a reader who takes his time
    return code if have_parted else _leave_alone(comm, code)


def _execute(team: Team | Alone, n_ranks: int, request: StopRequest, arguments: Sequence[str] | None) -> str | int:
    """Do what the command line says; return what there is to say, or the exit code that comes of it."""
    try:
        options = _parser().parse_args(arguments)
        request.grace_s = options.grace
        return _compute(team, n_ranks, job_of(options), options)
    except SystemExit as end:  # what argparse makes of wrong usage, and of --help
        return int(end.code or 0)
    except YahtzeeClusterError as error:
        return _refuse(error)


def _part(team: Team | Alone) -> bool:
    """Leave together with all others; say whether that was possible."""
    try:
        team.part()
    except AloneError as error:
        log.error("%s", error)  # noqa: TRY400  # its story is of no interest
        return False
    return True


def _own(orders: Orders, arguments: Sequence[str] | None) -> Orders:
    """The master's orders, with this rank's own cache if its command line has one: hosts may differ."""
    try:
        cache = _parser().parse_args(arguments).cache
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


def _refuse(error: YahtzeeClusterError) -> int:
    print(f"{PROGRAM}: {error}", file=sys.stderr)
    return error.exit_code


# ------------------------------------------------------------------------------------------- what is asked


def _parser() -> Parser:
    parser = Parser(
        prog=PROGRAM,
        description="Compute a table, alone or behind mpirun: rank 0 schedules, the others compute. "
        "A run that was interrupted goes on when the same command is given again.",
        epilog="Example: mpirun -n 16 python -m yahtzee_cluster.run --G 5 --target 800. "
        "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 75 stopped on request: run the same command again.",
    )
    add_flags(parser)
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
    parser.add_argument("--anonymous", action="store_true", help="write into the table neither host nor versions")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser


# ---------------------------------------------------------------------------------------------- what is done


def _compute(team: Team | Alone, n_ranks: int, job: Job, options: argparse.Namespace) -> str:
    """Have the job's table computed; return what is to be said of it."""
    rules = load_rules(job.rules)
    problem = OBJECTIVES[job.objective](rules, job.target)
    fixed, directory = _where(job, problem, team.n_workers)
    orders = Orders(job.objective, rules, job.target, fixed, directory, job.cache_bytes, job.threads, options.lease)
    team.begin(orders)
    provenance = {} if options.anonymous else _provenance(n_ranks, job)
    with claim(directory, problem, fixed, provenance) as store:
        classes = store.partition.classes
        log.info(
            "objective=%s rules=%s target=%d G=%s classes=%d ranks=%d threads=%d cache=%s store=%s",
            job.objective, rules.name, job.target, ",".join(_names(problem, fixed)) or "-", len(classes), n_ranks,
            job.threads, job.cache, directory,
        )  # fmt: skip
        try:
            done = _sound(team, store)
            schedule = Schedule.of(store.partition, done, job.threads)
            with closing(Progress(schedule, store)) as progress:
                team.run(schedule, progress)
        finally:
            usage = team.dismiss()
        n_computed = len(classes) - len(done)
        table_sha256 = store.table_digest
    table = Table(directory, problem, fixed)
    elapsed_s = time.perf_counter() - STARTED
    if options.json:
        return json.dumps(
            _summary(job, problem, fixed, n_ranks, usage, elapsed_s, len(classes), n_computed, table_sha256)
        )
    computed = f"{n_computed} computed now" if n_computed else "all there already"
    report = [f"table      {directory}", f"sha256     {table_sha256}", f"classes    {len(classes)}, {computed}"]
    report.append(f"elapsed    {elapsed_s:.2f} s on {n_ranks} rank{'s' * (n_ranks > 1)}, kernel {usage.kernel_s:.2f} s")
    return "\n".join([*report, "", *_result(table)])


def _where(job: Job, problem: Recurrence, n_workers: int) -> tuple[int, Path]:
    """The fixed set and the directory; a table that was begun keeps its fixed set, unless another one is asked for."""
    if job.G == AUTO and job.store is not None:
        header = read_header(Path(job.store))
        if header is not None and header.elements == problem.element_names:
            check_fits(job, problem, header.fixed, Scales(problem))
            return header.fixed, Path(job.store)
    fixed = fixed_set(job, problem, n_workers)
    return fixed, job.directory(problem, fixed)


def _sound(team: Team | Alone, store: Store) -> Sequence[ClassId]:
    """The classes that need not be computed again; what is damaged goes."""
    committed = store.committed
    sound = team.check(store, committed)
    if not committed:
        return []
    for cls in set(committed) - set(sound):
        log.warning("class %s is damaged and will be computed again", store.place(cls).name)
        store.remove(cls)
    log.info("found=%d damaged=%d", len(sound), len(committed) - len(sound))
    return sound


def _provenance(n_ranks: int, job: Job) -> dict[str, Any]:
    """Who began the table, with what, and when."""
    return {
        "program": f"yahtzee_cluster {__version__}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi": library_version(),
        "instruction_set": os.environ.get("YAHTZEE_CLUSTER_ISA") or instruction_sets()[0],
        "host": platform.node(),
        "ranks": n_ranks,
        "threads": job.threads,
        "cache": job.cache,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }


# ------------------------------------------------------------------------------------------- what is said


def _names(problem: Recurrence, fixed: int) -> list[str]:
    return [name for i, name in enumerate(problem.element_names) if fixed >> i & 1]


def _summary(
    job: Job,
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
        "objective": job.objective,
        "rules": job.rules,
        "target": problem.identity.get("target"),
        "G": _names(problem, fixed),
        "classes": n_classes,
        "classes_computed": n_computed,
        "ranks": n_ranks,
        "threads": job.threads,
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


def _result(table: Table) -> list[str]:
    """What people want to know first."""
    rules = table.rules
    if table.objective == "expected":
        mean, std = table.expected_score()
        return [
            f"mean       {mean:.4f}{_beside(rules.published_mean)}",
            f"std        {std:.4f}{_beside(rules.published_std)}",
        ]
    published = dict(rules.published_maxprob if table.objective == "maxprob" else ())
    shown = sorted({*range(0, table.target + 1, 50), table.target})
    beside = {score: f"  {published[score]:>9} %" for score in shown if score in published}
    heading = "  published" if published else ""
    if table.objective == "scores":
        means, deviations = table.score_curve()
        beside = {score: f"  {means[score]:>9.4f}  {deviations[score]:>8.4f}" for score in shown}
        heading = f"  {'mean':>9}  {'std':>8}"
    curve = table.curve()
    lines = [f"{'score':>5}  {'P(score at least)':>18}{heading}"]
    return lines + [f"{score:>5}  {_percent(curve[score]):>16} %{beside.get(score, '')}" for score in shown]


def _percent(p: float) -> str:
    """As the thesis prints it, as long as that shows anything."""
    return f"{100 * p:.6f}" if p == 0 or p >= 1e-5 else f"{100 * p:.6e}"


def _beside(published: str | None) -> str:
    return f"   published {published}" if published else ""


if __name__ == "__main__":
    raise SystemExit(guarded(lambda note: main(note=note)) if launched() else main())
