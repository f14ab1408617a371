"""Small tables on disk, written without solving anything."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from launch import calling
from numpy.typing import NDArray
from toy import Listed

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.store import Store

CHUNK = 8
"""What `CHUNK_VALUES` is in the tests, but for one of the true one."""
LISTED = Listed((0, 1, CHUNK, CHUNK + 1, 2, 3 * CHUNK - 2, 0, 5))
ALL = 0b111
"""The fixed set with which every subset is a class of its own."""
BEGUN = {"began": "now"}


@contextmanager
def small_and_quick() -> Iterator[None]:
    """Chunks are short, and nobody waits for the disk, which takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yahtzee_cluster.storage.shard.CHUNK_VALUES", CHUNK)
        patch.setattr("os.fsync", lambda _: None)
        yield


def complete(path: Path, problem: Listed, fixed: int) -> Store:
    """Write a whole table, or what is missing of it."""
    with claim(path, problem, fixed, BEGUN) as store:
        for cls in store.partition.classes:
            store.write(cls, problem.block(store.partition, cls))
    return store


def copied(table: Store, path: Path) -> Store:
    """A finished table, for a test that damages it."""
    shutil.copytree(table.path, path, dirs_exist_ok=True)
    return Store.of(path, LISTED, ALL)


def contents(path: Path) -> dict[Path, bytes | None]:
    """Every file of a directory with its bytes, and every other entry."""
    return {entry: entry.read_bytes() if entry.is_file() else None for entry in path.rglob("*")}


def bits(values: NDArray[np.float64]) -> bytes:
    """Values as they are stored."""
    return values.astype("<f8").tobytes()


def class_with(store: Store, n_values: int) -> ClassId:
    """The first class with so many values."""
    return next(cls for cls, n in store.partition.n_values.items() if n == n_values)


def in_a_process(function: Callable[..., None], path: Path) -> subprocess.Popen[str]:
    """Call a function of some test file, with a path, in a process of its own."""
    return subprocess.Popen(calling(function, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
