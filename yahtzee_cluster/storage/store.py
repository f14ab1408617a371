"""Tables on disk: one Zarr group for a table, one array for a class. The only module that knows Zarr.

A class is written aside, made durable, and renamed into its place, so it is there as a whole or not at all.
Its metadata carry the digest of its entries, the checksums of its chunks, and a seal that binds both to the place of
the class and to the identity of the table: a class that does not match counts as damaged, whoever put it there.

Every run has a token, and writes below a directory of that name only. Renaming out of that directory is what commits
a class or takes one away, so a run whose table was removed or taken over changes nothing any more.

The digest of a table is the sum, modulo 2^256, of the SHA-256 of every subset (its number and its entries, as
little-endian bytes).
So it does not depend on how the table was cut into classes, nor on the order in which they were computed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import mmap
import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Block, Recurrence
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError, printable, short, shown

log = logging.getLogger(__name__)

FORMAT = 2
CHUNK_VALUES = 1 << 17
"""What one row is read with, at most: 1 MiB."""
HUGE_BYTES = 1 << 21
"""From here on memory is asked for in huge pages, which come several times as fast."""
SHARD = "c.0"
"""The one file with values that a class has."""
DROPPED = "dropped"
"""Marks a class whose values were, or are about to be, taken off the disk on purpose."""
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

NO_DAMAGE = {
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE, errno.ETIMEDOUT),
    *(errno.ENOTCONN, errno.EINTR, errno.EAGAIN),
}
"""These say that a file cannot be read by this process, or just now; not that there is anything wrong with it."""
GONE = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE}
"""These may come of a directory that was removed."""
NOWHERE = {
    *(errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EINVAL),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
}
"""These say of a directory to be made or locked that it can never be had."""

LOCK = ".lock"
LOCK_TRIES = 3
ASIDE = ".partial"
DEAD = "dead-"
CLASSES = "classes"
INDEX = "index"
HEADER = "yahtzee_cluster"
DIGEST = "sha256"
CHECKSUMS = "crc32c"
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


class ReplacedError(StoreError):
    """The directory is not that of this run any more, or the run of this rank has ended."""

    ends_at_once = True

    def __init__(self, path: Path, what: str = "was removed, or taken over by another run, while this one wrote it"):
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        return f"{self.path}: {self.what}; nothing more is written"


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

    @property
    def key(self) -> bytes:
        """A digest of all but the provenance."""
        return hashlib.sha256(_json(self.stated | {"provenance": {}}).encode()).digest()

    def describes(self, problem: Recurrence) -> bool:
        """Whether this is the header of a table of that problem."""
        return self.elements == problem.element_names and _json(self.identity) == _json(problem.identity)


class Store:
    """The classes of a table on disk, as any rank sees them; `run` is the token of the run that may write them."""

    def __init__(self, path: Path, partition: Partition, key: bytes, run: str = "") -> None:
        self.path = path
        self.partition = partition
        self.run = run
        self._key = key
        self._classes = path / CLASSES
        self._token = secrets.token_hex(8)
        self._has_joined = False
        self._heeds_lock = False

    @classmethod
    def of(cls, path: Path, problem: Recurrence, fixed: int, run: str = "") -> Store:
        """The table of a problem in a directory, cut by a fixed set."""
        return cls(path, problem.partition(fixed), table_key(problem, fixed), run)

    def place(self, cls: ClassId) -> Path:
        """Where a class is found: under its layer, and its part of the fixed set in hexadecimal digits."""
        return self._classes / f"{self.partition.layer(cls):02}-{self.partition.part(cls):x}"

    # ------------------------------------------------------------------------------------------------ the run

    def begin_run(self) -> None:
        """Make the directory that this run writes in."""
        for _ in range(LOCK_TRIES):
            (self.path / ASIDE).mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # a run that ends just now has taken `.partial` away
                (self.path / ASIDE / self.run).mkdir()
                return
        raise StoreRefusedError(f"{self.path}: other runs come and go here; try again")

    def prepare(self) -> None:
        """Make the directory of the classes, and sweep what other runs have left unfinished."""
        with self.own() as own:
            with _below(own, "..") as aside:
                left = {entry.name for entry in os.scandir(aside)} - {self.run}
            for name in left:
                self._discard(own, f"../{name}")
            with suppress(FileExistsError):
                os.mkdir(f"../../{CLASSES}", dir_fd=own)

    def end_run(self, lock: IO[bytes]) -> None:
        """Give the table free, and take away what was not committed; nothing of another run that has taken it over.

        The lock goes by way of this run's own directory: where that is gone, the file of that name is another run's.
        Where a table was half begun, `.partial` stays, and tells the next run that the rest may go.
        """
        with suppress(ReplacedError), self.own() as own:
            if _names_run(own, self.run):
                os.rename(f"../../{LOCK}", LOCK, src_dir_fd=own, dst_dir_fd=own)
            lock.close()  # NFS keeps a file that is open under another name
            with suppress(OSError):  # as when a rank that outlives the run writes on
                shutil.rmtree(self.path / ASIDE / self.run)
                names = _names_in(self.path)
                if METADATA in names or not names & {CLASSES, INDEX}:
                    (self.path / ASIDE).rmdir()
        self.run = ""

    def check_lock(self) -> None:
        """Complain if the lock of the table is not this run's any more."""
        with self.own() as own:
            self._check_lock(own)

    def check_header(self) -> None:
        """Complain if the header is not the one that this table has."""
        header = read_header(self.path)
        if header is None or header.key != self._key:
            raise ReplacedError(self.path, "has another zarr.json, or none, than this run began with")

    def join(self, run: str) -> None:
        """Write for a run that has claimed this directory; refuse a directory that it has not claimed."""
        self.run = run
        try:
            with self.own() as own:
                self._check_lock(own)
                self._has_joined, self._heeds_lock = True, _is_held(own)
        except ReplacedError:
            raise StoreRefusedError(
                f"{self.path} is not the directory that the master sees; name one on a disk that all hosts share "
                "with --store"
            ) from None
        if not self._heeds_lock:
            log.warning("%s: locks made on another host are not seen here: keep other runs off it", self.path)

    def _check_lock(self, own: int) -> None:
        if not _names_run(own, self.run) or (self._heeds_lock and not _is_held(own)):
            raise ReplacedError(self.path, "is not held by the run that this rank belongs to any more")

    def tombstone(self, worker: int) -> Path:
        """The file that is made when a worker of this run has died, for the master to see."""
        return self.path / ASIDE / self.run / f"{DEAD}{worker}"

    def dead(self) -> list[int]:
        """The workers of this run that have died, as far as is known; an error if the table is not this run's."""
        with self.own() as own:
            self._check_lock(own)
            stones = [entry.name.removeprefix(DEAD) for entry in os.scandir(own) if entry.name.startswith(DEAD)]
        return sorted(int(number) for number in stones if number.isdecimal())

    @contextmanager
    def own(self) -> Iterator[int]:
        """The directory of this run, open; everything is renamed into or out of it.

        Relative to it, `../../classes` is the same table's, wherever that has been moved; once it was removed,
        nothing can be made in it.
        """
        assert self.run
        with ExitStack() as stack:
            try:
                own = stack.enter_context(_folder(self.path, ASIDE, self.run))
            except OSError as error:
                raise (ReplacedError(self.path) if error.errno in GONE else error) from None
            try:
                yield own
            except OSError as error:
                if error.errno in GONE and not os.path.isdir(self.path / ASIDE / self.run):  # noqa: PTH112
                    raise ReplacedError(self.path) from None
                raise

    @contextmanager
    def _folder(self, *names: str) -> Iterator[int]:
        """A directory of the table, open; where a run writes the table, that is the one that the run has claimed."""
        with ExitStack() as stack:
            if self.run:
                yield stack.enter_context(_below(stack.enter_context(self.own()), "..", "..", *names))
            else:
                yield stack.enter_context(_folder(self.path, *names))

    # ---------------------------------------------------------------------------------------------- the table

    def start(self, subset: int) -> int:
        """Where the entries of a subset start in its class."""
        cls = self.partition.class_of(subset)
        at = int(np.searchsorted(self.partition.members(cls), subset))
        return int(self.partition.starts(cls)[at])

    @property
    def committed(self) -> list[ClassId]:
        """The classes that are on disk."""
        try:
            with self._folder(CLASSES) as folder:
                present = {entry.name for entry in os.scandir(folder)}
        except OSError as error:
            raise StoreError(f"{self._classes}: {error.strerror}") from error
        return [cls for cls in self.partition.classes if self.place(cls).name in present]

    def write(self, cls: ClassId, block: Block) -> None:
        """Commit a class: from here on it is on disk for good."""
        shape, name = Shape.of(len(block.values)), self.place(cls).name
        aside, metadata = f"{name}.{self._token}", b""
        with self.own() as own, _below(own, "..", "..", CLASSES) as classes:
            with suppress(FileExistsError):  # nobody else has this name: a server that restarted was asked twice
                os.mkdir(aside, dir_fd=own)
            try:
                with _below(own, aside) as folder:
                    with _created(SHARD, folder) as file:
                        checksums = shape.write(file, block.values)
                    metadata = self._metadata(cls, shape, f"{digest(block):064x}", checksums)
                    with _created(METADATA, folder) as file:
                        file.write(metadata)
                    os.fsync(folder)
                if self._has_joined:
                    self._check_lock(own)
                self._commit(cls, metadata, own, aside)
            finally:
                shutil.rmtree(aside, ignore_errors=True, dir_fd=own)
            os.fsync(classes)

    def _commit(self, cls: ClassId, metadata: bytes, own: int, aside: str) -> None:
        """Rename a class into its place, unless it is there; what is there and is not sound goes.

        The place is named from the run's directory: where that is being swept, it leads nowhere.
        """
        place = f"../../{CLASSES}/{self.place(cls).name}"
        try:
            os.rename(aside, place, src_dir_fd=own, dst_dir_fd=own)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ENOENT}:
                raise
            # Somebody was first, or a server that restarted was asked twice.
            if not self.is_sound(cls):
                self._discard(own, place)
                os.rename(aside, place, src_dir_fd=own, dst_dir_fd=own)
            elif _content_of(own, *place.split("/"), METADATA) != metadata:
                raise self._damaged(cls, "it has come while this run computed it, and is not the same") from error

    def read(self, cls: ClassId) -> NDArray[np.float64]:
        """Read all entries of a class, chunk by chunk held against the checksums that its seal covers."""
        return self._read(cls, 0, self.partition.n_values[cls], new_values)

    def row(self, cls: ClassId, start: int, stop: int) -> NDArray[np.float64]:
        """Read a few entries of a class; their chunks are held against the checksums that its seal covers."""
        values = self._read(cls, start, stop, np.empty).copy()  # of its chunk, which may go
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

    def _metadata(self, cls: ClassId, shape: Shape, digest: str, checksums: bytes) -> bytes:
        """The metadata of a class with these values; the seal binds them to the table and to their place in it."""
        name = self.place(cls).name.encode()
        seal = hashlib.sha256(b"\0".join([self._key, name, bytes.fromhex(digest), checksums])).hexdigest()
        return shape.metadata({DIGEST: digest, CHECKSUMS: checksums.hex(), SEAL: seal})

    def _stated(self, cls: ClassId) -> tuple[str, bytes]:
        """The digest of a class and the checksums of its chunks, from metadata that are to the letter as sealed."""
        try:
            with self._folder(CLASSES) as classes:
                text = _content_of(classes, self.place(cls).name, METADATA)
        except (OSError, ValueError) as error:
            raise self._unreadable(cls, error, "its metadata are damaged: ") from error
        found = re.search(rb'"([0-9a-f]{64})", "crc32c": "((?:[0-9a-f]{8})+)"', text)
        stated = (found[1].decode(), bytes.fromhex(found[2].decode())) if found else ("", b"")
        if text != self._metadata(cls, Shape.of(self.partition.n_values[cls]), *stated):
            raise self._damaged(cls, "its metadata are damaged, or those of another table")
        return stated

    def block(self, cls: ClassId) -> Block:
        """Read a class, and make sure that its bytes are those that were committed."""
        block = Block(self.partition.members(cls), self.partition.starts(cls), self.read(cls))
        if digest(block) != self.digest(cls):
            raise self._damaged(cls, "its values do not match its digest")
        return block

    def _read(self, cls: ClassId, start: int, stop: int, memory: Memory) -> NDArray[np.float64]:
        checksums = self._stated(cls)[1]
        try:
            with self._folder(CLASSES) as classes, _opened_below(classes, self.place(cls).name, SHARD) as file:
                return Shape.of(self.partition.n_values[cls]).read(file, start, stop, memory, checksums)
        except (OSError, ValueError) as error:
            raise self._unreadable(cls, error) from error

    def _unreadable(self, cls: ClassId, error: OSError | ValueError, what: str = "") -> StoreError:
        """What to say of a class that cannot be read; it is damaged, unless the error says nothing of the class."""
        if isinstance(error, OSError) and error.errno in NO_DAMAGE:
            return StoreError(f"{self.place(cls)}: cannot be read: {error.strerror}")
        return self._damaged(cls, f"{what}{error}")

    def _damaged(self, cls: ClassId, problem: object) -> DamagedError:
        place = self.place(cls)
        if self._is_dropped(cls):
            return DroppedError(f"{place}: was dropped when nothing to come read it; run its job with --keep all")
        if not place.exists():
            return DamagedError(f"{place}: is not there: the table is not finished; run its job again, and it goes on")
        return DamagedError(f"{place}: {problem}; run its job again, and it is computed anew")

    def impossible(self, cls: ClassId) -> StoreError:
        """What to say of a class whose bytes are those that were committed, and cannot be true."""
        return StoreError(f"{self.place(cls)}: holds values that cannot be; compute the table anew, elsewhere")

    def drop(self, cls: ClassId) -> None:
        """Take the values of a class off the disk, and leave its digest: nothing to come reads them.

        The mark is on the disk for good before the values go: who has lost his values without it is damaged.
        """
        name = self.place(cls).name
        with self.own() as own, _below(own, "..", "..", CLASSES, name) as folder:
            os.close(_open_plain(DROPPED, os.O_WRONLY | os.O_CREAT, folder))
            os.fsync(folder)
            with suppress(FileNotFoundError):
                os.rename(SHARD, f"{name}.{DROPPED}", src_dir_fd=folder, dst_dir_fd=own)
                os.unlink(f"{name}.{DROPPED}", dir_fd=own)

    @property
    def dropped(self) -> set[ClassId]:
        """The classes that were on disk once, and of which only their digests are left."""
        return {cls for cls in self.committed if self._is_dropped(cls)}

    def _is_dropped(self, cls: ClassId) -> bool:
        try:
            with self._folder(CLASSES, self.place(cls).name) as folder:
                names = {entry.name for entry in os.scandir(folder)}
        except OSError:
            return False
        return DROPPED in names and SHARD not in names

    def remove(self, cls: ClassId) -> None:
        """Take a class off the disk, as a whole."""
        with self.own() as own:
            self._discard(own, f"../../{CLASSES}/{self.place(cls).name}")

    def _discard(self, own: int, path: str) -> None:
        """Delete something, all of it at once for whoever might look at it or rename it meanwhile."""
        aside = f"{secrets.token_hex(8)}.removed"
        with suppress(FileNotFoundError):  # a rank that outlives its run has just renamed it
            os.rename(path, aside, src_dir_fd=own, dst_dir_fd=own)
            if stat.S_ISDIR(os.stat(aside, dir_fd=own, follow_symlinks=False).st_mode):
                shutil.rmtree(aside, ignore_errors=True, dir_fd=own)  # such a rank may still write into it
            else:
                os.unlink(aside, dir_fd=own)

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


