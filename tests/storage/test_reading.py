"""Reading back: `store[subset]`, slices and arrays, against the entries that were written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored import ALL, LISTED, complete
from toy import Listed
from uniform import Uniform

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DamagedError, SubsetError
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table

SINGLE = Uniform((1,) * 6)


def numbered(path: Path, problem: Uniform, fixed: int) -> Store:
    """A table whose entries tell their subset and place."""
    with claim(path, problem, fixed, {}) as store:
        for cls in store.partition.classes:
            members, starts = store.partition.members(cls), store.partition.starts(cls)
            places = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
            store.write(cls, Block(members, starts, np.repeat(members, np.diff(starts)) + places / 8))
    return store


@pytest.mark.parametrize("fixed", [0, 0b1, ALL])
def test_every_subset_is_read_back(fixed: int, tmp_path: Path) -> None:
    """Each subset has the entries that were written; those of one size can be asked for together."""
    store = complete(tmp_path, LISTED, fixed)
    for subset, entries in enumerate(LISTED.entries):
        assert store[subset].tolist() == entries.tolist()
        assert store[np.int32(subset)].tolist() == entries.tolist()
        assert store[[subset, subset]].tolist() == [entries.tolist()] * 2
    assert store[[0, 6]].shape == (2, 0)
    with pytest.raises(SubsetError, match="these have 0 to 22 entries; ask for one size at a time"):
        store[:]


@pytest.mark.parametrize("fixed", [0, 0b10010, 0b11111])
def test_one_entry_each(fixed: int, tmp_path: Path) -> None:
    """Where every subset has a single entry, values have the shape of the subsets: one, a slice, or any array."""
    store = numbered(tmp_path, SINGLE, fixed)
    assert len(store) == 32
    assert (float(store[19]), store[19].shape) == (19.0, ())
    assert store[:].tolist() == [*range(32)]
    assert store[3:20:4].tolist() == [*range(3, 20, 4)]
    assert store[::-1].tolist() == [*range(31, -1, -1)]
    asked = np.random.default_rng(1).integers(32, size=(3, 4, 5), dtype=np.uint8)
    assert np.array_equal(store[asked], asked)
    assert store[[]].shape == (0,)


def test_layers_without_entries(tmp_path: Path) -> None:
    """Where some subsets have one entry and others none, each subset has an array of its own."""
    store = numbered(tmp_path, Uniform((0, 1, 1, 0)), 0b10)
    assert [store[subset].tolist() for subset in range(8)] == [[], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], []]


def test_only_chunks_that_are_asked_for_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distant subsets of a class are read from their own chunks, and all others may be damaged."""
    monkeypatch.setattr("yahtzee_cluster.storage.shard.CHUNK_VALUES", 8)
    monkeypatch.setattr("yahtzee_cluster.storage.store.CHUNK_VALUES", 8)
    problem = Uniform((3,) * 9)
    store = numbered(tmp_path, problem, 0)
    members = store.partition.members(store.partition.classes[4])
    read: list[tuple[int, int]] = []
    row = Store.row

    def watched(self: Store, cls: Any, start: int, stop: int) -> Any:
        read.append((start, stop))
        return row(self, cls, start, stop)

    monkeypatch.setattr(Store, "row", watched)
    far = members[[-1, 0, 1, -1]]
    assert store[far].tolist() == [[subset + place / 8 for place in range(3)] for subset in far.tolist()]
    assert read == [(0, 6), (207, 210)]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (32, "no subset 32: 5 elements have subsets 0 to 31"),
        (-1, "no subset -1"),
        ([3, 99], "no subset 99"),
        (1.5, "expected whole numbers, bit sets of 5 elements, found 1.5"),
        (True, "expected whole numbers"),
        ("aces", "expected whole numbers, bit sets of 5 elements, found 'aces'"),
        (1 << 70, "expected whole numbers"),
        (None, "expected whole numbers"),
        (np.zeros(3), "expected whole numbers"),
        (slice("a"), "expected a slice of whole numbers"),
        (slice(0, 4, 0), "expected a slice of whole numbers, its step not 0"),
        ([[1], [1, 2]], "expected an array, all rows as long"),
    ],
)
def test_refusals(asked: Any, complaint: str, tmp_path: Path) -> None:
    """What is no subset is refused in one line, as an IndexError."""
    store = Store.of(tmp_path, SINGLE, 0)
    with pytest.raises(SubsetError, match=complaint) as refused:
        store[asked]
    assert isinstance(refused.value, IndexError | UsageError)
    assert "\n" not in str(refused.value)


def test_subsets_without_entries_are_refused(tmp_path: Path) -> None:
    """A subset that does not exist in the problem has no entries to read."""

    class Even(Listed):
        def exist(self, subsets: Any) -> Any:
            return subsets % 2 == 0

    with pytest.raises(SubsetError, match="subset 3 has no entries"):
        Store.of(tmp_path, Even((1, 2, 3, 4)), 0)[3]


def test_damage_is_found(tmp_path: Path) -> None:
    """Reading a few entries checks the bytes of their chunk."""
    store = numbered(tmp_path, SINGLE, 0)
    shard = store.place(store.partition.class_of(0b11)) / "c.0"
    changed = bytearray(shard.read_bytes())
    changed[9] ^= 1
    shard.write_bytes(changed)
    with pytest.raises(DamagedError):
        store[0b11]


def test_no_iteration(tmp_path: Path) -> None:
    """A table is not iterated over: that would end at the first subset that does not exist."""
    complete(tmp_path, LISTED, ALL)
    with pytest.raises(TypeError, match="not iterable"):
        iter(open_table(tmp_path, LISTED))


def test_opening(tmp_path: Path) -> None:
    """`open_table` finds the fixed set of a table by itself, and refuses one of another problem, or without its own."""
    numbered(tmp_path / "there", SINGLE, 0b10010)
    table = open_table(tmp_path / "there", SINGLE)
    assert table[7] == 7.0
    with pytest.raises(
        UsageError, match=r"there: holds layers \[1, 1, 1, 1, 1, 1\], \[1, 1, 1, 1, 1\] asked for; name another --store"
    ):
        open_table(tmp_path / "there", Uniform((1,) * 5))
    with pytest.raises(UsageError, match="holds no table of a game; name its problem as well"):
        open_table(tmp_path / "there")
    with pytest.raises(UsageError, match="holds no table"):
        open_table(tmp_path / "nowhere", SINGLE)
