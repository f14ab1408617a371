"""What ranks say to each other, from inside: `test_run.py` starts this file on three ranks."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from toy import Tours

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.runtime.coordinator import Coordinator, WorkerFailedError
from yahtzee_cluster.runtime.executor import Executor
from yahtzee_cluster.runtime.messages import Failed, Farewell, Leaving, Ready, Setup, Stop
from yahtzee_cluster.runtime.mpi import IDLE_LONGEST_S, MASTER, Outbox, barrier, receive, receive_now, world
from yahtzee_cluster.runtime.serial import SingleProcess
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.supervisor import CrashNote
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.runtime.worker_loop import run_worker
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.store import Store

pytestmark = pytest.mark.mpi(min_size=3)


def toy(directory: Path, lease_s: float = 30) -> Setup:
    """A setup to work on a small table."""
    return Setup(Tours(), 0b11, directory, 1 << 24, n_threads=1, lease_s=lease_s, disk_timeout_s=300)


def no_executor(_: Setup, __: int) -> Executor:
    raise LookupError("no executor to be had here")


class FailsLate(Executor):
    """An executor that fails when it is told to stop."""

    def stop(self) -> None:
        """Fail."""
        raise OSError("too late")


def on_ranks(
    master: Callable[[Coordinator], None], executor_of: Callable[[Setup, int], Executor] = Executor.of
) -> None:
    """Rank 0 does as the test says, the others are real workers."""
    comm = world()
    if comm.rank == MASTER:
        coordinator = Coordinator(comm, StopRequest())
        master(coordinator)
        coordinator.leave()
    else:
        run_worker(comm, lambda setup: executor_of(setup, comm.rank), StopRequest(), "a rank", CrashNote())


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
    barrier(comm)
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
    barrier(comm)
    if comm.rank == 2:
        receive(comm, IDLE_LONGEST_S)
    waited_s, used_s = time.perf_counter() - started, time.process_time() - cpu
    assert waited_s > 1.9
    assert used_s < 0.05 * waited_s


def test_dismissed_before_anything_began() -> None:
    """Workers that never got a setup leave when they are told to, and have spent nothing."""

    def master(coordinator: Coordinator) -> None:
        assert coordinator.dismiss() == coordinator.dismiss() == Usage()

    on_ranks(master)


def test_a_worker_that_cannot_start() -> None:
    """A worker without an executor reports the reason, and all of them still leave."""

    def master(coordinator: Coordinator) -> None:
        coordinator.begin(toy(Path("nowhere")))
        with pytest.raises(WorkerFailedError, match=r"rank [12] on .*: LookupError: no executor to be had here; what"):
            coordinator.check(Store(Path("nowhere"), Partition(3, 0), b"", "a run"), [ClassId(0)])
        coordinator.dismiss()

    on_ranks(master, no_executor)


def test_failures_carry_what_happened() -> None:
    """The master hears of the host, the reason and the whole story of a failure."""
    comm = world()
    if comm.rank == MASTER:
        for rank in range(1, comm.size):
            comm.send(toy(Path("nowhere")), rank)
        for _ in range(1, comm.size):
            _, failed = receive(comm, IDLE_LONGEST_S)
            assert isinstance(failed, Failed)
            assert "in no_executor" in failed.traceback
            assert failed.host
        for rank in range(1, comm.size):
            comm.send(Stop(), rank)
        for _ in range(1, comm.size):
            assert isinstance(receive(comm, IDLE_LONGEST_S)[1], Leaving)
        for rank in range(1, comm.size):
            comm.send(Farewell(), rank)
        barrier(comm)
    else:
        run_worker(comm, lambda setup: no_executor(setup, comm.rank), StopRequest(), "a rank", CrashNote())


def test_nothing_is_said_after_leaving() -> None:
    """A worker that has left is silent, however long the others take: MPI does not end with a message on its way."""
    lease_s = 2

    def master(coordinator: Coordinator) -> None:
        coordinator.begin(toy(Path("nowhere"), lease_s))
        coordinator.dismiss()
        time.sleep(lease_s / 2)

    on_ranks(master, no_executor)
    assert receive_now(world()) is None


def test_failing_after_the_end(tmp_path: Path) -> None:
    """A worker that fails when it was dismissed already leaves all the same."""

    def master(coordinator: Coordinator) -> None:
        coordinator.begin(toy(tmp_path))
        coordinator.dismiss()

    on_ranks(master, FailsLate.of)


def test_sending_waits_for_nobody() -> None:
    """Thousands of messages to a rank that takes none are sent at once, and arrive when it does."""
    comm = world()
    n_messages = 1200
    if comm.rank == MASTER:
        outbox, began = Outbox(comm), time.monotonic()
        for n in range(n_messages):
            outbox.send(n, 1)
        assert time.monotonic() - began < 5
    barrier(comm)
    if comm.rank == 1:
        assert [receive(comm, IDLE_LONGEST_S) for _ in range(n_messages)] == [(MASTER, n) for n in range(n_messages)]
        comm.send("all", MASTER)
        assert receive(comm, IDLE_LONGEST_S) == (MASTER, "thanks")
    if comm.rank == MASTER:
        while receive_now(comm) != (1, "all"):
            pass
        outbox.send("thanks", 1)
    barrier(comm)


def test_lost_before_anything_is_computed(tmp_path: Path) -> None:
    """A worker that joins and falls silent while classes are checked is given nothing, neither to check nor to do."""
    comm = world()
    if comm.rank == MASTER:
        coordinator, setup = Coordinator(comm, StopRequest()), toy(tmp_path, lease_s=1)
        alone = SingleProcess(StopRequest())
        with claim(tmp_path, Tours(), 0b11, {}) as store:
            alone.begin(setup)
            alone.check(store, [])
            alone.run(Schedule.of(store.partition), lambda: None)
            alone.dismiss()
            for cls in store.partition.classes[5:]:
                store.remove(cls)
            coordinator.begin(setup)
            assert sorted(coordinator.check(store, store.committed)) == sorted(store.partition.classes[:5])
            coordinator.run(Schedule.of(store.partition, store.committed), lambda: None)
            assert coordinator.dismiss().n_computed == len(store.partition.classes) - 5
        assert coordinator.broken
        coordinator.leave()
    elif comm.rank == 1:
        receive(comm, IDLE_LONGEST_S)
        comm.send(Ready("somewhere", frozenset({0})), MASTER)
        barrier(comm)
    else:
        run_worker(comm, lambda setup: Executor.of(setup, comm.rank), StopRequest(), "a rank", CrashNote())
    while receive_now(comm):
        pass


def test_a_disk_that_is_slower_than_the_lease(tmp_path: Path) -> None:
    """While the master waits for the disk, for longer than the lease, workers hear of it, and it hears them."""

    def master(coordinator: Coordinator) -> None:
        coordinator.begin(toy(tmp_path, lease_s=1))
        assert coordinator.wait_for_disk(partial(slow_answer, 6)) == "answer"
        with claim(tmp_path, Tours(), 0b11, {}) as store:
            coordinator.check(store, [])
            coordinator.begin_on_disk(partial(time.sleep, 1.5))
            assert coordinator.wait_for_disk(partial(slow_answer, 1.5)) == "answer"
            schedule = Schedule.of(store.partition)
            coordinator.run(schedule, lambda: None)
            assert coordinator.dismiss().n_computed == len(store.partition.classes)
        assert not coordinator.broken

    on_ranks(master)


def slow_answer(seconds: float) -> str:
    time.sleep(seconds)
    return "answer"