def table_key(problem: Recurrence, fixed: int) -> bytes:
    """What every class of a table is sealed with: the format, all that its values depend on, and how it is cut."""
    return Header(problem.identity, problem.element_names, fixed, {}).key


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

    def metadata(self, attributes: Mapping[str, str]) -> bytes:
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

        Complain of any byte that is wrong in these chunks, or in the index.
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
            raise StoreRefusedError(
                f"{path}: has format {shown(stored['format'])}, and this version reads and writes format {FORMAT}; "
                "compute the table again, in another directory or after removing this one"
            )
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
        _make_directory(table_path(path))
        _refuse_links(path)
        if not (_is_ours(path) or read_header(path)):  # in this order: a run may just be beginning the table
            raise StoreRefusedError(f"{path}: holds other things; name an empty or a new directory with --store")
        run = secrets.token_hex(8)
        with _locked(path / LOCK, f"{run}\n{_who(named=bool(provenance))}") as lock:
            store = Store.of(path, problem, fixed, run)
            store.begin_run()
            try:
                store.check_lock()
                header = read_header(path)
                if header is None:
                    metadata = _first_metadata(path, problem, fixed, provenance)
                    _check_room(store, growth, begun=False)
                    store.prepare()
                    _begin(store, problem, metadata)
                else:
                    _compare(path, header, problem, fixed)
                    store.prepare()
                    _check_room(store, growth, begun=True)
                yield store
            except BaseException:
                with suppress(OSError):
                    store.end_run(lock)
                raise
            store.end_run(lock)
    except OSError as error:
        named = isinstance(error.filename, str | Path) and Path(error.filename).is_absolute()
        where = printable(str(error.filename if named else path))
        raise StoreError(f"{where}: {error.strerror or error}") from error


