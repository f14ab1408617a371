"""Writing: on full disks, by several at once, beside a run that ends, and with the modes that the umask leaves."""

import errno
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from launch import calling
from stored import ALL, LISTED, class_with, complete, contents, copied
from suspect import mended
from toy import Listed

from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import ReplacedError, StoreRefusedError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import ASIDE, SHARD
from yahtzee_cluster.storage.run_directory import RunDirectory
from yahtzee_cluster.storage.store import Store


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails at any file or directory leaves nothing of itself, and can be tried again."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        block = LISTED.block(store.partition, cls)
        for n_good in range(4):
            answers = iter([None] * n_good)

            def sync(_: int, answers: Iterator[None] = answers) -> None:
                if next(answers, "full"):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            with monkeypatch.context() as patch:
                patch.setattr("os.fsync", sync)
                with pytest.raises(OSError, match="No space left on device"):
                    store.write(cls, block)
            assert [*(tmp_path / ASIDE / store.run.token).iterdir()] == []
            assert (cls in store.committed) == (n_good == 3)  # the class is there, only not for good
        assert store.is_sound(cls)


@pytest.mark.parametrize("begun", [False, True])
def test_only_a_directory_that_was_never_writable_is_refused(
    begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that becomes read-only while a run holds its table ends the run, and the same command resumes it."""
    problem = OSError(errno.EROFS, os.strerror(errno.EROFS))
    if not begun:
        monkeypatch.setattr(RunDirectory, "make", raising(problem))
    with pytest.raises(YahtzeeClusterError, match="Read-only file system") as raised, claim(tmp_path, LISTED, ALL, {}):
        raise problem
    assert raised.value.exit_code == (1 if begun else 2)


def raising(error: Exception) -> Callable[..., None]:
    def act(*_: object) -> None:
        raise error

    return act


def test_many_write_the_same_class(tmp_path: Path) -> None:
    """Stores that write the same class at once never meet, wherever they run, and the class is there once and sound."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        stores = [Store.of(tmp_path, LISTED, ALL, store.run.token) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(20):
                [*pool.map(lambda other: other.write(cls, LISTED.block(store.partition, cls)), stores)]
                assert store.is_sound(cls)
                store.remove(cls)
        assert [*(tmp_path / ASIDE / store.run.token).iterdir()] == []


BIG = Listed((500_000, 400_000))
"""More than 7 MB."""


def fill_small_disk(path: str) -> None:
    """Mount a disk of 8 MB, on which nobody else can see what goes on; try to put tables there."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", path], check=True)
    root = Path(path)
    try:
        complete(root / "larger", Listed((800_000, 400_000)), 1)
    except StoreRefusedError as error:
        print(error)
    (root / "ballast").write_bytes(bytes(4 << 20))
    try:
        complete(root / "table", BIG, 1)
    except StoreRefusedError as error:
        print(error)
    (root / "ballast").unlink()
    with claim(root / "table", BIG, 1, {}) as store:
        classes = store.partition.classes
        store.write(classes[0], BIG.block(store.partition, classes[0]))
        (root / "ballast").write_bytes(bytes(2 << 20))
        free = shutil.disk_usage(root).free
        try:
            store.write(classes[1], BIG.block(store.partition, classes[1]))
        except OSError as error:
            print(error.strerror)
        assert shutil.disk_usage(root).free == free
        assert store.committed == [classes[0]]
        (root / "ballast").unlink()
    print(complete(root / "table", BIG, 1).committed == [*classes])


def test_small_disks(tmp_path: Path) -> None:
    """A disk too small for what is missing is refused at once; one that fills up is not left fuller by a failure."""
    alone = ["unshare", "--mount", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    result = subprocess.run(
        [*alone, *calling(fill_small_disk, tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    advice = "; make room, or name a --store on another disk"
    assert result.stdout.splitlines() == [
        f"{tmp_path}/larger: has room for 8.0 MB, and the table still takes 9.2 MB{advice}",
        f"{tmp_path}/table: has room for 4.0 MB, and the table still takes 6.9 MB{advice}",
        "No space left on device",
        "True",
    ], result.stderr


def test_a_disk_that_does_not_say_how_large_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that reports no sizes at all is tried."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=0, used=0, free=0))
    assert complete(tmp_path, LISTED, ALL).table_digest


@pytest.mark.parametrize("provenance", [{}, {"program": "test"}])
def test_where_it_was_may_be_left_out(
    provenance: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without provenance, nothing on disk says where a run is; with it, the lock does."""
    monkeypatch.setattr("socket.gethostname", lambda: "host-of-this-test")
    with claim(tmp_path, LISTED, ALL, provenance):
        named = {path for path, content in contents(tmp_path).items() if b"host-of-this-test" in (content or b"")}
        assert named == ({tmp_path / ".lock"} if provenance else set())
        assert (writer(tmp_path) == f"process {os.getpid()}") == (not provenance)
    header = read_header(tmp_path)
    assert header
    assert header.provenance == provenance


@pytest.mark.parametrize("umask", [0o027, 0o002, 0o077])
def test_modes_follow_the_umask(umask: int, tmp_path: Path) -> None:
    """Every file and directory of a table has the bits that the umask leaves, while it is written and afterwards."""
    before = os.umask(umask)
    try:
        with claim(tmp_path / "table", LISTED, ALL, {}) as store:
            for cls in store.partition.classes:
                store.write(cls, LISTED.block(store.partition, cls))
            modes = {path: path.stat().st_mode for path in [store.path, *store.path.rglob("*")]}
    finally:
        os.umask(before)
    assert {path.name for path in modes} >= {"table", ".lock", ".partial", "index", "classes", "zarr.json", SHARD, "c"}
    for path, mode in modes.items():
        assert stat.S_IMODE(mode) == (0o777 if stat.S_ISDIR(mode) else 0o666) & ~umask, path


def test_a_run_that_begins_while_another_ends(table: Store, tmp_path: Path) -> None:
    """A run that begins before any step in which another one tidies up has the table to itself, and keeps it."""
    path = copied(table, tmp_path / "table").path
    for number in count():
        steps = count()
        with ExitStack() as other, pytest.MonkeyPatch.context() as patch:

            def step(real: Callable[..., None], *arguments: Any, steps: Iterator[int] = steps, **options: Any) -> None:
                if next(steps) == number:  # noqa: B023  # called in this turn of the loop only
                    patch.undo()
                    other.enter_context(claim(path, LISTED, ALL, {}))
                real(*arguments, **options)

            with claim(path, LISTED, ALL, {}):
                for name in ("rmdir", "unlink"):
                    patch.setattr(f"os.{name}", partial(step, getattr(os, name)))
            if next(steps) == number:
                break  # there are no more steps
            assert writer(path) == f"process {os.getpid()}"
            with pytest.raises(StoreRefusedError, match="is being written by another run"):
                mended(path)
        assert not (path / ASIDE).exists()
    assert number >= 3


def test_what_outlives_its_run_commits_all_or_nothing(
    table: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank that still writes when the next run begins fails, or commits a whole class; never what is left of one."""
    path = copied(table, tmp_path / "table").path
    cls, outcomes, random = class_with(table, 22), set(), Random(1)
    monkeypatch.setattr("os.fsync", lambda _: time.sleep(0.004 * random.random()))
    with ThreadPoolExecutor(1) as late:
        for n in range(100):
            zombie = Store.of(path, LISTED, ALL, run=f"old-{n}")
            zombie.run.make()
            written = late.submit(zombie.write, cls, LISTED.block(zombie.partition, cls))
            while not (written.done() or any((path / ASIDE).glob("old-*/*/c.0"))):
                pass
            with claim(path, LISTED, ALL, {}) as store:
                failure = written.exception()
                assert isinstance(failure, FileNotFoundError | ReplacedError | None)
                assert store.is_sound(cls) or failure
                outcomes.add(failure is None)
                if cls in store.committed:
                    store.remove(cls)
                assert [entry.name for entry in (path / ASIDE).iterdir()] == [store.run.token]
    assert outcomes == {True, False}
