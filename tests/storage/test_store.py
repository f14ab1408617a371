"""Tables on disk: what is read back, what Zarr makes of it, what is noticed, and who may write."""

import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count, pairwise
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from launch import writable
from numpy.typing import NDArray
from stored import (
    ALL,
    BEGUN,
    CHUNK,
    LISTED,
    bits,
    class_with,
    complete,
    contents,
    copied,
    in_a_process,
    small_and_quick,
)
from toy import Listed
from zarr.codecs import Crc32cCodec

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DamagedError, StoreError, StoreRefusedError
from yahtzee_cluster.storage.header import HEADER, Header, read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import ASIDE, SHARD
from yahtzee_cluster.storage.shard import CHUNK_VALUES, Shape, digest
from yahtzee_cluster.storage.store import Store

SYNC = os.fsync


def digest_of(subset: int, entries: NDArray[np.float64]) -> int:
    return int(sha256(pack(f"<q{len(entries)}d", subset, *entries.tolist())).hexdigest(), 16)


def array(path: Path) -> Any:
    return zarr.open_array(str(path), mode="r")


# ----------------------------------------------------------------------------------------- written and read


anything = st.floats(allow_nan=False)
"""Every number there is: infinite ones, both zeros, the smallest."""


@given(st.data())
def test_values_come_back_to_the_bit(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """What is written is read back to the bit, whole and as rows, whatever the values and however many."""
    lengths = data.draw(st.tuples(*[st.integers(0, 2 * CHUNK)] * 2))
    store = writable(Store.of(tmp_path_factory.mktemp("values"), Listed((*lengths, 0, 0)), 0b10))
    partition = store.partition
    cls = partition.class_of(data.draw(st.integers(0, 1)))
    n_values = partition.n_values[cls]
    values = data.draw(arrays(np.float64, n_values, elements=anything))
    store.write(cls, Block(partition.members(cls), partition.starts(cls), values))
    assert bits(store.read(cls)) == bits(store.block(cls).values) == bits(values)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, n_values)] * 2)))
    assert bits(store.row(cls, start, stop)) == bits(values[start:stop])
    assert store.is_sound(cls)
    assert store.committed == [cls]


def zarr_writes(path: Path, values: NDArray[np.float64], chunk: int, n_chunks: int) -> None:
    """Have the library write some values in the way a class is written."""
    written = zarr.create_array(
        str(path),
        shape=values.shape,
        dtype="float64",
        chunks=(chunk,),
        shards=(n_chunks * chunk,),
        filters=None,
        compressors=Crc32cCodec(),
        fill_value=np.nan,
        chunk_key_encoding={"name": "default", "separator": "."},
    )
    written[:] = values