def table_path(text: str | Path) -> Path:
    """The directory that somebody names for a table; nothing at all, or an address, names none."""
    if not str(text):
        raise StoreRefusedError("store: expected a directory, found nothing; is a variable unset?")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", str(text)):
        raise StoreRefusedError(
            f"{printable(str(text))}: is an address; name a directory on a disk that all hosts share"
        )
    return Path(text)


def _make_directory(path: Path) -> None:
    """Make the directory of a table, and refuse a path that can have none."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno not in NOWHERE:
            raise
        what = "Not a directory" if error.errno == errno.EEXIST else error.strerror
        raise StoreRefusedError(f"{short(str(path))}: {what}; name another directory with --store") from error


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

    with store.own() as own:
        index = zarr.create_group(
            zarr.storage.LocalStore(f"/proc/self/fd/{own}/{INDEX}"),  # in this run's directory, wherever that is
            attributes={"about": "row i lies in classes/<layer, two digits>-<part in hexadecimal>, at offset, so long"},
        )
        for name, column in _index_columns(problem, store.partition).items():
            index.create_array(name, data=column)
        _make_durable(Path(f"/proc/self/fd/{own}/{INDEX}"))
        store.check_lock()
        with suppress(FileNotFoundError):
            os.rename(f"../../{INDEX}", f"{INDEX}.old", src_dir_fd=own, dst_dir_fd=own)
        os.rename(INDEX, f"../../{INDEX}", src_dir_fd=own, dst_dir_fd=own)
        _write_group(own, ("..", "..", CLASSES), _group({}))
        _write_group(own, ("..", ".."), metadata)


def _group(attributes: dict[str, Any]) -> bytes:
    """The metadata of a Zarr group."""
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=2).encode()


def _write_group(own: int, way: tuple[str, ...], metadata: bytes) -> None:
    """Make a directory a Zarr group, at once or not at all; the way to it begins in the run's own directory."""
    with _created(METADATA, own) as file:
        file.write(metadata)
    os.rename(METADATA, "/".join((*way, METADATA)), src_dir_fd=own, dst_dir_fd=own)
    with _below(own, *way) as folder:
        os.fsync(folder)


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
    names = _names_in(path) - {LOCK}
    if not names:
        return True
    begun = ASIDE in names and names <= {ASIDE, CLASSES, INDEX}
    return begun and {entry.name for entry in path.glob("classes/*")} <= {METADATA}


