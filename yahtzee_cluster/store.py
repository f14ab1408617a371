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
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError, printable, short, shown
from yahtzee_cluster.partition import ClassId, Partition
from yahtzee_cluster.recurrence import Block, Recurrence

FORMAT = 1
CHUNK_VALUES = 1 << 17
"""What one row is read with, at most: 1 MiB."""
HUGE_BYTES = 1 << 21
"""From here on memory is asked for in huge pages, which come several times as fast."""
SHARD = "c.0"
DROPPED = "dropped"
"""The one file with values that a class has."""
Memory = Callable[[int], NDArray[np.float64]]
"""What room for so many values comes from."""
Growth = Callable[[Partition, Collection[ClassId]], float]
"""How many bytes a table takes more than now until it is finished, from the classes that are committed."""

METADATA = "zarr.json"
MAX_METADATA_BYTES = 1 << 20
MAX_DEPTH = 16
"""Whatever goes through a header recursively comes to its end."""
MAX_ELEMENTS = 62
"""Subsets are signed integers of 64 bits."""

LOCK = ".lock"
LOCK_TRIES = 3
ASIDE = ".partial"
DEAD = "dead-"
CLASSES = "classes"
INDEX = "index"
HEADER = "yahtzee_cluster"
DIGEST = "sha256"
SEAL = "seal"
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What may come of reading metadata that somebody has damaged."""


class StoreError(YahtzeeClusterError):
    """Something is wrong with a table on disk."""


class DamagedError(StoreError):
    """The bytes of a class are not those that were committed."""


class DroppedError(DamagedError):
    """The values of a class were taken off the disk when nothing to come read them."""


class StoreRefusedError(UsageError):
    """The directory cannot take the table that was asked for."""


@dataclass(frozen=True)
class Header:
    """What a table says of itself."""

    identity: dict[str, Any]
    elements: tuple[str, ...]
    fixed: int
    provenance: dict[str, Any]

    @property
    def fixed_names(self) -> list[str]:
        """The elements of the fixed set."""
        return _names(self.fixed, self.elements)

    @property
    def stated(self) -> dict[str, Any]:
        """The header as it is stored."""
        facts = {"identity": self.identity, "elements": [*self.elements], "fixed": self.fixed_names}
        return {"format": FORMAT, **facts, "provenance": self.provenance}

    def describes(self, problem: Recurrence) -> bool:
        """Whether this is the header of a table of that problem."""
        return self.elements == problem.element_names and _json(self.identity) == _json(problem.identity)


class Store:
    """The classes of a table on disk, as any rank sees them."""

    def __init__(self, path: Path, partition: Partition) -> None:
        self.path = path
        self.partition = partition
        self._classes = path / CLASSES
        self._token = secrets.token_hex(8)

    def place(self, cls: ClassId) -> Path:
        """Where a class is found: under its layer, and its part of the fixed set in hexadecimal digits."""
        return self._classes / f"{self.partition.layer(cls):02}-{self.partition.part(cls):x}"

    def prepare(self) -> None:
        """Make the directories that classes are written into, and sweep what another run has left there."""
        (self.path / ASIDE).mkdir(exist_ok=True)
        self.sweep()
        self._classes.mkdir(exist_ok=True)

    def sweep(self) -> None:
        """Take away what was written and not committed."""
        for left in (self.path / ASIDE).iterdir():
            with suppress(FileNotFoundError):  # a rank that outlives its run has just committed it
                self._discard(left)

    def tombstone(self, worker: int) -> Path:
        """What is put here for the master to see when a worker has died."""
        return self.path / ASIDE / f"{DEAD}{worker}"

    @property
    def dead(self) -> list[int]:
        """The workers that have died in this run, as far as somebody could say so."""
        try:
            stones = [path.name for path in (self.path / ASIDE).glob(f"{DEAD}*")]
        except OSError:
            return []
        return sorted(int(number) for name in stones if (number := name.removeprefix(DEAD)).isdecimal())

    def start(self, subset: int) -> int:
        """Where the entries of a subset start in its class."""
        cls = self.partition.class_of(subset)
        at = int(np.searchsorted(self.partition.members(cls), subset))
        return int(self.partition.starts(cls)[at])

    @property
    def owner(self) -> str:
        """What the run that writes the table says of itself, as it is seen from here."""
        try:
            with _opened(self.path, LOCK) as file:
                return _owner(file)
        except OSError:
            return "nobody"

    @property
    def committed(self) -> list[ClassId]:
        """The classes that are on disk."""
        try:
            with _folder(self.path, CLASSES) as folder:
                present = {entry.name for entry in os.scandir(folder)}
        except OSError as error:
            raise StoreError(f"{self._classes}: {error.strerror}") from error
        return [cls for cls in self.partition.classes if self.place(cls).name in present]

    def write(self, cls: ClassId, block: Block) -> None:
        """Commit a class: from here on it is on disk for good."""
        shape = Shape.of(len(block.values))
        aside = self.path / ASIDE / f"{self.place(cls).name}.{self._token}"
        aside.mkdir()
        try:
            with (aside / SHARD).open("wb") as file:
                checksums = shape.write(file, block.values)
            (aside / METADATA).write_bytes(shape.metadata(f"{digest(block):064x}", self._seal(cls, checksums)))
            _make_durable(aside)
            aside.rename(self.place(cls))
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:  # those mean that somebody else was first
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        _sync(self._classes)

    def read(self, cls: ClassId) -> NDArray[np.float64]:
        """Read all entries of a class."""
        values, checksums = self._read(cls, 0, self.partition.n_values[cls], new_values)
        if self._stated(cls)[1] != self._seal(cls, checksums):
            raise self._damaged(cls, "its values are not those that were committed here")
        return values

    def row(self, cls: ClassId, start: int, stop: int) -> NDArray[np.float64]:
        """Read a few entries of a class."""
        values = self._read(cls, start, stop, np.empty)[0].copy()  # of its chunk, which may go
        self.digest(cls)  # makes sure that this is where the values lie
        if np.isnan(values).any():
            raise self._damaged(cls, "some of its values are missing")
        return values

    def digest(self, cls: ClassId) -> int:
        """What a class should have as its digest."""
        return int(self._stated(cls)[0], 16)

    def has_digest(self, cls: ClassId) -> bool:
        """Whether a class says what its digest is, which is all that is left of one that was dropped."""
        try:
            self.digest(cls)
        except DamagedError:
            return False
        return True

    def _seal(self, cls: ClassId, checksums: bytes) -> str:
        """What binds the chunks of a class to each other and to its place, and costs nothing."""
        return _checksum(self.place(cls).name.encode(), checksums).hex()

    def _stated(self, cls: ClassId) -> tuple[str, str]:
        """The digest and the seal of a class, from metadata that are to the letter what they should be."""
        try:
            text = _content(self.path, CLASSES, self.place(cls).name, METADATA)
        except (OSError, ValueError) as error:
            raise self._damaged(cls, f"its metadata are damaged: {error}") from error
        found = re.search(rb'"([0-9a-f]{64})", "seal": "([0-9a-f]{8})"', text)
        stated = (found[1].decode(), found[2].decode()) if found else ("", "")
        if text != Shape.of(self.partition.n_values[cls]).metadata(*stated):
            raise self._damaged(cls, "its metadata are damaged")
        return stated

    def block(self, cls: ClassId) -> Block:
        """Read a class, and make sure that its bytes are those that were committed."""
        block = Block(self.partition.members(cls), self.partition.starts(cls), self.read(cls))
        if digest(block) != self.digest(cls):
            raise self._damaged(cls, "its values do not match its digest")
        return block

    def _read(self, cls: ClassId, start: int, stop: int, memory: Memory) -> tuple[NDArray[np.float64], bytes]:
        try:
            with _opened(self.path, CLASSES, self.place(cls).name, SHARD) as file:
                return Shape.of(self.partition.n_values[cls]).read(file, start, stop, memory)
        except (OSError, ValueError) as error:
            raise self._damaged(cls, error) from error

    def _damaged(self, cls: ClassId, problem: object) -> DamagedError:
        place = self.place(cls)
        if (place / DROPPED).exists():
            return DroppedError(f"{place}: was dropped when nothing to come read it; run its job with --keep all")
        if not place.exists():
            return DamagedError(f"{place}: is not there: the table is not finished; run its job again, and it goes on")
        return DamagedError(f"{place}: {problem}; run its job again, and it is computed anew")

    def impossible(self, cls: ClassId) -> StoreError:
        """What to say of a class whose bytes are those that were committed, and cannot be true."""
        return StoreError(f"{self.place(cls)}: holds values that cannot be; compute the table anew, elsewhere")

    def drop(self, cls: ClassId) -> None:
        """Take the values of a class off the disk, and leave its digest: nothing to come reads them."""
        with _folder(self.path, CLASSES, self.place(cls).name) as folder:
            os.close(_open_plain(DROPPED, os.O_WRONLY | os.O_CREAT, folder))  # who lost his values without is damaged
            with suppress(FileNotFoundError):
                os.unlink(SHARD, dir_fd=folder)

    @property
    def dropped(self) -> set[ClassId]:
        """The classes that were on disk once, and of which only their digests are left."""
        return {cls for cls in self.committed if (self.place(cls) / DROPPED).exists()}

    def remove(self, cls: ClassId) -> None:
        """Take a class off the disk, as a whole."""
        self._discard(self.place(cls))

    def _discard(self, path: Path) -> None:
        """Delete something, all of it at once for whoever might look at it or rename it meanwhile."""
        aside = self.path / ASIDE / f"{self._token}.removed"
        path.rename(aside)
        if aside.is_dir() and not aside.is_symlink():
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

    def metadata(self, digest: str, seal: str) -> bytes:
        """The metadata of the array, as Zarr's specification has them."""
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
            "attributes": {DIGEST: digest, SEAL: seal},
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

    def read(self, file: IO[bytes], start: int, stop: int, memory: Memory) -> tuple[NDArray[np.float64], bytes]:
        """Read some values from the shard, and the checksums of their chunks.

        Complain of any byte that is wrong in these chunks, or in the index.
        """
        if os.fstat(file.fileno()).st_size != self.n_chunks * self._chunk_bytes + len(self._index):
            raise ValueError("its shard is not as long as it should be")
        first = min(start // self.chunk, self.n_chunks - 1)
        n_read = max(-(-stop // self.chunk) - first, 1)  # a class without values has a chunk as well
        values = memory(min((first + n_read) * self.chunk, self.n_values) - first * self.chunk)
        file.seek(first * self._chunk_bytes)
        checksums = b""
        for at in range(0, n_read * self.chunk, self.chunk):
            checksums += self._read_chunk(file, values[at : at + self.chunk], first * self.chunk + at)
        file.seek(self.n_chunks * self._chunk_bytes)
        if file.read() != self._index:
            raise ValueError("its index of chunks is damaged")
        return values[start - first * self.chunk : stop - first * self.chunk], checksums

    def _read_chunk(self, file: IO[bytes], values: NDArray[np.float64], start: int) -> bytes:
        n_read = file.readinto(values)  # type: ignore[attr-defined]
        chunk = _bytes_of(values)
        padding = file.read(len(self._padding(chunk)))
        checksum = _checksum(chunk, padding)
        if n_read != len(chunk) or file.read(4) != checksum:
            raise ValueError(f"its chunk from value {start} on is damaged")
        return checksum

    def _padding(self, chunk: NDArray[np.uint8]) -> bytes:
        return np.full(self.chunk - len(chunk) // 8, np.nan, "<f8").tobytes()

    @property
    def _chunk_bytes(self) -> int:
        return 8 * self.chunk + 4

    @property
    def _index(self) -> bytes:
        """Where each chunk starts and how long it is, with a checksum."""
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
        _refuse_links(path)
        stored = json.loads(_content(path, METADATA))["attributes"].get(HEADER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        kind = StoreRefusedError if error.errno == errno.ENAMETOOLONG else StoreError
        raise kind(f"{path}: cannot be read: {error.strerror}") from error
    except UNREADABLE as error:
        raise StoreError(f"{path}: its zarr.json is damaged: {error}") from error
    if stored is None:
        return None
    try:
        if stored["format"] != FORMAT:
            raise StoreError(f"{path}: has format {shown(stored['format'])}; this version reads format {FORMAT}")
        return _header(stored)
    except UNREADABLE as error:
        raise StoreError(f"{path}: its zarr.json is damaged: {error}") from error


def _header(stored: dict[str, Any]) -> Header:
    """The header that is stored, if it is one that might have been written here."""
    elements = tuple(stored["elements"][:MAX_ELEMENTS])
    fixed = sum(1 << elements.index(name) for name in stored["fixed"])
    header = Header(dict(stored["identity"]), elements, fixed, dict(stored["provenance"]))
    if _is_deeper(stored, MAX_DEPTH) or header.stated != stored:
        raise ValueError("its header is not as it is written here")
    return header


def _is_deeper(value: object, depth: int) -> bool:
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not depth or any(_is_deeper(item, depth - 1) for item in within)


def _json(value: object) -> str:
    """What tells true from 1, and 1 from 1.0."""
    return json.dumps(value, sort_keys=True)


@contextmanager
def claim(
    path: Path,
    problem: Recurrence,
    fixed: int,
    provenance: Mapping[str, Any],
    growth: Growth | None = None,
) -> Iterator[Store]:
    """The table of a problem in a directory, begun if it is not there, for one run at a time.

    Without provenance, nothing on disk says where it runs. Where not all is kept, `growth` knows what it takes.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not (read_header(path) or _is_ours(path)):
            raise StoreRefusedError(f"{path}: holds other things; name an empty or a new directory with --store")
        with _lock(path / LOCK, _who(named=bool(provenance))):
            store = Store(path, problem.partition(fixed))
            header = read_header(path)
            if header is None:
                metadata = _first_metadata(path, problem, fixed, provenance)
                _check_room(store, growth, begun=False)
            else:
                _compare(path, header, problem, fixed)
            try:
                store.prepare()
                if header is None:
                    _begin(store, problem, metadata)
                else:
                    _check_room(store, growth, begun=True)
                yield store
            finally:
                with suppress(OSError):  # as when a rank that outlives the run writes on
                    store.sweep()
                    (path / ASIDE).rmdir()
    except OSError as error:
        where = printable(str(error.filename or path))
        raise StoreError(f"{where}: {error.strerror or error}") from error


def _check_room(store: Store, growth: Growth | None, *, begun: bool) -> None:
    """Refuse a file system on which what is missing of a table has no room."""
    committed = store.committed if begun else []
    if growth is not None:
        missing: float = growth(store.partition, committed)
    else:
        there = set(committed) - (store.dropped if begun else set())
        missing = 8 * sum(n for cls, n in store.partition.n_values.items() if cls not in there)
    disk = shutil.disk_usage(store.path)
    if disk.free < 1.01 * missing and disk.total:  # not every file system says how large it is
        raise StoreRefusedError(
            f"{store.path}: has room for {_megabytes(disk.free)}, and the table still takes "
            f"{_megabytes(1.01 * missing)}; make room, or name a --store on another disk"
        )


def _megabytes(n_bytes: float) -> str:
    return f"{n_bytes / (1 << 20):,.1f} MB"


def _first_metadata(path: Path, problem: Recurrence, fixed: int, provenance: Mapping[str, Any]) -> bytes:
    """The metadata of a table to be begun; what nobody would read again is refused."""
    header = Header(problem.identity, problem.element_names, fixed, dict(provenance)).stated
    metadata = _group({HEADER: header})
    if len(metadata) > MAX_METADATA_BYTES or _is_deeper(json.loads(_json(header)), MAX_DEPTH):
        limits = f"{MAX_METADATA_BYTES:,} bytes, {MAX_DEPTH} levels deep"
        raise StoreRefusedError(f"{path}: what this table holds takes more to say than a header may have: {limits}")
    return metadata


def _begin(store: Store, problem: Recurrence, metadata: bytes) -> None:
    """Make the group; its header comes last, so that a table without one was never begun."""
    import zarr

    partition, path = store.partition, store.path
    aside = path / ASIDE / INDEX
    index = zarr.create_group(
        zarr.storage.LocalStore(aside),  # a plain name might be taken for an address
        attributes={"about": "row i lies in classes/<layer, two digits>-<part in hexadecimal>, at offset, so long"},
    )
    for name, column in _index_columns(problem, partition).items():
        index.create_array(name, data=column)
    if (path / INDEX).exists():
        (path / INDEX).rename(path / ASIDE / "index.old")
    aside.rename(path / INDEX)
    _write_group(path / CLASSES, path / ASIDE, _group({}))
    _make_durable(path / INDEX)
    _write_group(path, path / ASIDE, metadata)


def _group(attributes: dict[str, Any]) -> bytes:
    """The metadata of a Zarr group."""
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=2).encode()


def _write_group(path: Path, aside: Path, metadata: bytes) -> None:
    """Make a directory a Zarr group, at once or not at all."""
    (aside / METADATA).write_bytes(metadata)
    _sync(aside / METADATA)
    (aside / METADATA).rename(path / METADATA)
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
    asked = json.loads(_json(problem.identity))
    for key in sorted({*asked, *header.identity}):
        there, here = header.identity.get(key), asked.get(key)
        if _json(there) != _json(here):
            raise StoreRefusedError(
                f"{path}: holds a table for another {short(key)}: {shown(there)} there, {shown(here)} asked for; "
                "name another --store"
            )
    if not header.describes(problem):
        raise StoreError(f"{path}: its zarr.json is damaged: the elements are not those of its identity")
    if fixed != header.fixed:
        there, here = (",".join(names) or "nothing" for names in (header.fixed_names, _names(fixed, header.elements)))
        raise StoreRefusedError(f"{path}: is cut by another G: {there} there, {here} asked for; leave --G away")


def _names(subset: int, elements: tuple[str, ...]) -> list[str]:
    return [name for i, name in enumerate(elements) if subset >> i & 1]


def _refuse_links(path: Path) -> None:
    """Refuse a directory in which a link would lead a run elsewhere."""
    for name in (LOCK, ASIDE, CLASSES, INDEX, METADATA):
        if (path / name).is_symlink():
            raise StoreRefusedError(
                f"{path / name}: is a symbolic link, and none is followed; put what it stands for in its place"
            )


def _is_ours(path: Path) -> bool:
    """Whether a directory without a header is empty, or holds what is left of a table that was never begun."""
    names = {entry.name for entry in path.iterdir()} - {LOCK}
    if not names:
        return True
    begun = ASIDE in names and names <= {ASIDE, CLASSES, INDEX}
    return begun and {entry.name for entry in path.glob("classes/*")} <= {METADATA}


@contextmanager
def _lock(path: Path, owner: str) -> Iterator[None]:
    """Hold a file for this run alone; the operating system lets go of it however the run ends."""
    n_tries = 0
    while True:
        file = open(path, "a+b", opener=_open_plain)  # noqa: SIM115  # it is given up where the lock is
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = _owner(file)
            file.close()
            n_tries += 1
            if n_tries < LOCK_TRIES:  # somebody may only be looking who the writer is
                time.sleep(0.1)
                continue
            raise StoreRefusedError(f"{path.parent}: is being written by another run ({other})") from None
        if _is_the_file(file, path):
            break
        file.close()  # its last owner removed it just now
    with file:
        if os.fstat(file.fileno()).st_nlink > 1:
            raise StoreRefusedError(f"{path}: is the same file as one elsewhere; remove it here")
        try:
            file.truncate(0)
            file.write(owner.encode())
            file.flush()
            os.fsync(file.fileno())  # on whatever host, those who work for this run look for it
            yield
        finally:
            path.unlink(missing_ok=True)


def _who(named: bool) -> str:
    """What this run tells others of itself."""
    process = f"process {os.getpid()}"
    return f"{process} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M:%S}" if named else process


def writer(path: Path) -> str | None:
    """Which run is writing the table in a directory, if any."""
    try:
        file = _opened(path, LOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path / LOCK}: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _owner(file)
    return None


def _owner(file: IO[bytes]) -> str:
    file.seek(0)
    return printable(file.read(200).decode(errors="replace")) or "which has not said who it is"


def _is_the_file(file: IO[bytes], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino == path.lstat().st_ino
    except FileNotFoundError:
        return False


# ------------------------------------------------------------------------------------------ files and links


@contextmanager
def _folder(root: Path, *names: str) -> Iterator[int]:
    """A directory below another one, on a way without links."""
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in names:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _opened(root: Path, *names: str) -> IO[bytes]:
    """A file below a directory, on a way without links."""
    with _folder(root, *names[:-1]) as folder:
        return open(names[-1], "rb", opener=partial(_open_plain, dir_fd=folder))


def _open_plain(path: str, flags: int, dir_fd: int | None = None) -> int:
    """Open a file that is no link, and nothing that one might wait for."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return descriptor


def _content(root: Path, *names: str) -> bytes:
    """What metadata say, which are never long."""
    with _opened(root, *names) as file:
        if os.fstat(file.fileno()).st_size > MAX_METADATA_BYTES:
            raise ValueError(f"{names[-1]} is longer than {MAX_METADATA_BYTES} bytes")
        return file.read(MAX_METADATA_BYTES)


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
