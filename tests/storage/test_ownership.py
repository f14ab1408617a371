"""Every class belongs to its table, and every directory to one run: what is exchanged, replaced or outlived."""

import errno
import fcntl
import json
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, Any

import pytest
from launch import compute
from small_games import SMALL, utility
from stored import ALL, LISTED, class_with, complete
from toy import Listed

from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DamagedError, ReplacedError, StoreError, StoreRefusedError
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import ASIDE, DROPPED, LOCK, SHARD
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table

SYNC, RENAME = os.fsync, os.rename


# ----------------------------------------------------------------------------------- classes of another table


def objective(name: str, toml: str = SMALL["plain"]) -> Scorecards:
    """A table of a small game."""
    problem = OBJECTIVES[name](parse_rules(toml, "plain"), 40)
    assert isinstance(problem, Scorecards)
    return problem


PLAIN = parse_rules(SMALL["plain"], "plain")
EDITED = SMALL["plain"].replace("points = 3", "points = 4")
PAIRS: dict[str, Callable[[], tuple[Scorecards, Scorecards]]] = {
    "goals": lambda: (utility(PLAIN, "power:2"), utility(PLAIN, "power:0.5")),
    "maxprob and distribution": lambda: (objective("maxprob"), objective("distribution")),
    "maxprob and approx": lambda: (objective("maxprob"), objective("approx")),
    "distribution and maxprob": lambda: (objective("distribution"), objective("maxprob")),
    "rules before and after an edit": lambda: (objective("expected"), objective("expected", EDITED)),
}


@pytest.mark.parametrize("files", [("zarr.json", SHARD), (SHARD,), ("zarr.json",)])
@pytest.mark.parametrize("pair", sorted(PAIRS))
def test_any_class_of_another_table_is_damaged(pair: str, files: tuple[str, ...], tmp_path: Path) -> None:
    """Whichever class is exchanged for that of a table of the same shape, every reader says so.

    The next run computes just that one again, and the table is the same as before.
    """
    mine, other = PAIRS[pair]()
    for name, problem in (("mine", mine), ("other", other)):
        compute(tmp_path / name, problem, ALL)
    store, theirs = Store.of(tmp_path / "mine", mine, ALL), Store.of(tmp_path / "other", other, ALL)
    shutil.copytree(store.path / "classes", tmp_path / "sound")
    sha256 = store.table_digest
    assert sha256 != theirs.table_digest
    for cls in store.partition.classes:
        if pair.startswith("maxprob") and not store.partition.layer(cls):
            continue  # nothing is left to be scored, and the values are none: only the seals differ
        for file in files:
            shutil.copy(theirs.place(cls) / file, store.place(cls) / file)
        same_values = (
            SHARD in files and (store.place(cls) / SHARD).read_bytes() == (theirs.place(cls) / SHARD).read_bytes()
        )
        if files == (SHARD,) and same_values and store.is_sound(cls):
            continue  # the values are the same in both tables
        assert not store.is_sound(cls)
        for look in (store.read, store.block, lambda cls: store.row(cls, 0, store.partition.n_values[cls])):
            with pytest.raises(DamagedError):
                look(cls)
        table = open_table(store.path)
        assert str(store.place(cls)) in table.verify().complaints[0]
        if "zarr.json" in files:
            with pytest.raises(DamagedError, match="those of another table"):
                store.table_digest  # noqa: B018
        if len(files) == 2:
            usage = compute(store.path, mine, ALL)
            assert (usage.n_computed, store.table_digest) == (1, sha256)
        else:
            shutil.copytree(tmp_path / "sound" / store.place(cls).name, store.place(cls), dirs_exist_ok=True)


def test_a_class_of_another_fixed_set_is_damaged(tmp_path: Path) -> None:
    """A class of the same table, with the same name and as many values, is damaged where the table is cut otherwise."""
    lengths = (2, 1, 1, 3, 1, 3, 3, 4)
    problem = Listed(lengths)
    one, other = (complete(tmp_path / str(fixed), problem, fixed) for fixed in (0b001, 0b010))
    cls = one.partition.class_of(0b110)
    assert one.place(cls).name == other.place(other.partition.class_of(0b101)).name
    shutil.rmtree(one.place(cls))
    shutil.copytree(other.place(other.partition.class_of(0b101)), one.place(cls))
    assert not one.is_sound(cls)
    with pytest.raises(DamagedError, match="those of another table"):
        one.row(cls, 0, 1)


