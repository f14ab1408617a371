"""Who may write into a directory: one run at a time, and only the same table."""

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from stored import (
    ALL,
    BEGUN,
    CHUNK,
    LISTED,
    complete,
    contents,
    copied,
    in_a_process,
    small_and_quick,
)
from toy import Listed

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import StoreError, StoreRefusedError
from yahtzee_cluster.storage.header import HEADER, Header, read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import ASIDE
from yahtzee_cluster.storage.store import Store


def refusal(path: Path, problem: Listed, fixed: int) -> str:
    """Why a table cannot be had, in one line with code 2."""
    with pytest.raises(StoreRefusedError) as caught, claim(path, problem, fixed, {}):
        pass
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("made", [False, True])
def test_begun_and_gone_on_with(made: bool, tmp_path: Path) -> None:
    """A new or an empty directory takes a table, which says what it is, and is gone on with when asked for again."""
    path = tmp_path / "new" / "table"
    if made:
        path.mkdir(parents=True)
    assert read_header(path) is None
    with claim(path, LISTED, 0b101, BEGUN) as store:
        assert store.committed == []
        store.write(ClassId(0), LISTED.block(store.partition, ClassId(0)))
    identity = {"name": "listed", "lengths": [*LISTED.lengths]}
    assert read_header(path) == Header(identity, ("a", "b", "c"), 0b101, BEGUN)
    assert zarr.open_group(str(path), mode="r").attrs[HEADER] == {
        "format": 2, "identity": identity, "elements": ["a", "b", "c"], "fixed": ["a", "c"], "provenance": BEGUN,
    }  # fmt: skip
    with claim(path, LISTED, 0b101, {"began": "later"}) as store:
        assert store.committed == [0]
        assert store.is_sound(ClassId(0))
    assert read_header(path) == Header(identity, ("a", "b", "c"), 0b101, BEGUN)
    assert {entry.name for entry in path.iterdir()} == {"zarr.json", "classes", "index"}


def test_a_header_that_nobody_would_read_again(tmp_path: Path) -> None:
    """A problem that takes too much to say is refused before anything is there; what is begun can be opened."""

    class Nested(Listed):
        @property
        def identity(self) -> dict[str, Any]:
            nest: dict[str, Any] = {}
            for _ in range(int(self.name)):
                nest = {"in": nest}
            return nest

    path, complaint = tmp_path / "table", "takes more to say than a header may have: 1,048,576 bytes, 16 levels deep"
    for problem in (Listed((1, 2), "x" * (1 << 20)), Nested((1, 2), "15")):
        assert complaint in refusal(path, problem, 0)
        assert [*path.iterdir()] == []
    with claim(path, Nested((1, 2), "13"), 0, {}):
        pass
    assert read_header(path)


def test_others_are_refused(tmp_path: Path) -> None:
    """Another problem, another fixed set and other things are refused with both sides named, and nothing is changed."""
    path = tmp_path / "table"
    store = complete(path, LISTED, 0b101)
    before = contents(path)
    message = refusal(path, Listed(LISTED.lengths, "other"), 0b101)
    assert f"{path}: holds listed, other asked for; name another --store" in message
    assert "holds lengths [0, 1, 8, 9, 2, 22, 0, 5], [0, 1] asked for" in refusal(path, Listed((0, 1)), 1)
    longer = Listed((0, 1, 8, 9, 3, 22, 0, 5))
    assert "holds lengths.5 2, 3 asked for" in refusal(path, longer, 0b101)
    assert "cut by another G: a,c there, b asked for" in refusal(path, LISTED, 0b010)
    assert "cut by another G: a,c there, nothing asked for" in refusal(path, LISTED, 0)
    assert contents(path) == before
    assert store.table_digest == complete(path, LISTED, 0b101).table_digest
    (tmp_path / "novel.txt").write_text("It was a dark and stormy night.")
    assert "holds other things; name an empty or a new directory" in refusal(tmp_path, LISTED, ALL)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["novel.txt", "table"]


