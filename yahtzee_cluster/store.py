"""Tables on disk: one Zarr group for a table, one array for a class. The only module that knows Zarr.

A class is written aside, made durable, and renamed into its place, so it is there as a whole or not at all.
Its metadata carry the digest of its entries: a class whose bytes do not match its digest counts as not there.

The digest of a table is the sum, modulo 2^256, of the SHA-256 of every subset (its number and its entries, as
little-endian bytes).
So it does not depend on how the table was cut into classes, nor on the order in which they were computed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import mmap
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.partition import ClassId, Partition
from yahtzee_cluster.recurrence import Block, Recurrence

FORMAT = 1
CHUNK_VALUES = 1 << 17
"""What one row is read with, at most: 1 MiB."""
HUGE_BYTES = 1 << 21
"""From here on memory is asked for in huge pages, which come several times as fast."""
SHARD = "c.0"
"""The one file with values that a class has."""

LOCK = ".lock"
LOCK_TRIES = 3
ASIDE = ".partial"
HEADER = "yahtzee_cluster"
DIGEST = "sha256"
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What may come of reading metadata that somebody has damaged."""


class StoreError(YahtzeeClusterError):
    """Something is wrong with a table on disk."""


class DamagedError(StoreError):
    """The bytes of a class are not those that were committed."""


class StoreRefusedError(UsageError):
    """The directory cannot take the table that was asked for."""


@dataclass(frozen=True)
class Header:
    """What a table says of itself."""

    identity: dict[str, Any]
    elements: tuple[str, ...]
    fixed: int
    provenance: dict[str, Any]


class Store:
    """The classes of a table on disk, as any rank sees them."""

    def __init__(self, path: Path, partition: Partition) -> None:
        self.path = path
        self.partition = partition
        self._classes = path / "classes"

    def place(self, cls: ClassId) -> Path:
        """Where a class is found: under its layer, and its part of the fixed set in hexadecimal digits."""
        return self._classes / f"{self.partition.layer(cls):02}-{self.partition.part(cls):x}"

    def prepare(self) -> None:
        """Make the directories that classes are written into, and sweep what another run has left there."""
        (self.path / ASIDE).mkdir(exist_ok=True)
        for left in (self.path / ASIDE).iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        self._classes.mkdir(exist_ok=True)

    def start(self, subset: int) -> int:
        """Where the entries of a subset start in its class."""
        cls = self.partition.class_of(subset)
        at = int(np.searchsorted(self.partition.members(cls), subset))
        return int(self.partition.starts(cls)[at])

    @property
    def committed(self) -> list[ClassId]:
        """The classes that are on disk."""
        present = {path.name for path in self._classes.iterdir()}
        return [cls for cls in self.partition.classes if self.place(cls).name in present]

    def write(self, cls: ClassId, block: Block) -> None:
        """Commit a class: from here on it is on disk for good."""
        aside = self.path / ASIDE / f"{self.place(cls).name}.{socket.gethostname()}.{os.getpid()}"
        shutil.rmtree(aside, ignore_errors=True)  # of an attempt that failed
        aside.mkdir()
        shape = Shape.of(len(block.values))
        metadata = shape.metadata({DIGEST: f"{digest(block):064x}"})
        (aside / "zarr.json").write_text(json.dumps(metadata), encoding="utf-8")
        with (aside / SHARD).open("wb") as file:
            shape.write(file, block.values)
        _make_durable(aside)
        try:
            aside.rename(self.place(cls))
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
            shutil.rmtree(aside)  # somebody else was first, with the same bytes
        _sync(self._classes)

    def read(self, cls: ClassId) -> NDArray[np.float64]:
        """Read all entries of a class."""
        values = new_values(self.partition.n_values[cls])
        try:
            with (self.place(cls) / SHARD).open("rb") as file:
                Shape.of(len(values)).read(file, values)
            return values
        except (OSError, ValueError) as error:
            raise DamagedError(f"{self.place(cls)}: {error}; run the same command again to compute it anew") from error

    def row(self, cls: ClassId, start: int, stop: int) -> NDArray[np.float64]:
        """Read a few entries of a class, as any Zarr reader does."""
        import zarr

        try:
            values = np.asarray(zarr.open_array(str(self.place(cls)), mode="r")[start:stop])
        except Exception as error:  # whatever a damaged file may lead to
            raise DamagedError(f"{self.place(cls)}: {error}; run the same command again to compute it anew") from error
        if values.dtype != np.float64 or len(values) != stop - start or np.isnan(values).any():
            raise DamagedError(f"{self.place(cls)}: some of its values are missing")
        return values

    def digest(self, cls: ClassId) -> int:
        """What a class should have as its digest."""
        try:
            metadata = json.loads((self.place(cls) / "zarr.json").read_bytes())
            text = metadata["attributes"][DIGEST]
            if metadata != Shape.of(self.partition.n_values[cls]).metadata({DIGEST: text}):
                raise ValueError("they are not those of this class")
            return int(text, 16)
        except UNREADABLE as error:
            raise DamagedError(f"{self.place(cls)}: its metadata are damaged: {error}") from error

    def block(self, cls: ClassId) -> Block:
        """Read a class, and make sure that its bytes are those that were committed."""
        block = Block(self.partition.members(cls), self.partition.starts(cls), self.read(cls))
        if digest(block) != self.digest(cls):
            raise DamagedError(f"{self.place(cls)}: its values do not match its digest")
        return block

    def remove(self, cls: ClassId) -> None:
        """Take a class off the disk, as a whole."""
        aside = self.path / ASIDE / f"{self.place(cls).name}.removed"
        self.place(cls).rename(aside)
        if aside.is_dir():
            shutil.rmtree(aside)
        else:
            aside.unlink()

    def is_sound(self, cls: ClassId) -> bool:
        """Whether the bytes of a class are those that were committed."""
        try:
            self.block(cls)
        except DamagedError:
            return False
        return True

    @property
    def table_digest(self) -> str:
        """The digest of the whole table, when all of it is on disk."""
        return f"{sum(self.digest(cls) for cls in self.partition.classes) % 2**256:064x}"


