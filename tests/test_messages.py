"""What ranks say to each other, from inside: `test_cluster.py` starts this file on three ranks."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from toy import Tours

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.runtime.cluster import (
    IDLE_LONGEST_S,
    MASTER,
    Failed,
    Farewell,
    Leaving,
    Outbox,
    Ready,
    Stop,
    Team,
    WorkerFailedError,
    meet,
    receive,
    receive_now,
    run_worker,
    world,
)
from yahtzee_cluster.runtime.executor import Crew, Usage
from yahtzee_cluster.runtime.serial import Alone
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.supervisor import Note
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.store import Store

pytestmark = pytest.mark.mpi(min_size=3)


@dataclass(frozen=True)
class NoCrew:
    """Orders that nobody can follow."""

    lease_s: float = 30
    disk_timeout_s: float = 300
    directory: Path = Path("nowhere")

    def crew(self, _: int) -> Crew:
        """There is none."""
        raise LookupError("no crew to be had here")


def on_ranks(master: Callable[[Team], None]) -> None:
    """One side does as told, the other is the real worker, whose crew cannot be made."""
    comm = world()
    if comm.rank == MASTER:
        team = Team(comm, StopRequest())
        master(team)
        team.part()
    else:
        run_worker(comm, lambda orders: orders.crew(comm.rank), StopRequest(), "a rank", Note())


def test_messages_arrive_in_order() -> None:
    """Whatever is sent arrives once, from whom it came, in the order in which each rank sent it."""
    comm = world()
    if comm.rank == MASTER:
        received = [receive(comm, IDLE_LONGEST_S) for _ in range(10 * (comm.size - 1))]
        for rank in range(1, comm.size):
            assert [text for source, text in received if source == rank] == [f"{rank}:{n}" for n in range(10)]
    else:
        for n in range(10):
            comm.send(f"{comm.rank}:{n}", MASTER)
    meet(comm)
    assert receive_now(comm) is None


def test_waiting_burns_no_core() -> None:
    """A rank that waits for a message, or for the others to leave, takes less than a twentieth of a core."""
    comm = world()
    started, cpu = time.perf_counter(), time.process_time()
    if comm.rank == MASTER:
        time.sleep(2)
        for rank in range(1, comm.size):
            comm.send(Stop(), rank)
    elif comm.rank == 1:
        receive(comm, IDLE_LONGEST_S)
    meet(comm)
    if comm.rank == 2:
        receive(comm, IDLE_LONGEST_S)
    waited_s, used_s = time.perf_counter() - started, time.process_time() - cpu
    assert waited_s > 1.9
    assert used_s < 0.05 * waited_s


def test_dismissed_before_anything_began() -> None:
    """Workers that were never given orders leave when they are told to, and have spent nothing."""

    def master(team: Team) -> None:
        assert team.dismiss() == team.dismiss() == Usage()

    on_ranks(master)


def test_a_worker_that_cannot_start() -> None:
    """A worker without a crew says so with its reason, and all of them still leave."""

    def master(team: Team) -> None:
        team.begin(NoCrew())
        with pytest.raises(WorkerFailedError, match=r"rank [12] on .*: LookupError: no crew to be had here; what was"):
            team.check(Store(Path("nowhere"), Partition(3, 0), b"", "a run"), [ClassId(0)])
        team.dismiss()

    on_ranks(master)


def test_failures_carry_what_happened() -> None:
    """The master hears of the host, the reason and the whole story of a failure."""
    comm = world()
    if comm.rank == MASTER:
        for rank in range(1, comm.size):
            comm.send(NoCrew(), rank)
        for _ in range(1, comm.size):
            _, failed = receive(comm, IDLE_LONGEST_S)
            assert isinstance(failed, Failed)
            assert "in crew" in failed.details
            assert failed.host
        for rank in range(1, comm.size):
            comm.send(Stop(), rank)
        for _ in range(1, comm.size):
            assert isinstance(receive(comm, IDLE_LONGEST_S)[1], Leaving)
        for rank in range(1, comm.size):
            comm.send(Farewell(), rank)
        meet(comm)
    else:
        run_worker(comm, lambda orders: orders.crew(comm.rank), StopRequest(), "a rank", Note())


@dataclass(frozen=True)
class Toy:
    """Orders to work on a small table."""

    directory: Path
    lease_s: float = 1
    disk_timeout_s: float = 300

    def crew(self, rank: int) -> Crew:
        """The crew of one rank."""
        return Crew(Tours(), Store.of(self.directory, Tours(), 0b11), 1 << 24, number=rank)


class FailsLate(Crew):
    """A crew that fails when it is told to stop."""

    def stop(self) -> None:
        """Fail."""
        raise OSError("too late")


@dataclass(frozen=True)
class Late(Toy):
    """Orders for such crews."""

    def crew(self, rank: int) -> Crew:
        """One that fails late."""
        return FailsLate(Tours(), Store.of(self.directory, Tours(), 0b11), 1 << 24, number=rank)


def test_nothing_is_said_after_leaving() -> None:
    """A worker that has left is silent, however long the others take: MPI does not end with a message on its way."""
    lease_s = 2

    def master(team: Team) -> None:
        team.begin(NoCrew(lease_s))
        team.dismiss()
        time.sleep(lease_s / 2)

    on_ranks(master)
    assert receive_now(world()) is None


def test_failing_after_the_end(tmp_path: Path) -> None:
    """A worker that fails when it was dismissed already leaves all the same."""

    def master(team: Team) -> None:
        team.begin(Late(tmp_path, lease_s=30))
        team.dismiss()

    on_ranks(master)


def test_sending_waits_for_nobody() -> None:
    """Thousands of messages to a rank that takes none are sent at once, and arrive when it does."""
    comm = world()
    n_messages = 1200
    if comm.rank == MASTER:
        outbox, began = Outbox(comm), time.monotonic()
        for n in range(n_messages):
            outbox.send(n, 1)
        assert time.monotonic() - began < 5
    meet(comm)
    if comm.rank == 1:
        assert [receive(comm, IDLE_LONGEST_S) for _ in range(n_messages)] == [(MASTER, n) for n in range(n_messages)]
        comm.send("all", MASTER)
        assert receive(comm, IDLE_LONGEST_S) == (MASTER, "thanks")
    if comm.rank == MASTER:
        while receive_now(comm) != (1, "all"):
            pass
        outbox.send("thanks", 1)
    meet(comm)


def test_lost_before_anything_is_computed(tmp_path: Path) -> None:
    """A worker that joins and falls silent while classes are checked is given nothing, neither to check nor to do."""
    comm = world()
    if comm.rank == MASTER:
        team, toy = Team(comm, StopRequest()), Toy(tmp_path)
        alone = Alone(StopRequest())
        with claim(tmp_path, Tours(), 0b11, {}) as store:
            alone.begin(toy)
            alone.check(store, [])
            alone.run(Schedule.of(store.partition), lambda: None)
            alone.dismiss()
            for cls in store.partition.classes[5:]:
                store.remove(cls)
            team.begin(toy)
            assert sorted(team.check(store, store.committed)) == sorted(store.partition.classes[:5])
            team.run(Schedule.of(store.partition, store.committed), lambda: None)
            assert team.dismiss().n_computed == len(store.partition.classes) - 5
        assert team.broken
        team.part()
    elif comm.rank == 1:
        receive(comm, IDLE_LONGEST_S)
        comm.send(Ready("somewhere", frozenset({0})), MASTER)
        meet(comm)
    else:
        run_worker(comm, lambda orders: orders.crew(comm.rank), StopRequest(), "a rank", Note())
    while receive_now(comm):
        pass


def test_a_disk_that_is_slower_than_the_lease(tmp_path: Path) -> None:
    """While the master waits for the disk, for longer than the lease, workers hear of it, and it hears them."""

    def master(team: Team) -> None:
        team.begin(Toy(tmp_path, lease_s=1))
        assert team.ask_disk(partial(slow_answer, 6)) == "answer"
        with claim(tmp_path, Tours(), 0b11, {}) as store:
            team.check(store, [])
            team.tell_disk(partial(time.sleep, 1.5))
            assert team.ask_disk(partial(slow_answer, 1.5)) == "answer"
            schedule = Schedule.of(store.partition)
            team.run(schedule, lambda: None)
            assert team.dismiss().n_computed == len(store.partition.classes)
        assert not team.broken

    on_ranks(master)


def slow_answer(seconds: float) -> str:
    time.sleep(seconds)
    return "answer"
