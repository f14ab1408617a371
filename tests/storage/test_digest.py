"""The digest of a block: SHA-256 of every subset, however long, with any change of a bit seen."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.sha256 import sum_of_digests
from yahtzee_cluster.storage.shard import SHORT, digest


def block_of(sizes: list[int]) -> Block:
    random = np.random.default_rng(sum(sizes))
    subsets = np.sort(random.choice(1 << 40, len(sizes), replace=False))
    return Block(subsets, np.append(0, np.cumsum(np.array(sizes, np.int64))), random.standard_normal(sum(sizes)))


def one_by_one(block: Block) -> int:
    """The definition: the sum of SHA-256 of each subset's number and values, little-endian, modulo 2^256."""
    messages = [s.to_bytes(8, "little") + block[s].astype("<f8").tobytes() for s in block.subsets.tolist()]
    return sum(int.from_bytes(hashlib.sha256(message).digest(), "big") for message in messages) % 2**256


@given(st.lists(st.integers(0, SHORT + 2), max_size=30))
def test_the_digest_is_the_sum_of_sha256(sizes: list[int]) -> None:
    """Subsets of any and of different lengths are hashed as the definition says."""
    assert digest(block := block_of(sizes)) == one_by_one(block)


@pytest.mark.parametrize("size", [0, 1, 5, 6, 7, 13, 14, SHORT, SHORT + 1])
@pytest.mark.parametrize("n_subsets", [1, 7, 8, 9, 200])
def test_equally_long_subsets(size: int, n_subsets: int) -> None:
    """The same where all are equally long, on both sides of every block of SHA-256 and of eight subsets at a time."""
    assert digest(block := block_of([size] * n_subsets)) == one_by_one(block)


@pytest.mark.parametrize("size", [1, 3])
def test_every_changed_bit_is_seen(size: int) -> None:
    """A bit turned anywhere, two values swapped, or a subset missing, twice or under another number: all are seen."""
    sound = block_of([size] * 19)
    found = {digest(sound)}
    for place in range(64 * len(sound.values)):
        values = sound.values.copy()
        values.view(np.uint64)[place // 64] ^= np.uint64(1 << place % 64)
        found.add(digest(Block(sound.subsets, sound.starts, values)))
    for first in range(len(sound.values)):
        for second in range(first):
            values = sound.values.copy()
            values[[first, second]] = values[[second, first]]
            found.add(digest(Block(sound.subsets, sound.starts, values)))
    for at in range(19):
        for order in ([*range(at), *range(at + 1, 19)], [*range(at), at, *range(at, 19)]):
            rows = sound.values.reshape(19, size)[order].reshape(-1)
            found.add(digest(Block(sound.subsets[order], np.arange(len(order) + 1) * size, rows)))
        subsets = sound.subsets.copy()
        subsets[at] ^= 1 << 41
        found.add(digest(Block(subsets, sound.starts, sound.values)))
    n_values = len(sound.values)
    assert len(found) == 1 + 64 * n_values + n_values * (n_values - 1) // 2 + 3 * 19


def test_refusals() -> None:
    """Bytes that do not divide among the subsets are refused, and nothing is read beyond their end."""
    assert sum_of_digests(np.zeros(0, np.uint8), np.zeros(0, np.uint8)) == 0
    for n_bytes, n_values in ((12, 8), (16, 8), (16, 24), (8, 4)):
        with pytest.raises(KernelArgumentError, match="expected 8 bytes"):
            sum_of_digests(np.zeros(n_bytes, np.uint8), np.zeros(n_values, np.uint8))