def test_seals_cover_what_a_table_is(tmp_path: Path) -> None:
    """The seal of a class tells tables apart by name, elements and format, and classes by their place."""
    store = complete(tmp_path / "table", LISTED, ALL)
    other = complete(tmp_path / "other", Listed(LISTED.lengths, "other"), ALL)
    metadata = [
        json.loads((each.place(cls) / "zarr.json").read_text())["attributes"]
        for each in (store, other)
        for cls in store.partition.classes
    ]
    assert len({attributes["seal"] for attributes in metadata}) == len(metadata)
    assert len({attributes["sha256"] for attributes in metadata}) == len(metadata) // 2
    assert store.table_digest == other.table_digest


# ------------------------------------------------------------------------------------------- runs and others


def replace(path: Path) -> None:
    shutil.rmtree(path)


def move_away(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def empty(path: Path) -> None:
    for entry in path.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def tree(path: Path) -> dict[str, int]:
    """Every file and directory, and which it is."""
    return {str(entry.relative_to(path)): entry.stat().st_ino for entry in path.rglob("*")}


@pytest.mark.parametrize("go", [replace, move_away, empty])
def test_a_run_leaves_the_one_that_replaced_it_alone(go: Callable[[Path], None], tmp_path: Path) -> None:
    """A run whose directory was taken away can write, drop and remove nothing in the one that came after, nor end it.

    Another run is refused after its end as before.
    """
    path, other = tmp_path / "table", Listed(LISTED.lengths, "other")
    with claim(path, other, ALL, {}) as old:
        cls = class_with(old, 22)
        old.write(cls, other.block(old.partition, cls))
        go(path)
        with claim(path, LISTED, ALL, {}) as new:
            new.write(cls, LISTED.block(new.partition, cls))
            unfinished = path / ASIDE / new.run.token / "half"
            unfinished.mkdir()
            before = tree(path)
            nothing_to_do: list[Callable[[], Any]] = [
                lambda: old.write(class_with(old, 5), other.block(old.partition, class_with(old, 5))),
                lambda: old.drop(cls),
                lambda: old.remove(cls),
                old.run.dead,
                lambda: old.run.tombstone(1).touch(),
            ]
            for act in nothing_to_do:
                with pytest.raises((ReplacedError, FileNotFoundError)):
                    act()
            with pytest.raises(ReplacedError):
                old.is_sound(cls)
            assert tree(path) == before
            old_lock = (path / LOCK).stat().st_ino
            with (
                pytest.raises(StoreRefusedError, match="is being written by another run"),
                claim(path, LISTED, ALL, {}),
            ):
                pass
            _end(Store.of(path, other, ALL, old.run.token))
            assert tree(path) == before
            assert (path / LOCK).stat().st_ino == old_lock
            assert writer(path) == f"process {os.getpid()}"
            unfinished.rmdir()
        assert new.is_sound(cls)


def _end(store: Store) -> None:
    """What a run does at its end."""
    with Path(os.devnull).open("rb") as lock:
        store.run.end(lock)


def test_a_table_that_is_replaced_while_its_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between looking at a lock and taking it away, the lock may have become another run's: then it stays."""
    path, others = tmp_path / "table", ExitStack()

    def rename(source: str, *arguments: Any, **options: Any) -> None:
        if source.endswith(LOCK):
            monkeypatch.undo()
            shutil.rmtree(path)
            others.enter_context(claim(path, LISTED, ALL, {}))
        RENAME(source, *arguments, **options)

    with others:
        with claim(path, LISTED, ALL, {}):
            monkeypatch.setattr("os.rename", rename)
        assert writer(path) == f"process {os.getpid()}"
        with pytest.raises(StoreRefusedError, match="is being written by another run"):
            complete(path, LISTED, ALL)


def test_the_end_of_a_run_whose_table_is_gone(tmp_path: Path) -> None:
    """A run whose directory was taken away and not replaced makes nothing anew."""
    path = tmp_path / "table"
    with claim(path, LISTED, ALL, {}) as store:
        shutil.rmtree(path)
        with pytest.raises(ReplacedError, match="was removed, or taken over by another run"):
            store.write(class_with(store, 5), LISTED.block(store.partition, class_with(store, 5)))
    assert not path.exists()


def test_a_rank_whose_run_has_ended_writes_nothing(tmp_path: Path) -> None:
    """A worker commits for a run that holds the table, and for none that has died, even if nothing was swept yet."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        worker = Store.of(tmp_path, LISTED, ALL)
        worker.write_for(store.run.token).join()
        first, second = class_with(store, 5), class_with(store, 22)
        worker.write(first, LISTED.block(store.partition, first))
        assert store.is_sound(first)
        with (tmp_path / LOCK).open("rb") as lock:
            _let_go_of(store, lock)
            with pytest.raises(ReplacedError, match="is not held by the run that this rank belongs to any more"):
                worker.write(second, LISTED.block(store.partition, second))
        assert store.committed == [first]
        assert [*(tmp_path / ASIDE / store.run.token).iterdir()] == []


def _let_go_of(store: Store, lock: IO[bytes]) -> None:
    """As the system does when the process that holds a lock dies."""
    held = [fd for fd in os.listdir("/proc/self/fd") if _is_same(int(fd), lock.fileno()) and int(fd) != lock.fileno()]  # noqa: PTH208
    assert len(held) == 1, store.path
    fcntl.flock(int(held[0]), fcntl.LOCK_UN)


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def test_a_lock_that_was_removed_while_it_was_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that locks a file just as its last owner removes it tries again, or two would have the table."""
    real, n_locked = fcntl.flock, 0

    def flock(file: IO[bytes], operation: int) -> None:
        nonlocal n_locked
        n_locked += 1
        if n_locked == 1:
            (tmp_path / LOCK).unlink()
        real(file, operation)

    monkeypatch.setattr("fcntl.flock", flock)
    with claim(tmp_path, LISTED, ALL, {}):
        assert n_locked == 2
        with (
            pytest.raises(StoreRefusedError, match="is being written by another run"),
            claim(tmp_path, LISTED, ALL, {}),
        ):
            pass


def test_another_directory_is_not_joined(tmp_path: Path) -> None:
    """A rank that sees another directory than the one that was claimed is refused in one line."""
    with claim(tmp_path / "one", LISTED, ALL, {}) as store:
        complete(tmp_path / "other", LISTED, ALL)
        with pytest.raises(StoreRefusedError, match="is not the directory that the master sees; name one on a disk"):
            Store.of(tmp_path / "other", LISTED, ALL).write_for(store.run.token).join()


def test_runs_that_begin_in_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a directory in which another run begins is told so, and not that it holds other things."""
    path, real = tmp_path / "table", Path.iterdir
    others: list[AbstractContextManager[Store]] = []

    def iterdir(self: Path) -> Iterator[Path]:
        if self == path and not others:
            others.append(claim(path, LISTED, ALL, {}))
            others[0].__enter__()
        return real(self)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(StoreRefusedError, match="is being written by another run"), claim(path, LISTED, ALL, {}):
        pass
    others[0].__exit__(None, None, None)


def test_a_table_that_was_half_begun_can_be_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory in which a disk that was full kept a table from being begun takes it when there is room."""
    n_renamed = 0

    def rename(*arguments: Any, **options: Any) -> None:
        nonlocal n_renamed
        n_renamed += arguments == ("zarr.json", "../../zarr.json")
        if n_renamed == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        RENAME(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr("os.rename", rename)
        with pytest.raises(StoreError, match="No space left on device"), claim(tmp_path, LISTED, ALL, {}):
            pass
    assert n_renamed == 1
    assert complete(tmp_path, LISTED, ALL).table_digest


def test_a_table_that_is_away_for_a_moment(tmp_path: Path) -> None:
    """Classes are not taken for damaged because the directory is not there when they are read; the run ends instead."""
    complete(tmp_path / "table", LISTED, ALL)
    with claim(tmp_path / "table", LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        store.path.rename(tmp_path / "away")
        for look in (store.is_sound, store.remove, store.has_digest):
            with pytest.raises(ReplacedError):
                look(cls)
        for ask in (lambda: store.committed, lambda: store.dropped, store.run.dead):
            with pytest.raises((ReplacedError, StoreError)):
                ask()
        (tmp_path / "away").rename(store.path)
        assert all(map(store.is_sound, store.partition.classes))


@pytest.mark.parametrize("other", [None, "0123456789abcdef\nprocess 1"])
def test_a_lock_that_is_removed(other: str | None, tmp_path: Path) -> None:
    """A run whose lock is gone, or another run's, ends; it takes away what it left undone, and hides no other error."""

    def work() -> None:
        with claim(tmp_path, LISTED, ALL, {}) as store:
            cls, worker = class_with(store, 5), Store.of(tmp_path, LISTED, ALL)
            worker.write_for(store.run.token).join()
            (tmp_path / LOCK).unlink()
            if other:
                (tmp_path / LOCK).write_text(other)
            with pytest.raises(ReplacedError, match="is not held by the run"):
                store.run.dead()
            with pytest.raises(ReplacedError, match="is not held by the run"):
                worker.write(cls, LISTED.block(store.partition, cls))
            raise KeyError(cls)

    with pytest.raises(KeyError):
        work()
    assert not (tmp_path / ASIDE).exists()
    assert (tmp_path / LOCK).exists() == bool(other)


@pytest.mark.parametrize("header", [None, "other"])
def test_a_header_that_is_exchanged(header: str | None, tmp_path: Path) -> None:
    """A run says so if the header of its table has gone, or has become that of another one, when it ends."""
    complete(tmp_path / "other", Listed(LISTED.lengths, "other"), ALL)
    with claim(tmp_path / "table", LISTED, ALL, {}) as store:
        store.check_header()
        (store.path / "zarr.json").unlink()
        if header:
            shutil.copy(tmp_path / "other" / "zarr.json", store.path)
        with pytest.raises(ReplacedError, match=r"has another zarr\.json, or none"):
            store.check_header()


def test_a_class_that_comes_while_it_is_computed(tmp_path: Path) -> None:
    """What lies in the place of a class with its metadata and other values does not stay there."""
    complete(tmp_path / "other", LISTED, ALL)
    with claim(tmp_path / "table", LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        shutil.copytree(tmp_path / "other" / "classes" / store.place(cls).name, store.place(cls))
        (store.place(cls) / SHARD).write_bytes(b"rubbish")
        store.write(cls, LISTED.block(store.partition, cls))
        assert store.is_sound(cls)
        assert [*(store.path / ASIDE / store.run.token).iterdir()] == []


# ------------------------------------------------------------------------------------- dropped, and unreadable


def test_dropped_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That a class is dropped on purpose is on the disk for good before its values leave their place."""
    happened: list[tuple[str, bool, bool]] = []
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        store.write(cls, LISTED.block(store.partition, cls))
        place = store.place(cls)

        def noted(name: str, real: Callable[..., None]) -> Callable[..., None]:
            def note(*arguments: Any, **options: Any) -> None:
                happened.append((name, (place / DROPPED).exists(), (place / SHARD).exists()))
                real(*arguments, **options)

            return note

        for name, real in (("fsync", SYNC), ("rename", RENAME)):
            monkeypatch.setattr(f"os.{name}", noted(name, real))
        store.drop(cls)
        monkeypatch.undo()
        assert happened == [("fsync", True, True), ("rename", True, True)]
        assert (store.dropped, store.committed) == ({cls}, [cls])
        assert [*(tmp_path / ASIDE / store.run.token).iterdir()] == []
        assert store.has_digest(cls)


def test_half_dropped_is_still_there(tmp_path: Path) -> None:
    """A class that is marked and has its values still is as good as before."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        store.write(cls, LISTED.block(store.partition, cls))
        (store.place(cls) / DROPPED).touch()
        assert store.dropped == set()
        assert store.is_sound(cls)


def test_too_many_open_files_are_no_damage(tmp_path: Path) -> None:
    """A process that can open no file does not take sound classes for damaged ones: they would be computed again."""
    store = complete(tmp_path, LISTED, ALL)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(StoreError, match="Too many open files") as caught:
            store.is_sound(class_with(store, 22))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not isinstance(caught.value, DamagedError)
    assert store.is_sound(class_with(store, 22))


def test_tables_of_the_first_format_are_refused(tmp_path: Path) -> None:
    """A table of another format is left unchanged, and refused in one line with code 2: compute it again."""
    complete(tmp_path, LISTED, ALL)
    header = json.loads((tmp_path / "zarr.json").read_text())
    header["attributes"]["yahtzee_cluster"]["format"] = 1
    (tmp_path / "zarr.json").write_text(json.dumps(header))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(
        StoreRefusedError, match="has format 1, and this version reads and writes format 2; compute the"
    ):
        complete(tmp_path, LISTED, ALL)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
