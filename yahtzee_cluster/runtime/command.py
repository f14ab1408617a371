"""The command that computes a table, for any problem, with or without mpirun: flags, processes, exit codes.

Results go to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NoReturn

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.output import Parser, open_streams, print_result
from yahtzee_cluster.progress import showing_progress
from yahtzee_cluster.runtime.backend import Backend
from yahtzee_cluster.runtime.computing import compute
from yahtzee_cluster.runtime.configuration import Computation, parse_bytes
from yahtzee_cluster.runtime.coordinator import Coordinator
from yahtzee_cluster.runtime.costs import costs_of
from yahtzee_cluster.runtime.environment import launched_ranks
from yahtzee_cluster.runtime.executor import ClassFailedError, Executor
from yahtzee_cluster.runtime.flags import add_cache, add_run
from yahtzee_cluster.runtime.messages import Setup
from yahtzee_cluster.runtime.mpi import MASTER, Ranks, UnreachableError, finalize, is_finalized, library_version, world
from yahtzee_cluster.runtime.plan_output import as_json, as_text
from yahtzee_cluster.runtime.planner import make_plan
from yahtzee_cluster.runtime.resume import where
from yahtzee_cluster.runtime.serial import SingleProcess
from yahtzee_cluster.runtime.signals import StopRequest, end_quietly_on_interrupt
from yahtzee_cluster.runtime.summary import provenance
from yahtzee_cluster.runtime.supervisor import CrashNote, supervised
from yahtzee_cluster.runtime.worker_loop import run_worker
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.storage.verification import verify

log = logging.getLogger("yahtzee_cluster")

STARTED = time.perf_counter()
FORWARDED_S = 0.5
"""Delay before an abort: launchers forward the output of ranks, and may lose what they have not read by then."""


@dataclass(frozen=True)
class Command:
    """A kind of computation, and the program that runs it."""

    kind: type[Computation]
    program: str
    example: str
    complete: bool = False
    """Whether the program has --plan and --verify as well."""


def main(command: Command, arguments: Sequence[str] | None = None, note: CrashNote | None = None) -> int:
    """Run one computation on all ranks; return the exit code."""
    open_streams()
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, stream=sys.stderr)
    try:
        comm = world()  # before this, signals have their default action: nothing has been begun
    except YahtzeeClusterError as error:
        return _refuse(command, error)
    request = StopRequest()
    request.listen()
    note = note or CrashNote()
    name = f"{command.program}: rank {comm.rank} on {platform.node()}"
    try:
        if comm.rank == MASTER:
            note.identify(f"{name}, the master,")
            return _run_master(command, comm, request, arguments)
        run_worker(comm, lambda setup: Executor.of(_with_own_cache(setup, arguments), comm.rank), request, name, note)
        request.ignore()
        finalize()
        return 0
    except YahtzeeClusterError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return _abort(comm, error.exit_code)
    except BaseException:
        log.exception("%s", name)
        return _abort(comm, 1)


def run(command: Command, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run this command, and exit with its code."""
    end_quietly_on_interrupt()  # until StopRequest.listen
    if launched_ranks():
        supervised(lambda note: main(command, arguments, note))
    raise SystemExit(main(command, arguments))


def start(kind: type[Computation], example: str = "") -> NoReturn:
    """Run the command of a computation of your own, which also plans and verifies; call it from `__main__`.

    The program prints its results and ends. With `Assignment`, the example of `Computation`, in `cheapest.py`:

    >>> sys.argv = ["cheapest.py", "--store", "cheapest", "--G", "Ann"]
    >>> yc.start(Assignment, "mpirun -n 3 python cheapest.py")
    Traceback (most recent call last):
    SystemExit: 0
    """
    run(Command(kind, f"python {sys.argv[0]}", example, complete=True))


