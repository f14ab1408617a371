"""The shard of a class, with the checksums of its chunks; and digests of values.

A shard has the layout of Zarr's sharding codec. It is written and read here without copying the values; the library
makes several copies.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.kernels.sha256 import sum_of_digests

CHUNK_VALUES = 1 << 17
"""Largest chunk, 1 MiB: what must be read for a single row."""
HUGE_BYTES = 1 << 21
"""Arrays of at least this size use huge pages, which are several times as fast to allocate."""
SHORT = 64
"""Most entries of a subset that is hashed together with others; for longer ones a call each costs less."""
Memory = Callable[[int], NDArray[np.float64]]
"""Allocates an array of a given number of values."""


def new_values(n_values: int) -> NDArray[np.float64]:
    """Allocate values in memory that returns to the system as soon as it is freed; `malloc` would keep some of it."""
    if not n_values:
        return np.empty(0)
    memory = mmap.mmap(-1, 8 * n_values, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if len(memory) >= HUGE_BYTES:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.float64)


@dataclass(frozen=True)
class Shape:
    """Layout of a class in its one shard: chunks of equal length, each followed by its checksum."""

    n_values: int
    n_chunks: int
    chunk: int

    @classmethod
    def of(cls, n_values: int) -> Shape:
        """The fewest chunks within the limit, of equal length as Zarr requires; the last one is padded."""
        n_chunks = max(1, -(-n_values // CHUNK_VALUES))
        return cls(n_values, n_chunks, max(1, -(-n_values // n_chunks)))

    def metadata(self, attributes: Mapping[str, str]) -> bytes:
        """Zarr's metadata of the array."""
        little, crc = {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}
        sharding = {
            "chunk_shape": [self.chunk],
            "codecs": [little, crc],
            "index_codecs": [little, crc],
            "index_location": "end",
        }
        metadata = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [self.n_values],
            "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [self.n_chunks * self.chunk]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": "NaN",
            "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
            "attributes": attributes,
        }
        return json.dumps(metadata).encode()

    def write(self, file: IO[bytes], values: NDArray[np.float64]) -> bytes:
        """Write the shard; return the checksums of its chunks."""
        checksums = b""
        for start in range(0, self.n_chunks * self.chunk, self.chunk):
            chunk = _bytes_of(values[start : start + self.chunk])
            padding = self._padding(chunk)
            file.write(chunk.data)
            file.write(padding)
            checksums += _checksum(chunk, padding)
            file.write(checksums[-4:])
        file.write(self._index)
        return checksums

    def read(self, file: IO[bytes], start: int, stop: int, memory: Memory, checksums: bytes) -> NDArray[np.float64]:
        """Read some values from the shard, whose chunks should have these checksums.

        Raises ValueError if any byte is wrong in the chunks that are read, or in the index of chunks.
        """
        if os.fstat(file.fileno()).st_size != self.n_chunks * self._chunk_bytes + len(self._index):
            raise ValueError("its shard is not as long as it should be")
        first = min(start // self.chunk, self.n_chunks - 1)
        n_read = max(-(-stop // self.chunk) - first, 1)  # a class without values has a chunk as well
        values = memory(min((first + n_read) * self.chunk, self.n_values) - first * self.chunk)
        file.seek(first * self._chunk_bytes)
        for n in range(n_read):
            chunk = values[n * self.chunk : (n + 1) * self.chunk]
            self._read_chunk(file, chunk, first + n, checksums[4 * (first + n) :][:4])
        file.seek(self.n_chunks * self._chunk_bytes)
        if file.read() != self._index:
            raise ValueError("its index of chunks is damaged")
        return values[start - first * self.chunk : stop - first * self.chunk]

    def _read_chunk(self, file: IO[bytes], values: NDArray[np.float64], number: int, stated: bytes) -> None:
        n_read = file.readinto(values)  # type: ignore[attr-defined]
        chunk = _bytes_of(values)
        padding = file.read(len(self._padding(chunk)))
        checksum = _checksum(chunk, padding)
        if n_read != len(chunk) or file.read(4) != checksum:
            raise ValueError(f"its chunk {number} is damaged")
        if checksum != stated:
            raise ValueError(f"its chunk {number} is not the one that was committed here")

    def _padding(self, chunk: NDArray[np.uint8]) -> bytes:
        return np.full(self.chunk - len(chunk) // 8, np.nan, "<f8").tobytes()

    @property
    def _chunk_bytes(self) -> int:
        return 8 * self.chunk + 4

    @property
    def _index(self) -> bytes:
        """Index of chunks: offset and length of each, followed by a checksum."""
        index = np.array([(n * self._chunk_bytes, self._chunk_bytes) for n in range(self.n_chunks)], "<u8").tobytes()
        return index + _checksum(index)


def _bytes_of(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    return values.astype("<f8", copy=False).view(np.uint8)


def _checksum(*parts: bytes | NDArray[np.uint8]) -> bytes:
    crc = 0
    for part in parts:
        crc = google_crc32c.extend(crc, part)
    return crc.to_bytes(4, "little")


def digest(block: Block) -> int:
    """Digest of the subsets of a block; the digest of several blocks together is the sum of theirs."""
    sizes, total = np.diff(block.starts), 0
    for size in np.flatnonzero(np.bincount(sizes[sizes <= SHORT])).tolist():
        alike = sizes == size
        rows = block.values if alike.all() else block.values[block.starts[:-1][alike, None] + np.arange(size)]
        subsets = block.subsets[alike].astype("<i8", copy=False)
        total += sum_of_digests(subsets.view(np.uint8), _bytes_of(rows.reshape(-1)))
    for at in np.flatnonzero(sizes > SHORT).tolist():
        hashed = hashlib.sha256(int(block.subsets[at]).to_bytes(8, "little"))
        hashed.update(_bytes_of(block.values[block.starts[at] : block.starts[at + 1]]).data)
        total += int.from_bytes(hashed.digest(), "big")
    return total % 2**256
