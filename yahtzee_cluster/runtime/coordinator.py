"""The master of a run on many ranks: passes events to the schedule and its instructions to the workers.

A worker that is dead, or silent for longer than its lease, is lost; the run continues without it, if its launcher lets
the other ranks live.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Event, Instruction, Joined, Left, Schedule
from yahtzee_cluster.errors import RESUMES, UsageError, YahtzeeClusterError
from yahtzee_cluster.runtime.disk import Disk
from yahtzee_cluster.runtime.heartbeat import CLAIM_TIMES, LEASE_S, Leases
from yahtzee_cluster.runtime.messages import (
    CheckClasses,
    Checked,
    DiskAnswered,
    Failed,
    Farewell,
    Heartbeat,
    LeaseExpired,
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
from yahtzee_cluster.runtime.mpi import MASTER, MASTER_LONGEST_S, Outbox, Ranks, UnreachableError, barrier, receive
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.storage.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")


class WorkerFailedError(YahtzeeClusterError):
    """A worker has failed."""

    def __init__(self, rank: int, failed: Failed) -> None:
        super().__init__(rank, failed)
        self.rank = rank
        self.failed = failed
        self.exit_code = failed.exit_code
        self.ends_at_once = failed.ends_at_once

    def __str__(self) -> str:
        says_it_all = self.exit_code == UsageError.exit_code or self.ends_at_once
        what_now = "" if says_it_all else f"; {RESUMES}"
        return f"rank {self.rank} on {self.failed.host}: {self.failed.problem}{what_now}"


class Coordinator:
    """Backend of the master: sends instructions to the workers, receives their reports, checks their leases."""

    def __init__(self, comm: Ranks, request: StopRequest) -> None:
        self._comm = comm
        self._outbox = Outbox(comm)
        self._request = request
        self._leases = Leases(range(1, comm.size))
        self._left: list[int] = []
        self._disk: Disk | None = None
        self._store: Store | None = None
        self._lease_s = LEASE_S
        self._joined: list[Joined] = []
        self._postponed: deque[tuple[int, ToMaster]] = deque()
        self._usage: Usage | None = None
        self.n_workers = comm.size - 1
        self._broken = False

    @property
    def broken(self) -> bool:
        """Whether a worker will miss the final barrier, or a call to the disk has not returned."""
        return self._broken or (self._disk is not None and not self._disk.is_idle)

    def begin(self, setup: Setup) -> None:
        """Send the setup to all workers."""
        self._disk = Disk(setup.directory, setup.disk_timeout_s)
        self._lease_s = self._leases.lease_s = setup.lease_s
        self._leases.limit_s = CLAIM_TIMES * setup.lease_s
        self._send_all(setup)

    def wait_for_disk(self, work: Callable[[], T], *, stoppable: bool = True) -> T:
        """Call `work` in the disk's thread; messages that arrive meanwhile are queued."""
        assert self._disk
        future, disk = self._disk.begin(work), self._disk

        def meanwhile() -> None:
            disk.check()
            if stoppable:
                self._request.check()

        while not future.done():
            rank, message = self._receive_new(meanwhile, future.done)
            if not isinstance(message, DiskAnswered):
                self._postponed.append((rank, message))
        return future.result()

    def begin_on_disk(self, work: Callable[[], object]) -> None:
        """Call `work` in the disk's thread, without waiting for it."""
        assert self._disk
        self._disk.begin(work)

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Distribute classes among workers to be checked; each worker verifies that it sees the claimed directory."""
        assert self._disk
        self._disk.watch(store)
        self._store = store
        self._leases = Leases(self._leases.holders, self._lease_s)
        sound: list[ClassId] = []
        asked = self._share_out(classes)
        while asked:
            rank, events = self._next_events()
            if events is None:
                asked |= self._share_out([cls for cls, other in asked.items() if other == rank])
                continue
            for event in events:
                if isinstance(event, Checked):
                    asked.pop(event.cls, None)
                    sound += [event.cls] if event.is_sound else []
                elif isinstance(event, Joined):
                    self._joined.append(event)
        return sound

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Pass events to the schedule, and its instructions to the workers, until every class is on disk."""
        self._handle(schedule, [event for event in self._joined if event.worker in self._leases.holders])
        while not schedule.finished:
            rank, events = self._next_events(show)
            self._handle(schedule, [self._departure(rank, schedule)] if events is None else events)

    def dismiss(self) -> Usage:
        """Stop all workers, and wait for their usage within the grace period."""
        if self._usage is None:
            self._usage = Usage()
            if self._disk:
                self._disk.watch(None)
            self._send_all(Stop())

            def meanwhile() -> None:
                self._request.check_time()
                with suppress(YahtzeeClusterError):  # an error that ends the run has been raised before
                    if self._disk:
                        self._disk.check()

            with suppress(TimeoutError):
                while self._leases.holders:
                    rank, message = self._receive(meanwhile)
                    if isinstance(message, Leaving):
                        self._usage += message.usage
                        self._leases.drop(rank)
                        self._left.append(rank)
            self._broken |= bool(self._leases.holders)
        return self._usage

    def give_up(self) -> None:
        """From here on, do not wait for any worker."""
        self._usage, self._broken = self._usage or Usage(), True

    def leave(self) -> None:
        """Enter the final barrier with all workers."""
        for rank in self._left:
            self._outbox.send(Farewell(), rank)
        barrier(self._comm, self._leases.limit_s)

    def _share_out(self, classes: Sequence[ClassId]) -> dict[ClassId, int]:
        """Send each worker its share of classes to check; return which worker has which."""
        assert self._store
        ranks = self._leases.holders
        for n, rank in enumerate(ranks):
            self._send(rank, CheckClasses(tuple(classes[n :: len(ranks)]), self._store.run.token))
        return {cls: rank for n, rank in enumerate(ranks) for cls in classes[n :: len(ranks)]}

    def _handle(self, schedule: Schedule, events: Sequence[Event | Checked]) -> None:
        work: dict[int, list[Instruction]] = {}
        for event in events:
            assert not isinstance(event, Checked)
            for instruction in schedule.handle(event):
                work.setdefault(instruction.worker, []).append(instruction)
        for rank, instructions in work.items():
            self._send(rank, Work(tuple(instructions)))

    def _next_events(self, show: Callable[[], None] = lambda: None) -> tuple[int, Sequence[Event | Checked] | None]:
        """The next events and their worker, or None and a worker that is lost; raises whatever ends the run."""
        while True:
            match self._receive(partial(self._check_run, show)):
                case rank, Failed() as failed:
                    if failed.traceback:
                        log.error("rank %d on %s:\n%s", rank, failed.host, failed.traceback)
                    raise WorkerFailedError(rank, failed)
                case rank, LeaseExpired():
                    if not self._leases.holders:
                        raise UnreachableError(f"no worker is left; {RESUMES}")
                    return rank, None
                case rank, StopRequested(by):
                    self._request.take(f"{by} at rank {rank}")
                case rank, Ready(host, cores):
                    return rank, [Joined(rank, host, cores)]
                case rank, Report(events):
                    return rank, events

    def _check_run(self, show: Callable[[], None]) -> None:
        """Raise a request to stop, or an error of the disk; show progress."""
        self._request.check()
        if self._disk:
            self._disk.check()
        show()

    def _receive(self, meanwhile: Callable[[], None]) -> tuple[int, ToMaster]:
        """The next message of a worker that is not lost; LeaseExpired is the last one of a worker."""
        return self._postponed.popleft() if self._postponed else self._receive_new(meanwhile)

    def _receive_new(
        self, meanwhile: Callable[[], None], is_answered: Callable[[], bool] = lambda: False
    ) -> tuple[int, ToMaster]:
        """The next message to arrive, or DiskAnswered."""

        def poll() -> tuple[int, ToMaster] | None:
            meanwhile()
            return (MASTER, DiskAnswered()) if is_answered() else self._check_leases()

        while True:
            rank, message = receive(self._comm, MASTER_LONGEST_S, poll)
            if rank in self._leases.holders or isinstance(message, LeaseExpired | DiskAnswered):
                self._leases.renew(rank)
                return rank, message

    def _check_leases(self) -> tuple[int, ToMaster] | None:
        """Send heartbeats that are due; report a worker whose lease has expired, or that is known to be dead."""
        if self._leases.heartbeat_due():
            for rank in (*self._leases.holders, *self._left):  # workers that have left wait for the farewell
                self._outbox.send(Heartbeat(), rank)
        lost, why = self._leases.expired(), f"has said nothing for {self._leases.limit_s:g} s"
        if lost is None:
            lost, why = self._dead(), "is dead"
        if lost is None:
            return None
        log.error("rank %d %s: it is lost", lost, why)
        self._broken = True
        return lost, LeaseExpired()

    def _dead(self) -> int | None:
        """A worker that has a tombstone, or None."""
        dead = [rank for rank in (self._disk.dead if self._disk else ()) if rank in self._leases.holders]
        if not dead:
            return None
        self._leases.drop(dead[0])
        return dead[0]

    def _departure(self, rank: int, schedule: Schedule) -> Event:
        """The event for a lost worker; it may have committed classes without being able to report them."""
        store = self._store
        assert store
        begun, on_disk = schedule.unfinished(rank), set(self.wait_for_disk(lambda: store.committed))
        for cls in begun:
            fate = "was committed" if cls in on_disk else "is given to another"
            log.warning("class %s %s", store.place(cls).name, fate)
        return Left(rank, tuple(cls for cls in begun if cls in on_disk))

    def _send_all(self, message: ToWorker) -> None:
        for rank in self._leases.holders:
            self._send(rank, message)

    def _send(self, rank: int, message: ToWorker) -> None:
        if rank in self._leases.holders:
            self._outbox.send(message, rank)