def _run_master(command: Command, comm: Ranks, request: StopRequest, arguments: Sequence[str] | None) -> int:
    backend: Backend = Coordinator(comm, request) if comm.size > 1 else SingleProcess(request)
    try:
        with showing_progress(log.info):
            result = _execute(command, backend, comm.size, request, arguments)
    finally:
        backend.dismiss()
    has_left = not backend.broken and _leave_together(backend)
    request.ignore()
    if has_left:
        finalize()
    # Printed last: no rank waits for a slow reader.
    code = print_result(command.program, result) if isinstance(result, str) else result
    return code if has_left else _abort(comm, code)


def _execute(
    command: Command, backend: Backend, n_ranks: int, request: StopRequest, arguments: Sequence[str] | None
) -> str | int:
    """Execute the command line; return the text to print, or an exit code."""
    parser = Parser(prog=command.program)
    add_run(parser, command.kind, command.example, complete=command.complete)
    try:
        options = parser.parse_args(arguments)
    except SystemExit as end:  # raised by argparse for wrong usage and for --help
        return int(end.code or 0)
    try:
        request.grace_s = options.grace
        asked = command.kind.of(options)
        if command.complete and options.plan is not None:
            return _plan(asked, options.plan, as_object=options.json)
        if command.complete and options.verify:
            return _verify(asked, as_object=options.json)
        summary, result = compute(
            backend,
            n_ranks,
            asked,
            started=STARTED,
            lease_s=options.lease,
            disk_timeout_s=options.disk_timeout,
            provenance={} if options.anonymous else provenance(asked, n_ranks, library_version()),
            with_result=not options.json,
        )
        return summary.as_json() if options.json else summary.as_text(result)
    except YahtzeeClusterError as error:
        return _refuse(command, error)


def _plan(asked: Computation, n_ranks: int, *, as_object: bool) -> str:
    problem = asked.problem()
    plan = make_plan(asked, problem, n_ranks, costs_of(asked, problem))
    return json.dumps(as_json(plan)) if as_object else "\n".join(as_text(plan))


def _verify(asked: Computation, *, as_object: bool) -> str:
    """Verify a table; return the report, or raise UnsoundError."""
    problem = asked.problem()
    _, directory = where(asked, problem, 1)
    header = read_header(directory)
    if header is None or not header.describes(problem):
        raise UsageError(f"{directory}: there is no table of this; run it without --verify to compute one")
    verdict = verify(problem, Store.of(directory, problem, header.fixed))
    verdict.check()
    return json.dumps(asdict(verdict)) if as_object else verdict.report()


def _leave_together(backend: Backend) -> bool:
    """Enter the final barrier; return whether all ranks came."""
    try:
        backend.leave()
    except UnreachableError as error:
        log.error("%s", error)  # noqa: TRY400  # a traceback would add nothing
        return False
    return True


def _with_own_cache(setup: Setup, arguments: Sequence[str] | None) -> Setup:
    """The master's setup, with the --cache of this rank's own command line if it has one: hosts may differ."""
    parser = Parser(add_help=False)
    add_cache(parser)
    try:
        own = parser.parse_known_args(arguments)[0].cache
    except SystemExit:  # the parser has printed why
        raise UsageError("cannot make sense of its own command line") from None
    return setup if own is None else replace(setup, cache_bytes=parse_bytes(own))


def _abort(comm: Ranks, code: int) -> int:
    """Exit without the barrier; MPI_Abort ends ranks that are still running."""
    sys.stdout.flush()
    sys.stderr.flush()
    if not is_finalized() and comm.size > 1:
        time.sleep(FORWARDED_S)
        comm.Abort(code)
    os._exit(code)


def _refuse(command: Command, error: YahtzeeClusterError) -> int:
    if isinstance(error, ClassFailedError) and not isinstance(error.__cause__, OSError | YahtzeeClusterError):
        log.error("an exception in the solver", exc_info=error.__cause__)
    print(f"{command.program}: {error}", file=sys.stderr)
    return error.exit_code
