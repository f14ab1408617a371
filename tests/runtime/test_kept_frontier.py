"""What stays on disk of a table of which only the frontier is kept: how much of it, whatever interrupts the run."""

import json
import sys
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from launch import LARGE, MPIRUN, compute, mpirun, n_classes, started, writable
from small_games import SMALL
from toy import Tours

from yahtzee_cluster.engine.frontier import growth
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import Committed, Compute, Event, Loaded, Preload
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.runtime.executor import ClassFailedError, Executor
from yahtzee_cluster.runtime.messages import Checked
from yahtzee_cluster.storage.claim import Growth, claim
from yahtzee_cluster.storage.errors import StoreRefusedError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.paths import DROPPED, SHARD
from yahtzee_cluster.storage.store import Store


def test_room_for_the_frontier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with room for what is there at a time will do, or for the rest of it; all classes need more.

    What was dropped needs its room again where all is to be kept.
    """
    partition = Tours().partition(0b11)
    free = [1.02 * growth(partition, [], 1)]
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=LARGE, used=0, free=free[0]))

    def frontier(partition: Partition, committed: Collection[ClassId]) -> float:
        return growth(partition, committed, 1)

    def begin(growth: Growth | None) -> None:
        with claim(tmp_path, Tours(), 0b11, {}, growth):
            pass

    with pytest.raises(StoreRefusedError, match="the table still takes"):
        begin(None)
    begin(frontier)
    free[0] /= 1.02
    with pytest.raises(StoreRefusedError, match="the table still takes"):
        begin(frontier)
    free[0] = LARGE
    compute(tmp_path, Tours(), 0b11)
    free[0] = 0
    begin(frontier)
    begin(None)
    opened = writable(Store.of(tmp_path, Tours(), 0b11))
    opened.drop(partition.classes[-2])
    begin(frontier)
    with pytest.raises(StoreRefusedError, match="the table still takes"):
        begin(None)


def test_reading_in_vain(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A worker that preloads a dropped class goes on without it; one that finds it damaged does too, with a warning.

    Where it is needed at once, that is an error.
    """
    problem, fixed = Tours(), 0b11111
    compute(tmp_path, problem, fixed)
    with claim(tmp_path, problem, fixed, {}) as store:
        one, other = (store.partition.class_of(towns) for towns in (0b00011, 0b01100))
        dropped, damaged = (store.partition.class_of(towns) for towns in (0b00100, 0b01000))
        store.remove(one)
        store.drop(dropped)
        (store.place(damaged) / SHARD).write_bytes(b"")
        executor = Executor(problem, store, LARGE)
        executor.handle(Compute(0, one))
        executor.handle(Preload(0, other))
        events: list[Event | Checked] = []
        while not (executor.is_idle and Committed(0, one) in events):
            events += executor.wait(1)
        assert not {Loaded(0, dropped), Loaded(0, damaged)} & {*events}
        assert [record.message.count("01-8: its shard is not as long") for record in caplog.records] == [1]
        executor.handle(Compute(0, other))
        for _ in (dropped, damaged):
            with pytest.raises(ClassFailedError, match=r"could not load class 01-[48]: D\w+: .* (dropped|should be)"):
                executor.wait(1)
        executor.close()


@pytest.mark.parametrize("seed", range(2))
def test_interrupted(seed: int, tmp_path: Path) -> None:
    """Killed at any moment, a run that keeps the frontier goes on, and so does one that is to keep all from there on.

    The table is the same, and nothing is left on disk of what was dropped, even where that had only begun.
    """
    random, table = Random(seed), tmp_path / "table"
    (tmp_path / "rules.toml").write_text(SMALL["forced"])
    flags = [
        "-m",
        "yahtzee_cluster.run",
        "--rules",
        tmp_path / "rules.toml",
        "--objective",
        "race",
        "--G",
        "6",
        "--json",
    ]

    def finish(path: Path, *more: str) -> dict[str, Any]:
        result = mpirun(3, [*flags, "--store", path, *more])
        assert result.returncode == 0, result.stderr
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    expected = finish(tmp_path / "all")["table_sha256"]
    header = read_header(tmp_path / "all")
    assert header
    store = Store.of(table, Race(parse_rules(SMALL["forced"], "test")), header.fixed)

    def killed(when: Callable[[], bool]) -> None:
        with started([MPIRUN, "-n", "3", sys.executable, *flags, "--store", table, "--keep", "frontier"]) as job:
            job.wait_until(when)

    for n in sorted(random.sample(range(1, len(store.partition.classes)), 3)):
        killed(partial(lambda least: n_classes(table) >= least, n))
    half_dropped = next(cls for cls in store.committed if cls not in store.dropped)
    (store.place(half_dropped) / DROPPED).touch()
    if seed == 0:
        assert finish(table, "--keep", "frontier")["table_sha256"] == expected
        assert store.dropped == {*store.partition.classes[:-1]}
        shards = [path.parent.name for path in (table / "classes").glob(f"*/{SHARD}")]
        assert shards == [store.place(store.partition.classes[-1]).name]
    assert finish(table)["table_sha256"] == expected
    assert store.dropped == set()
    assert all(map(store.is_sound, store.partition.classes))


def test_a_dropped_class_without_its_digest(tmp_path: Path) -> None:
    """A class of which not even the digest is left as it was is computed again, with all that it takes."""
    flags = [
        "-m",
        "yahtzee_cluster.run",
        "--rules",
        "yaht",
        "--target",
        "60",
        "--G",
        "4",
        "--json",
        "--keep",
        "frontier",
    ]

    def finish() -> dict[str, Any]:
        result = mpirun(1, [*flags, "--store", tmp_path])
        assert result.returncode == 0, result.stderr
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    first = finish()
    places = sorted(path for path in (tmp_path / "classes").iterdir() if (path / DROPPED).exists())
    metadata = places[len(places) // 2] / "zarr.json"
    text = metadata.read_text()
    at = text.index('"sha256": "') + len('"sha256": "')
    metadata.write_text(f"{text[:at]}{'1' if text[at] == '0' else '0'}{text[at + 1 :]}")
    again = finish()
    assert again["table_sha256"] == first["table_sha256"]
    assert 1 <= again["classes_computed"] < again["classes"]
    assert metadata.read_text() == text
    assert finish()["classes_computed"] == 0
