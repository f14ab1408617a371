"""A worker of a run on many ranks: receives messages, drives its executor, reports events."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable

from yahtzee_cluster.errors import RESUMES, YahtzeeClusterError
from yahtzee_cluster.runtime.executor import Executor
from yahtzee_cluster.runtime.heartbeat import CLAIM_TIMES, LEASE_S, Leases
from yahtzee_cluster.runtime.messages import (
    CheckClasses,
    Failed,
    Farewell,
    Heartbeat,
    Leaving,
    Ready,
    Report,
    Setup,
    Stop,
    StopRequested,
    ToMaster,
    ToWorker,
    Work,
)
from yahtzee_cluster.runtime.mpi import (
    IDLE_LONGEST_S,
    MASTER,
    SHORTEST_S,
    SOLVING_LONGEST_S,
    Outbox,
    Ranks,
    UnreachableError,
    barrier,
    receive,
    receive_now,
)
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.supervisor import CrashNote
from yahtzee_cluster.runtime.usage import Usage


class MasterLink:
    """A worker's side of the exchange with the master."""

    def __init__(self, comm: Ranks, request: StopRequest) -> None:
        self._comm = comm
        self._outbox = Outbox(comm)
        self._request = request
        self._has_forwarded_request = False
        self._is_stopped = False
        self._has_left = False
        self._lease_s = LEASE_S
        self._leases = Leases([MASTER])

    def setup(self) -> Setup | Stop:
        """Wait for the first message."""
        setup: Setup | Stop = receive(self._comm, IDLE_LONGEST_S)[1]
        self._is_stopped = isinstance(setup, Stop)
        if not isinstance(setup, Stop):
            self._lease_s = self._leases.lease_s = setup.lease_s
            self._leases.limit_s = CLAIM_TIMES * setup.lease_s
        return setup

    def send(self, message: ToMaster) -> None:
        """Send a message to the master."""
        self._outbox.send(message, MASTER)

    def receive(self) -> ToWorker | None:
        """The next message of the master, or None if none is there."""
        self._keep_alive()
        received = receive_now(self._comm)
        if received is None:
            return None
        message: ToWorker = received[1]
        self._leases.renew(MASTER)
        self._leases.limit_s = self._lease_s
        self._is_stopped |= isinstance(message, Stop)
        return message

    def leave(self, usage: Usage) -> None:
        """When told to stop, report the usage; on the farewell, enter the final barrier."""
        self._wait_for(Stop)
        self.send(Leaving(usage))
        self._has_left = True  # the master receives no more, and MPI does not finalize with a message in flight
        self._wait_for(Farewell)
        barrier(self._comm, 2 * self._leases.limit_s)  # twice, so that the master reports a missing rank first

    def _wait_for(self, kind: type[Stop | Farewell]) -> None:
        while not (self._is_stopped and kind is Stop):
            if isinstance(self.receive(), kind):
                return
            time.sleep(IDLE_LONGEST_S)

    def _keep_alive(self) -> None:
        """Send a heartbeat if one is due, forward a request to stop; raise if the master's lease has expired."""
        if self._leases.heartbeat_due() and not self._has_left:
            self.send(Heartbeat())
        if self._request.by and not self._has_forwarded_request and not self._has_left:
            self._has_forwarded_request = True
            self.send(StopRequested(self._request.by))
        if self._leases.expired() is not None:
            raise UnreachableError(f"rank {MASTER} has said nothing for {self._leases.limit_s:g} s; {RESUMES}")


def run_worker(
    comm: Ranks, executor_of: Callable[[Setup], Executor], request: StopRequest, name: str, note: CrashNote
) -> None:
    """Run a worker until the master's Farewell; its crash note always has `name` and what the rank is doing."""
    link = MasterLink(comm, request)
    usage = Usage()
    try:
        setup = link.setup()
        if not isinstance(setup, Stop):
            executor = executor_of(setup)
            link.send(Ready(socket.gethostname(), frozenset(os.sched_getaffinity(0))))
            try:
                _work(link, executor, name, note)
            finally:
                usage = executor.usage
                executor.close()
    except UnreachableError:
        raise
    except Exception as error:  # the master must learn of any error
        link.send(_failure(error))
    link.leave(usage)


def _work(link: MasterLink, executor: Executor, name: str, note: CrashNote) -> None:
    """Pass messages to the executor and its events to the master, until there is nothing left to do."""
    pause, stopping = SHORTEST_S, False
    while not (stopping and executor.is_idle):
        while message := link.receive():
            pause = SHORTEST_S
            match message:
                case Stop():
                    stopping = True
                    executor.stop()
                case CheckClasses(classes, run):
                    executor.join(run)
                    note.set_tombstone(executor.tombstone)
                    for cls in classes:
                        executor.check(cls)
                case Work(instructions):
                    for instruction in instructions:
                        executor.handle(instruction)
        note.identify(f"{name}, {executor.doing},")
        pause = min(2 * pause, SOLVING_LONGEST_S if executor.worker.solving else IDLE_LONGEST_S)
        if events := executor.wait(pause):
            link.send(Report(tuple(events)))
            pause = SHORTEST_S


def _failure(error: Exception) -> Failed:
    host, story = socket.gethostname(), "".join(traceback.format_exception(error))
    if not isinstance(error, YahtzeeClusterError):
        return Failed(host, f"{type(error).__name__}: {error}", story)
    is_expected = isinstance(error.__cause__, OSError | YahtzeeClusterError | None)
    return Failed(host, str(error), "" if is_expected else story, error.exit_code, error.ends_at_once)
