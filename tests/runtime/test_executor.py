"""Threads, schedule and disk together: the toy problem as one process computes it, by plain recursion as the judge."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from launch import LARGE, calling, compute, setup_of
from toy import BETWEEN, HARBOUR, MILL, TO_FIRST, TOWN_OF, TOWNS, Tours

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.engine.schedule import Joined, Schedule
from yahtzee_cluster.engine.worker import bytes_at_once
from yahtzee_cluster.runtime.executor import ClassFailedError, Executor
from yahtzee_cluster.runtime.serial import SingleProcess
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import ReplacedError
from yahtzee_cluster.storage.paths import SHARD
from yahtzee_cluster.storage.store import Store

ALL = range(1 << len(TOWNS))
TOWN: list[int] = TOWN_OF.tolist()
FIRST: list[float] = TO_FIRST.tolist()
WAY: list[list[float]] = BETWEEN.tolist()


def exists(towns: int, harbour_first: bool) -> bool:
    return not (harbour_first and towns >> MILL & 1 and not towns >> HARBOUR & 1)


@cache
def shortest(towns: int, harbour_first: bool) -> tuple[float, ...]:
    """The entries of some towns, from the definition: gate by gate, one tour at a time."""
    ends = [gate for gate, town in enumerate(TOWN) if towns >> town & 1]
    return tuple(shortest_to(gate, towns, harbour_first) for gate in ends)


def shortest_to(end: int, towns: int, harbour_first: bool) -> float:
    others = towns ^ 1 << TOWN[end]
    if not others:
        return FIRST[end] if exists(0, harbour_first) else np.inf
    if not exists(others, harbour_first):
        return np.inf
    before = [gate for gate, town in enumerate(TOWN) if others >> town & 1]
    known = shortest(others, harbour_first)
    return min(value + WAY[gate][end] for gate, value in zip(before, known, strict=True))


def smallest_cache(problem: Recurrence, fixed: int) -> int:
    """The least memory in which every class can be computed."""
    partition = problem.partition(fixed)
    return max(bytes_at_once(partition, cls) for cls in partition.classes)


def opened(path: Path, problem: Recurrence, fixed: int) -> Store:
    return Store.of(path, problem, fixed)


@pytest.fixture(scope="module", autouse=True)
def _volatile() -> Iterator[None]:
    """Nobody pulls the plug here, and waiting for the disk takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, str]:
    """The digest of each table, computed with an empty fixed set, one thread and a large cache."""
    found = {}
    for harbour_first in (False, True):
        path = tmp_path_factory.mktemp("table")
        compute(path, Tours(harbour_first), 0)
        found[harbour_first] = opened(path, Tours(harbour_first), 0).table_digest
    assert found[False] != found[True]
    return found


@pytest.mark.parametrize("harbour_first", [False, True])
@pytest.mark.parametrize("fixed", [0, 0b00110, 0b11111])
def test_plain_recursion(fixed: int, harbour_first: bool, tmp_path: Path) -> None:
    """Every entry on disk is that of the plain recursion, to the bit."""
    problem = Tours(harbour_first)
    compute(tmp_path, problem, fixed, smallest_cache(problem, fixed), 2)
    store = opened(tmp_path, problem, fixed)
    blocks = {cls: store.block(cls) for cls in store.partition.classes}
    found = {towns: block[towns].tolist() for block in blocks.values() for towns in block.subsets.tolist()}
    assert found == {t: [*shortest(t, harbour_first)] for t in ALL if exists(t, harbour_first)}


@pytest.mark.parametrize("harbour_first", [False, True])
@pytest.mark.parametrize("fixed", ALL)
def test_every_fixed_set(fixed: int, harbour_first: bool, digests: dict[bool, str], tmp_path: Path) -> None:
    """For every fixed set the table is the same, in the smallest cache that fits, and usage adds up."""
    problem = Tours(harbour_first)
    limit = smallest_cache(problem, fixed)
    usage = compute(tmp_path, problem, fixed, limit)
    store = opened(tmp_path, problem, fixed)
    assert store.table_digest == digests[harbour_first]
    assert usage.n_computed == len(store.partition.classes)
    assert usage.bytes_written == 8 * sum(store.partition.n_values.values())
    assert 0 < usage.cache_peak_bytes <= limit


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("tight", [False, True])
@pytest.mark.parametrize("fixed", [0, 0b00010, 0b01101])
def test_threads_and_cache(fixed: int, tight: bool, n_threads: int, digests: dict[bool, str], tmp_path: Path) -> None:
    """The table is the same for any number of threads and any cache; a large one leaves nothing to be read."""
    for harbour_first in (False, True):
        problem, path = Tours(harbour_first), tmp_path / str(harbour_first)
        limit = smallest_cache(problem, fixed) if tight else LARGE
        usage = compute(path, problem, fixed, limit, n_threads)
        assert opened(path, problem, fixed).table_digest == digests[harbour_first]
        assert 0 < usage.cache_peak_bytes <= limit
        assert tight or usage.bytes_read == 0