def assert_as_zarr_writes_it(store: Store, cls: ClassId, path: Path, n_chunks: int) -> None:
    values = store.read(cls)
    zarr_writes(path, values, -(-len(values) // n_chunks), n_chunks)
    assert (store.place(cls) / SHARD).read_bytes() == (path / SHARD).read_bytes()
    ours, theirs = (json.loads((place / "zarr.json").read_bytes()) for place in (store.place(cls), path))
    assert {k for k in ours if ours[k] != theirs[k]} == {"attributes"}


def test_shards_are_as_zarr_writes_them(tmp_path: Path) -> None:
    """The bytes of a shard and the metadata are those that the library writes, with the fewest and shortest chunks."""
    store = complete(tmp_path, Listed(tuple(range(4 * CHUNK))), 0b11111)
    for cls, n_values in store.partition.n_values.items():
        if n_values:
            assert_as_zarr_writes_it(store, cls, tmp_path / "zarr" / f"{n_values}", -(-n_values // CHUNK))


@pytest.mark.parametrize(
    ("n_values", "n_chunks"), [(0, 1), (1, 1), (CHUNK_VALUES, 1), (CHUNK_VALUES + 1, 2), (3 * CHUNK_VALUES + 5, 4)]
)
def test_true_chunks(n_values: int, n_chunks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With chunks as long as they truly are, classes of all lengths are read by us and by the library alike."""
    monkeypatch.setattr("yahtzee_cluster.storage.shard.CHUNK_VALUES", CHUNK_VALUES)
    problem = Listed((n_values, 3))
    store = complete(tmp_path / "table", problem, 0)
    cls = store.partition.class_of(0)
    values = problem.entries[0]
    assert bits(store.block(cls).values) == bits(array(store.place(cls))[:]) == bits(values)
    for start, stop in [(0, 0), (0, n_values), (n_values // 2, n_values // 2 + 9), (n_values - 1, n_values)]:
        if 0 <= start <= stop <= n_values:
            assert bits(store.row(cls, start, stop)) == bits(values[start:stop])
    if n_values:
        assert_as_zarr_writes_it(store, cls, tmp_path / "zarr", n_chunks)


@pytest.mark.parametrize("fixed", [0, 0b101, ALL])
def test_zarr_reads_a_table(fixed: int, tmp_path: Path) -> None:
    """The library finds classes and index in a finished table without a warning, and the row of each line there."""
    store = complete(tmp_path, LISTED, fixed)
    group = zarr.open_group(str(tmp_path), mode="r")
    found: dict[str, Any] = dict(group.members(max_depth=None))
    folders = {str(store.place(cls).relative_to(tmp_path)): cls for cls in store.partition.classes}
    columns = ["subset", "offset", "length", "layer", "part"]
    assert set(found) == {"classes", "index", *folders, *(f"index/{name}" for name in columns)}
    for folder, cls in folders.items():
        block = LISTED.block(store.partition, cls)
        assert bits(found[folder][:]) == bits(block.values)
        assert (found[folder].dtype, found[folder].shape) == (np.dtype("float64"), block.values.shape)
        of_members = sum(digest_of(subset, LISTED.entries[subset]) for subset in block.subsets.tolist())
        assert found[folder].attrs["sha256"] == f"{of_members % 2**256:064x}"
    lines = list(zip(*(found[f"index/{name}"][:].tolist() for name in columns), strict=True))
    assert len(lines) == 16
    for number, (subset, offset, length, layer, part) in enumerate(lines):
        row = found[f"classes/{layer:02}-{part:x}"][offset : offset + length]
        entries = LISTED.entries[subset]
        assert bits(row) == bits(entries[:1] if number < 8 else entries[1:])
    for subset, entries in enumerate(LISTED.entries):
        start = store.start(subset)
        assert bits(store.row(store.partition.class_of(subset), start, start + len(entries))) == bits(entries)


def test_no_index_is_needed(tmp_path: Path) -> None:
    """A problem that lists no rows gets an empty index."""

    class Unlisted(Listed):
        def row_index(self) -> dict[str, NDArray[Any]]:
            return {}

    complete(tmp_path, Unlisted((1, 2)), 1)
    index = zarr.open_group(str(tmp_path / "index"), mode="r")
    assert list(index.members()) == []


def test_the_first_to_write_a_class_wins(tmp_path: Path) -> None:
    """Writing a class that is there keeps what is there, and leaves nothing behind; other values are complained of."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 5)
        block = LISTED.block(store.partition, cls)
        store.write(cls, block)
        inode = store.place(cls).stat().st_ino
        store.write(cls, block)
        with pytest.raises(DamagedError, match="has come while this run computed it, and is not the same"):
            store.write(cls, Block(block.subsets, block.starts, -block.values))
        assert store.place(cls).stat().st_ino == inode
        assert bits(store.block(cls).values) == bits(block.values)
        assert store.committed == [cls]
        assert list((tmp_path / ASIDE / store.run.token).iterdir()) == []
        assert {path.name for path in (tmp_path / "classes").iterdir()} == {"zarr.json", store.place(cls).name}


@pytest.mark.parametrize("name", ["mkdir", "rename"])
def test_a_server_that_is_asked_twice(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that was carried out, and fails when it is repeated because the answer was lost, counts as done."""
    real = getattr(os, name)

    def twice(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        real(*arguments, **options)

    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 5)
        with monkeypatch.context() as patch:
            patch.setattr(f"os.{name}", twice)
            store.write(cls, LISTED.block(store.partition, cls))
        assert store.is_sound(cls)
        assert list((tmp_path / ASIDE / store.run.token).iterdir()) == []


def test_durable_before_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a class is on the disk before it gets its place, and its place before the write ends."""
    synced: list[tuple[str, bool]] = []
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 5)

        def sync(descriptor: int) -> None:
            synced.append((Path(f"/proc/self/fd/{descriptor}").resolve().name, store.place(cls).exists()))
            SYNC(descriptor)

        monkeypatch.setattr("os.fsync", sync)
        store.write(cls, LISTED.block(store.partition, cls))
    *before, (last, there) = synced
    assert {name.split(".", 1)[0] for name, _ in before} == {"c", "zarr", store.place(cls).name}
    assert not any(there for _, there in before)
    assert (last, there) == ("classes", True)


# --------------------------------------------------------------------------------------------------- digests


@pytest.mark.parametrize("fixed", range(8))
def test_digest_of_a_table(fixed: int, tmp_path: Path) -> None:
    """A table's digest is the sum of those of its subsets, with no regard to the fixed set."""
    expected = sum(digest_of(subset, entries) for subset, entries in enumerate(LISTED.entries)) % 2**256
    store = complete(tmp_path, LISTED, fixed)
    assert store.table_digest == f"{expected:064x}"
    shutil.rmtree(store.place(store.partition.classes[0]))
    with pytest.raises(DamagedError, match="the table is not finished"):
        store.table_digest  # noqa: B018


@given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.lists(st.integers(0, 4)), st.data())
def test_digests_add_up_and_tell_blocks_apart(lengths: list[int], cuts: list[int], data: st.DataObject) -> None:
    """Digests of shares add up to the digest of the whole, which any bit of a value and any subset change."""
    values = np.random.default_rng(sum(lengths)).standard_normal(sum(lengths))
    block = Block(np.array([1, 2, 5, 9]), np.cumsum([0, *lengths]), values)
    shares = [block.share(first, last) for first, last in pairwise(sorted([0, *cuts, 4]))]
    before = digest(block)
    assert sum(map(digest, shares)) % 2**256 == before == sum(digest_of(s, block[s]) for s in (1, 2, 5, 9)) % 2**256
    if values.size:
        at, bit = data.draw(st.integers(0, values.size - 1)), data.draw(st.integers(0, 63))
        values.view(np.uint64)[at] ^= np.uint64(1 << bit)
        assert digest(block) != before
        values.view(np.uint64)[at] ^= np.uint64(1 << bit)
    block.subsets[data.draw(st.integers(0, 3))] += 1
    assert digest(block) != before


def test_digest_sees_bits() -> None:
    """Zeros of either sign are equal numbers, and have different digests."""
    zeros = [Block(np.array([3]), np.array([0, 1]), np.array([zero])) for zero in (0.0, -0.0)]
    assert [digest(block) for block in zeros] == [digest_of(3, block.values) for block in zeros]
    assert digest(zeros[0]) != digest(zeros[1])


# ---------------------------------------------------------------------------------------------------- damage


def assert_noticed(store: Store, cls: ClassId, expected: NDArray[np.float64]) -> None:
    """A damaged shard: nobody reads it as if nothing were wrong, and all complain in the same way."""
    for look in (store.read, store.block):
        with pytest.raises(DamagedError, match=str(store.place(cls))):
            look(cls)
    assert not store.is_sound(cls)
    with suppress(DamagedError):
        assert bits(store.row(cls, 0, len(expected))) == bits(expected)


lengths_of_classes = st.sampled_from(sorted({*LISTED.lengths}))


@given(lengths_of_classes, st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_every_flipped_byte_is_noticed(table: Store, n_values: int, where: float, flip: int) -> None:
    """A shard with any byte changed is never taken for sound."""
    cls = class_with(table, n_values)
    shard = table.place(cls) / SHARD
    sound = shard.read_bytes()
    damaged = bytearray(sound)
    damaged[int(where * len(sound))] ^= flip
    try:
        shard.write_bytes(damaged)
        assert_noticed(table, cls, LISTED.block(table.partition, cls).values)
    finally:
        shard.write_bytes(sound)
    assert table.is_sound(cls)


@pytest.mark.parametrize("n_values", sorted({*LISTED.lengths}))
def test_wrong_length_is_noticed(n_values: int, table: Store) -> None:
    """A shard cut off at any length is never taken for sound, nor one that has grown."""
    cls = class_with(table, n_values)
    shard = table.place(cls) / SHARD
    sound = shard.read_bytes()
    wrong = [*(sound[:n] for n in range(len(sound))), sound + b"\0", sound + sound, sound[8:], b"\0" + sound]
    try:
        for damaged in wrong:
            shard.write_bytes(damaged)
            assert_noticed(table, cls, LISTED.block(table.partition, cls).values)
    finally:
        shard.write_bytes(sound)


def seal_again(store: Store, cls: ClassId, digest: str, table: Store) -> None:
    """Give a class the metadata of another one's chunks, with a digest of its own, as somebody might on purpose."""
    checksums = json.loads((table.place(cls) / "zarr.json").read_text())["attributes"]["crc32c"]
    shape = Shape.of(store.partition.n_values[cls])
    metadata = store._metadata(cls, shape, digest, bytes.fromhex(checksums))  # noqa: SLF001  # nobody else knows how
    (store.place(cls) / "zarr.json").write_bytes(metadata)


def test_another_class_is_noticed(table: Store) -> None:
    """A shard of another class, which is sound in itself and as long, matches neither the seal nor the digest."""
    other = Listed((*LISTED.lengths[:-1], 5))
    other.entries[-1][2] += 1
    store = complete(table.path.parent / "other", other, ALL)
    cls = class_with(store, 5)
    shutil.copy(table.place(cls) / SHARD, store.place(cls) / SHARD)
    for look in (store.read, lambda cls: store.row(cls, 0, 1)):
        with pytest.raises(DamagedError, match="its chunk 0 is not the one that was committed here"):
            look(cls)
    seal_again(store, cls, f"{store.digest(cls):064x}", table)
    store.read(cls)
    with pytest.raises(DamagedError, match="its values do not match its digest"):
        store.block(cls)
    assert not store.is_sound(cls)


def replace_by_directory(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.mkdir()


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"")


def change_metadata(**fields: object) -> Callable[[Path], object]:
    def change(place: Path) -> None:
        metadata = json.loads((place / "zarr.json").read_bytes())
        (place / "zarr.json").write_text(json.dumps(metadata | fields))

    return change


DAMAGES: dict[str, Callable[[Path], object]] = {
    "shard is gone": lambda place: (place / SHARD).unlink(),
    "shard is a directory": lambda place: replace_by_directory(place / SHARD),
    "shard is a dangling link": lambda place: (place / SHARD).rename(place / "x").with_name(SHARD).symlink_to("y"),
    "class is gone": shutil.rmtree,
    "class is empty": replace_by_directory,
    "class is a file": replace_by_file,
    "metadata are gone": lambda place: (place / "zarr.json").unlink(),
    "metadata of fewer values": change_metadata(shape=[3]),
    "metadata of other values": change_metadata(data_type="int64", fill_value=0),
    "metadata are a directory": lambda place: replace_by_directory(place / "zarr.json"),
}
TEXTS = [b"", b"{", b"\xff\xfe", b"[]", b"1", b"null", b"[" * 100_000, b'{"attributes": 1}', b'{"attributes": null}',
         b'{"attributes": []}', b'{"attributes": {}}', b'{"attributes": {"sha256": 5}}',
         b'{"attributes": {"sha256": null}}', b'{"attributes": {"sha256": "xyz"}}',
         b'{"attributes": {"sha256": ["00"]}}']  # fmt: skip


def write_metadata(text: bytes) -> Callable[[Path], object]:
    return lambda place: (place / "zarr.json").write_bytes(text)


@pytest.mark.parametrize(
    "damage", [*DAMAGES.values(), *map(write_metadata, TEXTS)], ids=[*DAMAGES, *(repr(text[:40]) for text in TEXTS)]
)
def test_damage_is_noticed_and_can_be_mended(damage: Callable[[Path], object], table: Store, tmp_path: Path) -> None:
    """However a class is damaged, it is not sound, and can be removed (if anything of it is left) and written anew."""
    copied(table, tmp_path)
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 5)
        damage(store.place(cls))
        assert not store.is_sound(cls)
        with pytest.raises(DamagedError):
            store.block(cls)
        with pytest.raises(DamagedError):
            store.row(cls, 0, 5)
        if cls in store.committed:
            store.remove(cls)
        assert cls not in store.committed
        assert list((tmp_path / ASIDE / store.run.token).iterdir()) == []
        store.write(cls, LISTED.block(store.partition, cls))
        assert store.is_sound(cls)
        assert store.table_digest == table.table_digest


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_sound_classes_can_be_read_by_zarr(table: Store, where: float, flip: int) -> None:
    """With any byte of its metadata changed, a class is not sound, or the library reads it as before."""
    cls = class_with(table, CHUNK + 1)
    metadata = table.place(cls) / "zarr.json"
    sound = metadata.read_bytes()
    damaged = bytearray(sound)
    damaged[int(where * len(sound))] ^= flip
    try:
        metadata.write_bytes(damaged)
        if table.is_sound(cls):
            assert bits(table.row(cls, 0, CHUNK + 1)) == bits(LISTED.entries[0b011])
    finally:
        metadata.write_bytes(sound)


def test_removed(table: Store, tmp_path: Path) -> None:
    """A class that was removed is gone, with all its files, and no other is."""
    copied(table, tmp_path)
    with claim(tmp_path, LISTED, ALL, {}) as store:
        first, *others = store.partition.classes
        store.remove(first)
        assert not store.place(first).exists()
        assert store.committed == others
        assert all(map(store.is_sound, others))
        assert not store.is_sound(first)
        assert list((tmp_path / ASIDE / store.run.token).iterdir()) == []


# ----------------------------------------------------------------------------------------------------- claims


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
    assert "holds a table for another name: 'listed' there, 'other' asked for" in message
    assert "another lengths: [0, 1, 8, 9, 2, 22, 0, 5] there, [0, 1] asked for" in refusal(path, Listed((0, 1)), 1)
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
    assert "Permission denied" in failure(tmp_path / "table")
    (tmp_path / "empty").mkdir(0o500)
    assert "Permission denied" in refusal(tmp_path / "empty", LISTED, ALL)
    assert "Permission denied" in refusal(tmp_path / "empty" / "new", LISTED, ALL)


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


# ------------------------------------------------------------------------------------------- other processes


def hold(path: str) -> None:
    """Hold a table until there is no more input."""
    with claim(Path(path), LISTED, ALL, BEGUN) as store:
        print(store.path, flush=True)
        sys.stdin.read()


@pytest.mark.parametrize("killed", [False, True])
def test_one_at_a_time(killed: bool, tmp_path: Path) -> None:
    """Who holds a table is named to whoever else wants it, and holds it no longer after its end, or after kill -9."""
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