@contextmanager
def _locked(path: Path, owner: str) -> Iterator[IO[bytes]]:
    """A file that is locked for this run alone; the operating system lets go of it however the run ends."""
    n_tries = 0
    while True:
        try:
            file = open(path, "a+b", opener=_open_plain)  # noqa: SIM115  # it is given up where the lock is
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                raise
            raise StoreRefusedError(f"{path.parent}: cannot be written to: {error.strerror}") from error
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
        file.truncate(0)
        file.write(owner.encode())
        file.flush()
        os.fsync(file.fileno())  # whoever is refused, on whatever host, reads who it is
        yield file


def _is_held(own: int) -> bool:
    """Whether the run that this directory belongs to still holds its table."""
    try:
        with _below(own, "..", "..") as root, _opened_below(root, LOCK) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


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
    """Who the run is that holds a lock, which follows its token."""
    file.seek(0)
    who = file.read(200).decode(errors="replace").partition("\n")[2]
    return printable(who) or "which has not said who it is"


def _names_run(own: int, run: str) -> bool:
    """Whether the lock beside the directory of a run is that run's."""
    try:
        with _below(own, "..", "..") as root, _opened_below(root, LOCK) as lock:
            return lock.read(len(run) + 1) == f"{run}\n".encode()
    except FileNotFoundError:
        return False


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
        with _below(at, *names) as folder:
            yield folder
    finally:
        os.close(at)