@pytest.mark.parametrize("header", [None, b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'])
def test_classes_of_nobody_knows_what_are_not_taken_over(header: bytes | None, table: Store, tmp_path: Path) -> None:
    """Classes of a table that has lost its header never become classes of another table."""
    copied(table, tmp_path)
    (tmp_path / "zarr.json").unlink()
    if header:
        (tmp_path / "zarr.json").write_bytes(header)
    try:
        with claim(tmp_path, Listed(LISTED.lengths, "other"), ALL, {}) as store:
            assert store.committed == []
    except YahtzeeClusterError:
        assert read_header(tmp_path) is None


HEADERS = [b"", b"{", b"\xff\xfe", b"[]", b"1", b"{}", b"[" * 100_000, b'{"attributes": null}',
           b'{"attributes": {"yahtzee_cluster": 3}}', b'{"attributes": {"yahtzee_cluster": []}}',
           b'{"attributes": {"yahtzee_cluster": {}}}', b'{"attributes": {"yahtzee_cluster": {"format": 2}}}',
           b'{"attributes": {"yahtzee_cluster": {"format": 2, "elements": ["a"], "fixed": ["b"]}}}',
           b'{"attributes": {"yahtzee_cluster": {"format": 2, "elements": ["a"], "fixed": 1}}}',
           b'{"attributes": {"yahtzee_cluster": {"format": 2, "elements": [], "fixed": [], "identity": 1}}}',
           ]  # fmt: skip


def failure(path: Path) -> str:
    """Why a directory cannot be used, in one line with code 1."""
    with pytest.raises(StoreError) as caught, claim(path, LISTED, ALL, {}):
        pass
    message = str(caught.value)
    assert caught.value.exit_code == 1
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("text", HEADERS, ids=lambda text: repr(text[:90]))
def test_damaged_header(text: bytes, table: Store, tmp_path: Path) -> None:
    """A table whose header is damaged is refused in one line."""
    copied(table, tmp_path)
    (tmp_path / "zarr.json").write_bytes(text)
    failure(tmp_path)


def test_header_that_is_a_directory(tmp_path: Path) -> None:
    """A header that cannot be read at all is refused in one line."""
    (tmp_path / "zarr.json").mkdir()
    assert "Not a regular file" in failure(tmp_path)


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_flipped_bytes_in_the_header(table: Store, where: float, flip: int) -> None:
    """With any byte of the header changed, a table is refused in one line, or is there as before."""
    header, message = table.path / "zarr.json", ""
    sound = header.read_bytes()
    damaged = bytearray(sound)
    damaged[int(where * len(sound))] ^= flip
    try:
        header.write_bytes(damaged)
        try:
            with claim(table.path, LISTED, ALL, {}) as store:
                assert all(map(store.is_sound, store.partition.classes))
        except YahtzeeClusterError as error:
            message = str(error)
        assert "\n" not in message
    finally:
        header.write_bytes(sound)


@pytest.mark.parametrize(
    "place",
    ["file", "file/table", "loop/table", "/dev/null", "x" * 300, "/".join(["x" * 100] * 41), "s3:/bucket/table"],
)
def test_impossible_places(place: str, tmp_path: Path) -> None:
    """A path that no directory can have is refused in one line that names it, and nothing is made."""
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    before = contents(tmp_path)
    path = Path(place) if ":" in place else tmp_path / place
    with (
        pytest.raises(StoreRefusedError, match=r"another directory|a directory on a disk") as caught,
        claim(path, LISTED, ALL, {}),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == before
    assert not Path("s3:").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_forbidden_places(table: Store, tmp_path: Path) -> None:
    """Directories and headers that the user may not write or read fail in one line."""
    copied(table, tmp_path / "table")
    (tmp_path / "table" / "zarr.json").chmod(0)
    assert "cannot be read: Permission denied" in refusal(tmp_path / "table", LISTED, ALL)
    (tmp_path / "empty").mkdir(0o500)
    for path in (tmp_path / "empty", tmp_path / "empty" / "new"):
        assert "Permission denied; name another directory with --store" in refusal(path, LISTED, ALL)


def test_half_written_classes_are_swept(table: Store, tmp_path: Path) -> None:
    """A class that was being written does not count as there, and the next claim sweeps it."""
    store = copied(table, tmp_path)
    cls = store.partition.classes[3]
    half = tmp_path / ASIDE / f"{store.place(cls).name}.elsewhere.17"
    half.parent.mkdir()
    store.place(cls).rename(half)
    assert cls not in store.committed
    with claim(tmp_path, LISTED, ALL, {}) as store:
        assert not half.exists()
        assert cls not in store.committed
    assert not (tmp_path / ASIDE).exists()


def hold(path: str) -> None:
    """Hold a table until there is no more input."""
    with claim(Path(path), LISTED, ALL, BEGUN) as store:
        print(store.path, flush=True)
        sys.stdin.read()


@pytest.mark.parametrize("killed", [False, True])
def test_one_at_a_time(killed: bool, tmp_path: Path) -> None:
    """The owner of a table is named to any other run, and owns it no longer after its end, or after kill -9."""
    with in_a_process(hold, tmp_path) as holder:
        assert holder.stdout
        assert holder.stdout.readline().strip() == str(tmp_path)
        assert f"is being written by another run (process {holder.pid} on " in refusal(tmp_path, LISTED, ALL)
        assert str(writer(tmp_path)).startswith(f"process {holder.pid} on ")
        if killed:
            holder.kill()
            assert holder.wait() == -signal.SIGKILL
        else:
            holder.communicate()
            assert holder.returncode == 0
    assert writer(tmp_path) is None
    complete(tmp_path, LISTED, ALL)
    complete(tmp_path, LISTED, ALL)


def test_many_at_a_time(table: Store, tmp_path: Path) -> None:
    """However many want a table again and again, one has it at a time, and each gets it in the end."""
    copied(table, tmp_path)
    inside = threading.Lock()
    wrong: list[int] = []
    turns: list[int] = []

    def compete(number: int) -> None:
        until = time.monotonic() + 30
        while turns.count(number) < 20 and time.monotonic() < until and not wrong:
            try:
                with claim(tmp_path, LISTED, ALL, {}):
                    if not inside.acquire(blocking=False):
                        wrong.append(number)
                        return
                    time.sleep(0.0005)
                    turns.append(number)
                    inside.release()
            except StoreRefusedError:
                pass

    threads = [threading.Thread(target=compete, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(turns) == sorted([*range(4)] * 20)


SMALL = Listed((CHUNK + 1, 2))
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "shutil.rmtree"}


def die_at_every_step(directory: str) -> None:
    """Write a table again and again, in processes that are killed before they change the disk for the n-th time."""
    for n in count(1):
        child = os.fork()
        if not child:
            steps = count(1)

            def die(event: str, arguments: tuple[Any, ...], n: int = n, steps: Iterator[int] = steps) -> None:
                if event in CHANGES or (event == "open" and re.search("[wx]", str(arguments[1]))):
                    path = str(arguments[0])  # or a name below a directory that is open
                    if (directory in path or not path.startswith("/") or "/fd/" in path) and next(steps) == n:
                        os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(die)
            with small_and_quick():
                complete(Path(directory, f"{n:03}"), SMALL, 1)
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if ended != -signal.SIGKILL:
            raise SystemExit(ended)


def test_killed_at_every_step(tmp_path: Path) -> None:
    """A run killed at any step leaves whole classes only, and the next run makes a table of it that lacks nothing."""
    with in_a_process(die_at_every_step, tmp_path) as process:
        assert process.wait(60) == 0
    expected = complete(tmp_path / "000", SMALL, 1).table_digest
    paths = sorted(tmp_path.iterdir())
    assert len(paths) > 40
    failed = {}
    for path in paths:
        store = Store.of(path, SMALL, 1)
        classes = store.committed if (path / "classes").exists() else []
        assert all(map(store.is_sound, classes))
        try:
            assert complete(path, SMALL, 1).table_digest == expected
            members: dict[str, object] = dict(zarr.open_group(str(path), mode="r").members(max_depth=None))
            assert len(members) == 9
        except (YahtzeeClusterError, Warning) as error:
            failed[path.name] = str(error)
    assert failed == {}