def test_too_small_a_cache_is_read_again(tmp_path: Path) -> None:
    """In the smallest cache classes go and are read again, and what is read counts as read."""
    problem, fixed = Tours(), 0b11111
    usage = compute(tmp_path, problem, fixed, smallest_cache(problem, fixed))
    assert usage.bytes_read > 0
    assert usage.read_s > 0


def damage(store: Store, cls: ClassId) -> None:
    shard = store.place(cls) / SHARD
    contents = bytearray(shard.read_bytes())
    contents[len(contents) // 2] ^= 1
    shard.write_bytes(contents)


def damage_metadata(store: Store, cls: ClassId) -> None:
    (store.place(cls) / "zarr.json").unlink()


@pytest.mark.parametrize("ruin", [Store.remove, damage, damage_metadata])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("fixed", [0, 0b01010])
def test_resumed(
    fixed: int, every: int, ruin: Callable[[Store, ClassId], None], digests: dict[bool, str], tmp_path: Path
) -> None:
    """A run that goes on computes exactly the classes that are gone or damaged, and the table is the same."""
    problem = Tours(harbour_first=True)
    compute(tmp_path, problem, fixed)
    with claim(tmp_path, problem, fixed, {}) as store:
        ruined = store.partition.classes[1::every]
        for cls in ruined:
            ruin(store, cls)
    usage = compute(tmp_path, problem, fixed, smallest_cache(problem, fixed), 2)
    assert usage.n_computed == len(ruined)
    assert usage.bytes_written == 8 * sum(store.partition.n_values[cls] for cls in ruined)
    assert store.table_digest == digests[True]
    assert compute(tmp_path, problem, fixed).n_computed == 0


def test_stop(digests: dict[bool, str], tmp_path: Path) -> None:
    """An executor that is told to stop commits the class that it had begun, and no other; the next run goes on."""
    problem = Tours()
    with claim(tmp_path, problem, 0, {}) as store:
        executor = Executor(problem, store, LARGE)
        schedule = Schedule.of(store.partition)
        for instruction in schedule.handle(Joined(0)):
            executor.handle(instruction)
        executor.stop()
        while not executor.is_idle:
            executor.wait(1)
        executor.close()
        assert store.committed == [store.partition.classes[0]]
        assert executor.usage.n_computed == 1
    assert compute(tmp_path, problem, 0).n_computed == len(store.partition.classes) - 1
    assert store.table_digest == digests[False]


@pytest.mark.parametrize("n_done", range(10))
@pytest.mark.parametrize("n_threads", [1, 3])
def test_interrupted_after_any_class(n_threads: int, n_done: int, digests: dict[bool, str], tmp_path: Path) -> None:
    """A run that is interrupted after any class leaves sound classes, none of which is ever computed again."""
    problem, fixed, alone = Tours(), 0b00010, SingleProcess(StopRequest())
    with claim(tmp_path, problem, fixed, {}) as store:
        schedule = Schedule.of(store.partition)

        def interrupt() -> None:
            if len(schedule.done) >= n_done:
                raise KeyboardInterrupt

        alone.begin(setup_of(problem, store, smallest_cache(problem, fixed), n_threads))
        alone.check(store, [])
        with pytest.raises(KeyboardInterrupt):
            alone.run(schedule, interrupt)
        first = alone.dismiss()
        assert n_done <= first.n_computed == len(store.committed)
        assert all(map(store.is_sound, store.committed))
    second = compute(tmp_path, problem, fixed)
    assert first.n_computed + second.n_computed == len(store.partition.classes) == 10
    assert store.table_digest == digests[False]


# -------------------------------------------------------------------------------------------------- failures


@dataclass(frozen=True)
class Failing(Tours):
    """The solvers fail from three towns on."""

    def solver(self) -> Solver:
        """One that fails."""
        solve = super().solver()

        def fails(block: Block, below: Below) -> None:
            if int(block.subsets[0]).bit_count() == 3:
                raise ArithmeticError("planted")
            solve(block, below)

        return fails


@pytest.mark.parametrize("fixed", [0, 0b00110])
def test_failing_solver(fixed: int, digests: dict[bool, str], tmp_path: Path) -> None:
    """A solver that raises ends the run with the class and the cause, and what was written before is kept."""
    with pytest.raises(ClassFailedError) as caught:
        compute(tmp_path, Failing(), fixed)
    error = caught.value
    assert (error.action, error.cause, error.exit_code) == ("solve", "ArithmeticError: planted", 1)
    assert error.name.startswith("03-")
    assert str(error) == f"could not solve class {error.name}: ArithmeticError: planted"
    usage = compute(tmp_path, Tours(), fixed)
    store = opened(tmp_path, Tours(), fixed)
    assert 0 < usage.n_computed < len(store.partition.classes)
    assert store.table_digest == digests[False]


@dataclass(frozen=True)
class Careless(Tours):
    """A solver that does something else once it has come to subset 7."""

    fault: str = ""

    def solver(self) -> Solver:
        """As it should be, but for subset 7."""
        solve = super().solver()

        def careless(block: Block, below: Below) -> None:
            if 7 not in block.subsets:
                solve(block, below)
                return
            last = int(block.starts[np.searchsorted(block.subsets, 7) + 1]) - 1
            untouched = block.values[last]
            solve(block, below)
            match self.fault:
                case "nan":
                    block[7][-1] = np.nan
                case "forgets":
                    block[7][-1] = untouched
                case "below":
                    next(other for other in below if other).values[:] = 0
                case "subsets":
                    block.subsets[:] = 0
                case "starts":
                    block.starts[:] = 0
                case "exit":
                    raise SystemExit(0)

        return careless


FAULTS = {
    "nan": r"the solver has left entries of subset 7 \(.*\) out, or made them NaN",
    "forgets": r"the solver has left entries of subset 7 \(.*\) out, or made them NaN",
    "below": "ValueError: assignment destination is read-only",
    "subsets": "ValueError: assignment destination is read-only",
    "starts": "ValueError: assignment destination is read-only",
    "exit": r"the solver has called exit\(0\)",
}


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_careless_solvers(fault: str, n_threads: int, tmp_path: Path) -> None:
    """A class with entries left out or NaN is not written, what others read is not changed, and exit() is a failure."""
    with pytest.raises(ClassFailedError, match=f"class 03-0: .*{FAULTS[fault]}") as caught:
        compute(tmp_path, Careless(fault=fault), 0, n_threads=n_threads)
    assert caught.value.exit_code == 1
    assert all(opened(tmp_path, Tours(), 0).partition.layer(cls) < 3 for cls in opened(tmp_path, Tours(), 0).committed)


def fail(path: str, n_threads: str) -> None:
    """Compute a table whose solver raises."""
    compute(Path(path), Failing(), 0, n_threads=int(n_threads))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_failing_solver_ends_the_process(n_threads: int, tmp_path: Path) -> None:
    """A process whose solvers raise ends by itself, with the class and the cause, for any number of threads."""
    command = calling(fail, tmp_path, n_threads)
    result = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert result.returncode == 1
    assert "could not solve class 03-0: ArithmeticError: planted" in result.stderr


def test_store_that_cannot_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A store that cannot write ends the run with the class and the cause, once and for all."""
    write = Store.write

    def full(store: Store, cls: ClassId, block: Block) -> None:
        if store.partition.layer(cls) == 1:
            raise OSError(28, "No space left on device")
        write(store, cls, block)

    monkeypatch.setattr(Store, "write", full)
    with pytest.raises(ClassFailedError) as caught:
        compute(tmp_path, Tours(), 0)
    assert (caught.value.action, caught.value.name) == ("write", "01-0")
    assert "No space left on device" in caught.value.cause


def test_store_that_disappears(digests: dict[bool, str], tmp_path: Path) -> None:
    """A table that is moved away in the middle ends the run with the cause; moved back, it goes on."""
    problem, path, elsewhere, alone = Tours(), tmp_path / "table", tmp_path / "elsewhere", SingleProcess(StopRequest())
    with claim(path, problem, 0, {}) as store:
        schedule = Schedule.of(store.partition)

        def disappear() -> None:
            if schedule.done and path.exists():
                path.rename(elsewhere)

        alone.begin(setup_of(problem, store))
        alone.check(store, [])
        with pytest.raises(ReplacedError, match="table: was removed, or taken over by another run, while this one"):
            alone.run(schedule, disappear)
        alone.dismiss()
    elsewhere.rename(path)
    compute(path, problem, 0)
    assert store.table_digest == digests[False]


class Slow(Tours):
    """A class takes longer to compute than a write takes to fail."""

    def solver(self) -> Solver:
        """One that is slow."""
        solve = super().solver()

        def slow(block: Block, below: Below) -> None:
            time.sleep(0.2)
            solve(block, below)

        return slow


def test_dismissed_after_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Once a failed write was reported, dismissing the worker, with a class half computed, reports no second one."""

    def full(_store: Store, _cls: ClassId, _block: Block) -> None:
        time.sleep(0.05)
        raise OSError(28, "No space left on device")

    problem, fixed, alone = Slow(), 0b11111, SingleProcess(StopRequest())
    with claim(tmp_path, problem, fixed, {}) as store:
        first = store.partition.classes[0]
        store.write(first, Block(store.partition.members(first), store.partition.starts(first), np.empty(0)))
        monkeypatch.setattr(Store, "write", full)
        alone.begin(setup_of(problem, store))
        alone.check(store, [])
        with pytest.raises(ClassFailedError, match="could not write class 01-"):
            alone.run(Schedule.of(store.partition, [first]), lambda: None)
        alone.dismiss()


def test_unreadable_class(tmp_path: Path) -> None:
    """A class that is damaged while it is needed ends the run with its own name."""
    problem = Tours()
    compute(tmp_path, problem, 0)
    with claim(tmp_path, problem, 0, {}) as store:
        last, below = store.partition.classes[-1], store.partition.classes[-2]
        store.remove(last)
        damage(store, below)
        alone = SingleProcess(StopRequest())
        alone.begin(setup_of(problem, store))
        alone.check(store, [])
        with pytest.raises(ClassFailedError) as caught:
            alone.run(Schedule.of(store.partition, store.committed), lambda: None)
        alone.dismiss()
    assert (caught.value.action, caught.value.name) == ("load", "04-0")
    assert "DamagedError" in caught.value.cause


def test_usage_adds_up() -> None:
    """Times and counts of two ranks add up; of peaks the largest counts."""
    total = Usage(1.0, 2.0, 3.0, 4.0, 5, 6, 7, 8, 9) + Usage(10.0, 20.0, 30.0, 40.0, 50, 60, 70, 3, 90)
    assert total == Usage(11.0, 22.0, 33.0, 44.0, 55, 66, 77, 8, 90)


def test_nobody_to_dismiss() -> None:
    """A run that never began has spent nothing."""
    assert SingleProcess(StopRequest()).dismiss() == Usage()


def test_classes_that_change_places(tmp_path: Path) -> None:
    """Classes that somebody exchanges while a run goes on are not taken for each other."""
    problem, fixed = Tours(), 0b10100
    compute(tmp_path, problem, fixed)
    with claim(tmp_path, problem, fixed, {}) as store:
        sizes = store.partition.n_values
        one, other = next(
            (a, b) for a in sizes for b in sizes if a < b and sizes[a] == sizes[b] > 0 and store.partition.layer(a) > 0
        )
        users = [cls for cls in sizes if {one, other} & {*store.partition.dependencies(cls)}]
        for cls in users:
            store.remove(cls)
        store.place(one).rename(tmp_path / "aside")
        store.place(other).rename(store.place(one))
        (tmp_path / "aside").rename(store.place(other))
        alone = SingleProcess(StopRequest())
        alone.begin(setup_of(problem, store))
        alone.check(store, [])
        with pytest.raises(
            ClassFailedError, match=r"could not load class .*: its metadata are damaged, or those of another table"
        ):
            alone.run(Schedule.of(store.partition, store.committed), lambda: None)
        alone.dismiss()


def test_nothing_runs_that_could_not_be_begun(tmp_path: Path) -> None:
    """An executor that gets no thread reports it, and is idle."""
    problem = Tours()
    with claim(tmp_path, problem, 0, {}) as store:
        executor = Executor(problem, store, LARGE)
        executor.close()  # its threads take nothing any more
        (instruction,) = Schedule.of(store.partition).handle(Joined(0))
        with pytest.raises(RuntimeError):
            executor.handle(instruction)
        assert executor.is_idle


def test_signal_while_waiting(tmp_path: Path) -> None:
    """A signal whose handling outlasts the time to wait does not make an executor wait for ever."""
    n_signals = count()

    def take(*_: object) -> None:
        if next(n_signals):
            raise TimeoutError
        time.sleep(0.1)

    problem = Tours()
    executor = Executor(problem, Store.of(tmp_path, problem, 0), LARGE)
    before = signal.signal(signal.SIGALRM, take)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 2)
        assert executor.wait(0.05) == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        executor.close()