@contextmanager
def _below(folder: int, *names: str) -> Iterator[int]:
    """The same, from a directory that is open."""
    at = os.dup(folder)
    try:
        for name in names:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


@contextmanager
def _created(name: str, folder: int) -> Iterator[IO[bytes]]:
    """A new file, which is on the disk for good when it is closed."""
    with open(name, "xb", opener=partial(os.open, mode=0o666, dir_fd=folder)) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _opened(root: Path, *names: str) -> IO[bytes]:
    """A file below a directory, on a way without links."""
    with _folder(root, *names[:-1]) as folder:
        return _opened_below(folder, names[-1])


def _opened_below(folder: int, *names: str) -> IO[bytes]:
    """The same, from a directory that is open."""
    with _below(folder, *names[:-1]) as last:
        return open(names[-1], "rb", opener=partial(_open_plain, dir_fd=last))


def _open_plain(path: str, flags: int, dir_fd: int | None = None) -> int:
    """Open a file that is no link, and nothing that one might wait for."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return descriptor


def _names_in(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def _content(root: Path, *names: str) -> bytes:
    """What metadata say, which are never long."""
    with _folder(root, *names[:-1]) as folder:
        return _content_of(folder, names[-1])


def _content_of(folder: int, *names: str) -> bytes:
    """The same, from a directory that is open."""
    with _opened_below(folder, *names) as file:
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
