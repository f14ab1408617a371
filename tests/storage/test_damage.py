"""Damage of any kind is noticed by all who read, and can be mended."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from stored import (
    ALL,
    CHUNK,
    LISTED,
    bits,
    class_with,
    complete,
    copied,
)
from toy import Listed

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DamagedError
from yahtzee_cluster.storage.paths import ASIDE, SHARD
from yahtzee_cluster.storage.shard import Shape
from yahtzee_cluster.storage.store import Store


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
