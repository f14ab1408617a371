"""Tables on disk: what is read back, what Zarr makes of it, and when it is durable."""

import json
import os
import shutil
from hashlib import sha256
from itertools import pairwise
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
    CHUNK,
    LISTED,
    bits,
    class_with,
    complete,
)
from toy import Listed
from zarr.codecs import Crc32cCodec

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DamagedError
from yahtzee_cluster.storage.paths import ASIDE, SHARD
from yahtzee_cluster.storage.shard import CHUNK_VALUES, digest
from yahtzee_cluster.storage.store import Store

SYNC = os.fsync


def digest_of(subset: int, entries: NDArray[np.float64]) -> int:
    return int(sha256(pack(f"<q{len(entries)}d", subset, *entries.tolist())).hexdigest(), 16)


def array(path: Path) -> Any:
    return zarr.open_array(str(path), mode="r")


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
    assert {found[f"index/{name}"].metadata.dimension_names for name in columns} == {("row",)}
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
