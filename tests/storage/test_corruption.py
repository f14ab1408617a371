"""Random damage: a table is read as it was written, or refused."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import LISTED, bits, class_with, contents, copied
from suspect import complaint_of, delete, mended, put, valuable_files

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import SHARD
from yahtzee_cluster.storage.store import Store


def assert_right_or_refused(store: Store) -> None:
    """A reader of a table gets what was written, or one line; and a run on it makes it whole."""

    def look(cls: ClassId) -> None:
        written = bits(LISTED.block(store.partition, cls).values)
        assert bits(store.row(cls, 0, store.partition.n_values[cls])) == written
        assert bits(store.block(cls).values) == written

    complaint_of(read_header, store.path)
    complaint_of(writer, store.path)
    complaint_of(lambda: store.committed)
    for cls in store.partition.classes:
        assert bool(complaint_of(look, cls)) != store.is_sound(cls)
    if not complaint_of(mended, store.path):
        assert all(map(store.is_sound, store.partition.classes))


@contextmanager
def at_risk(table: Store) -> Iterator[Store]:
    """A table that may be spoilt; then it must be read as it was written, or refused, with nothing else touched."""
    with TemporaryDirectory(dir=table.path.parent) as path:
        outside = valuable_files(Path(path, "outside"))
        before = contents(outside)
        store = copied(table, Path(path, "table"))
        yield store
        assert_right_or_refused(store)
        assert contents(outside) == before
        assert {entry.name for entry in Path(path).iterdir()} == {"outside", "table"}


def test_every_flipped_bit_of_a_class_is_noticed(table: Store) -> None:
    """No bit of any file of a class can be another one."""
    cls = class_with(table, 2)
    for path in table.place(cls).iterdir():
        content = path.read_bytes()
        for n in range(8 * len(content)):
            flipped = bytearray(content)
            flipped[n // 8] ^= 1 << n % 8
            path.write_bytes(flipped)
            assert not table.is_sound(cls), (path, n)
        path.write_bytes(content)
    assert table.is_sound(cls)


@st.composite
def spoilt(draw: st.DrawFn, content: bytes) -> bytes:
    """A file that was cut off, has grown, was written over in places, or never was what it should be."""
    start, stop = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    return draw(
        st.sampled_from([content[:stop], content[start:], content[:start] + content[stop:], content + content[:stop]])
        | st.binary(max_size=8).map(lambda some: content[:start] + some + content[start + len(some) :])
        | st.binary(max_size=100)
    )


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OWN_PLACES = ["identity", "identity name", "identity lengths", "identity lengths 2", "format", "elements",
              "elements 1", "fixed", "fixed 2", "provenance", "provenance began"]  # fmt: skip


@settings(max_examples=60)
@given(st.data())
def test_spoilt_files(table: Store, data: st.DataObject) -> None:
    """Whatever the bytes of a file are, a table is read as it was written, or refused in one line."""
    with at_risk(table) as store:
        place = store.place(class_with(store, data.draw(st.sampled_from([0, 5, 9]))))
        files = [place / SHARD, place / "zarr.json", store.path / "zarr.json", store.path / "classes" / "zarr.json"]
        path = data.draw(st.sampled_from(files))
        path.write_bytes(data.draw(spoilt(path.read_bytes())))


@settings(max_examples=60)
@given(st.sampled_from(OWN_PLACES), json_values)
def test_spoilt_headers(table: Store, place: str, value: object) -> None:
    """Whatever a header says in one place, a table is read as it was written, or refused in one line."""
    with at_risk(table) as store:
        group = json.loads((store.path / "zarr.json").read_bytes())
        put(group["attributes"]["yahtzee_cluster"], place, value)
        (store.path / "zarr.json").write_text(json.dumps(group))


FOLDERS = ["", "classes", "classes/02-3", "index", "index/part", ".partial", ".partial/02-3.0"]
STRAYS = ["c.0", "c.1", "zarr.json", ".zarray", "02-3", "03-7", "99-0", "index", "classes", ".lock", ".partial",
          "\x1b[2J\n", "x" * 255]  # fmt: skip
MAKERS: list[Callable[[Path], object]] = [
    os.mkfifo,
    lambda path: path.write_bytes(b"\xff\x1b[2J\n" * 50),
    lambda path: (path / "deep").mkdir(parents=True),
    lambda path: path.symlink_to(Path("/", *path.parts[1:-1], "nowhere")),
    lambda path: path.symlink_to(next(p for p in path.parents if (p / "outside").exists()) / "outside"),
]


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.sampled_from(FOLDERS), st.sampled_from(STRAYS), st.sampled_from(MAKERS)), min_size=1, max_size=4
    )
)
def test_strays(table: Store, strays: list[tuple[str, str, Callable[[Path], object]]]) -> None:
    """Whatever lies about in a table, or stands in place of its parts, it is read as it was written, or refused."""
    with at_risk(table) as store:
        for folder, name, make in strays:
            path = store.path / folder / name
            with suppress(FileExistsError, NotADirectoryError):
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.parent.resolve() == path.parent:  # or something outside would be changed here
                    delete(path)
                    make(path)


@pytest.mark.parametrize("garbage", [b"\xff\x1b[2J\n", b"\0" * 300, b"x" + 200 * "é".encode(), b" "])
def test_garbage_in_a_lock_that_is_held(garbage: bytes, table: Store) -> None:
    """Whatever a lock says, a run that is refused is told so in one line, and the lock stays as it is."""
    lock = table.path / ".lock"
    lock.write_bytes(garbage)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "is being written by another run" in complaint_of(mended, table.path)
        assert str(writer(table.path)).isprintable()
    assert lock.read_bytes() == garbage
    lock.unlink()