def new_values(n_values: int) -> NDArray[np.float64]:
    """Memory that goes back to the system as soon as it is dropped; `malloc` would keep some of it."""
    if not n_values:
        return np.empty(0)
    memory = mmap.mmap(-1, 8 * n_values, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if len(memory) >= HUGE_BYTES:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.float64)


@dataclass(frozen=True)
class Shape:
    """How the values of a class lie in its one shard: in chunks of the same length, each followed by its checksum.

    This is the layout of Zarr's sharding codec, written and read without a copy of the values; the library makes
    several.
    """

    n_values: int
    n_chunks: int
    chunk: int

    @classmethod
    def of(cls, n_values: int) -> Shape:
        """The fewest chunks that are short enough, all of one length as Zarr wants them, the last one filled up."""
        n_chunks = max(1, -(-n_values // CHUNK_VALUES))
        return cls(n_values, n_chunks, max(1, -(-n_values // n_chunks)))

    def metadata(self, attributes: dict[str, str]) -> dict[str, Any]:
        """The metadata of the array, as Zarr's specification has them."""
        little, crc = {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}
        sharding = {
            "chunk_shape": [self.chunk],
            "codecs": [little, crc],
            "index_codecs": [little, crc],
            "index_location": "end",
        }
        return {
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

    def write(self, file: IO[bytes], values: NDArray[np.float64]) -> None:
        """Write the shard."""
        for start in range(0, self.n_chunks * self.chunk, self.chunk):
            chunk = _bytes_of(values[start : start + self.chunk])
            padding = self._padding(chunk)
            file.write(chunk.data)
            file.write(padding)
            file.write(_checksum(chunk, padding))
        file.write(self._index)

    def read(self, file: IO[bytes], out: NDArray[np.float64]) -> None:
        """Read the shard; complain of any byte that is wrong."""
        for start in range(0, self.n_chunks * self.chunk, self.chunk):
            values = out[start : start + self.chunk]
            n_read = file.readinto(values)  # type: ignore[attr-defined]
            chunk = _bytes_of(values)
            padding = file.read(len(self._padding(chunk)))
            if n_read != len(chunk) or file.read(4) != _checksum(chunk, padding):
                raise ValueError(f"its chunk from value {start} on is damaged")
        if file.read() != self._index:
            raise ValueError("its index of chunks is damaged")

    def _padding(self, chunk: NDArray[np.uint8]) -> bytes:
        return np.full(self.chunk - len(chunk) // 8, np.nan, "<f8").tobytes()

    @property
    def _index(self) -> bytes:
        """Where each chunk starts and how long it is, with a checksum."""
        n_bytes = 8 * self.chunk + 4
        index = np.array([(n * n_bytes, n_bytes) for n in range(self.n_chunks)], "<u8").tobytes()
        return index + _checksum(index)


def _bytes_of(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    return values.astype("<f8", copy=False).view(np.uint8)


def _checksum(*parts: bytes | NDArray[np.uint8]) -> bytes:
    crc = 0
    for part in parts:
        crc = google_crc32c.extend(crc, part)
    return crc.to_bytes(4, "little")


def digest(block: Block) -> int:
    """The digest of some subsets: sums of digests are digests of all the subsets together."""
    total = 0
    for subset, start, stop in zip(block.subsets.tolist(), block.starts[:-1], block.starts[1:], strict=True):
        hashed = hashlib.sha256(subset.to_bytes(8, "little"))
        hashed.update(block.values[start:stop].astype("<f8", copy=False).data)
        total += int.from_bytes(hashed.digest(), "big")
    return total % 2**256


# --------------------------------------------------------------------------------------------- a whole table


def read_header(path: Path) -> Header | None:
    """What the table in a directory says of itself; None where there is no table, or none that was ever begun."""
    try:
        stored = json.loads((path / "zarr.json").read_bytes())["attributes"].get(HEADER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    except UNREADABLE as error:
        raise StoreError(f"{path}: its zarr.json is damaged: {error}") from error
    if stored is None:
        return None
    try:
        if stored["format"] != FORMAT:
            raise StoreError(f"{path}: has format {stored['format']}; this version reads format {FORMAT}")
        elements = tuple(stored["elements"])
        fixed = sum(1 << elements.index(name) for name in stored["fixed"])
        return Header(dict(stored["identity"]), elements, fixed, dict(stored["provenance"]))
    except UNREADABLE as error:
        raise StoreError(f"{path}: its zarr.json is damaged: {error}") from error


@contextmanager
def claim(path: Path, problem: Recurrence, fixed: int, provenance: Mapping[str, Any]) -> Iterator[Store]:
    """The table of a problem in a directory, begun if it is not there, for one run at a time."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not (read_header(path) or _is_ours(path)):
            raise StoreRefusedError(f"{path}: holds other things; name an empty or a new directory with --store")
        with _lock(path / LOCK):
            store = Store(path, problem.partition(fixed))
            header = read_header(path)
            if header is not None:
                _compare(path, header, problem, fixed)
            store.prepare()
            if header is None:
                _begin(store, problem, provenance)
            yield store
            shutil.rmtree(path / ASIDE, ignore_errors=True)
    except OSError as error:
        where = error.filename or path
        raise StoreError(f"{where}: {error.strerror or error}") from error


def _begin(store: Store, problem: Recurrence, provenance: Mapping[str, Any]) -> None:
    """Make the group; its header comes last, so that a table without one was never begun."""
    import zarr

    partition, path = store.partition, store.path
    aside = path / ASIDE / "index"
    index = zarr.create_group(
        str(aside),
        attributes={"about": "row i lies in classes/<layer, two digits>-<part in hexadecimal>, at offset, so long"},
    )
    for name, column in _index_columns(problem, partition).items():
        index.create_array(name, data=column)
    if (path / "index").exists():
        (path / "index").rename(path / ASIDE / "index.old")
    aside.rename(path / "index")
    _write_group(path / "classes", path / ASIDE, {})
    header = {
        "format": FORMAT,
        "identity": problem.identity,
        "elements": problem.element_names,
        "fixed": [name for i, name in enumerate(problem.element_names) if partition.fixed >> i & 1],
        "provenance": dict(provenance),
    }
    _make_durable(path / "index")
    _write_group(path, path / ASIDE, {HEADER: header})


def _write_group(path: Path, aside: Path, attributes: dict[str, Any]) -> None:
    """Make a directory a Zarr group, at once or not at all."""
    text = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=2)
    (aside / "zarr.json").write_text(text, encoding="utf-8")
    _sync(aside / "zarr.json")
    (aside / "zarr.json").rename(path / "zarr.json")
    _sync(path)


def _index_columns(problem: Recurrence, partition: Partition) -> dict[str, NDArray[Any]]:
    """The index of rows, with the class of each and its place there."""
    columns = dict(problem.row_index())
    if not columns:
        return columns
    subsets = columns["subset"]
    start_of = np.zeros(1 << partition.n_elements, np.int64)
    for cls in partition.classes:
        start_of[partition.members(cls)] = partition.starts(cls)[:-1]
    columns["offset"] = columns["offset"] + start_of[subsets]
    columns["layer"] = np.bitwise_count(subsets)
    columns["part"] = (subsets & partition.fixed).astype(np.int32)
    return columns


def _compare(path: Path, header: Header, problem: Recurrence, fixed: int) -> None:
    asked = json.loads(json.dumps(problem.identity))
    for key in sorted({*asked, *header.identity}):
        if asked.get(key) != header.identity.get(key):
            there, here = _shown(header.identity.get(key)), _shown(asked.get(key))
            raise StoreRefusedError(
                f"{path}: holds a table for another {key}: {there} there, {here} asked for; name another --store"
            )
    if fixed != header.fixed:
        there, here = _names(header.fixed, header.elements), _names(fixed, problem.element_names)
        raise StoreRefusedError(f"{path}: is cut by another G: {there} there, {here} asked for; leave --G away")


def _names(fixed: int, elements: tuple[str, ...]) -> str:
    return ",".join(name for i, name in enumerate(elements) if fixed >> i & 1) or "nothing"


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_ours(path: Path) -> bool:
    """Whether a directory without a header is empty, or holds what is left of a table that was never begun."""
    names = {entry.name for entry in path.iterdir()} - {LOCK}
    if not names:
        return True
    begun = ASIDE in names and names <= {ASIDE, "classes", "index"}
    return begun and {entry.name for entry in path.glob("classes/*")} <= {"zarr.json"}


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a file for this run alone; the operating system lets go of it however the run ends."""
    n_tries = 0
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(file)
            file.close()
            n_tries += 1
            if n_tries < LOCK_TRIES:  # somebody may only be looking who the writer is
                time.sleep(0.1)
                continue
            raise StoreRefusedError(f"{path.parent}: is being written by another run ({owner})") from None
        if _is_the_file(file, path):
            break
        file.close()  # its last owner removed it just now
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M:%S}")
        file.flush()
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def writer(path: Path) -> str | None:
    """Which run is writing the table in a directory, if any."""
    try:
        file = (path / LOCK).open("r", encoding="utf-8")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _owner(file)
    return None


def _owner(file: IO[str]) -> str:
    file.seek(0)
    return file.read(200) or "which has not said who it is"


def _is_the_file(file: IO[str], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _make_durable(path: Path) -> None:
    for folder, _, names in path.walk() if hasattr(path, "walk") else os.walk(path):
        for name in names:
            _sync(Path(folder) / name)
        _sync(Path(folder))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
