"""The classes of a table on disk: reading, committing, dropping and removing them.

A class is written in the directory of its run, made durable, and moved into place by an atomic rename, so that it is
there as a whole or not at all. Its metadata hold the digest of its values, the checksums of its chunks, and a seal that
binds both to the place of the class and to the key of the table. A class that does not match its seal is damaged,
however it came there.

The digest of a table is the sum, modulo 2^256, of the SHA-256 of every subset (its number and its values, as
little-endian bytes). It depends neither on how the table was partitioned nor on the order of computation.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Block, Recurrence
from yahtzee_cluster.storage.errors import DamagedError, DroppedError, ReplacedError, StoreError, SubsetError
from yahtzee_cluster.storage.files import content_of, created, open_below, open_folder, open_plain, opened_below
from yahtzee_cluster.storage.header import read_header, table_key
from yahtzee_cluster.storage.paths import CLASSES, DROPPED, METADATA, SHARD
from yahtzee_cluster.storage.request import Asked, as_subsets
from yahtzee_cluster.storage.run_directory import RunDirectory, discard
from yahtzee_cluster.storage.shard import CHUNK_VALUES, Memory, Shape, digest, new_values

NO_DAMAGE = {
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE, errno.ETIMEDOUT),
    *(errno.ENOTCONN, errno.EINTR, errno.EAGAIN),
}
"""Errors that are due to this process or this moment, not to damage of the file."""

DIGEST = "sha256"
CHECKSUMS = "crc32c"
SEAL = "seal"


class Store:
    """The classes of a table on disk. Any rank reads them; a run writes them through its own directory.

    `store[subset]` reads the entries of a subset, and `store[subsets]` those of several: the numbers of a slice, or an
    array of any shape. From the table that the example of `start` has computed:

    >>> store = yc.open_table("cheapest", Cheapest())
    >>> print(store[0b111], store[[0b001, 0b010, 0b100]])
    5.0 [4. 2. 3.]
    """

    def __init__(self, path: Path, partition: Partition, key: bytes, run: str = "") -> None:
        self.path = path
        self.partition = partition
        self._run = RunDirectory(path, run) if run else None
        self._key = key
        self._classes = path / CLASSES
        self._token = secrets.token_hex(8)

    @classmethod
    def of(cls, path: Path, problem: Recurrence, fixed: int, run: str = "") -> Store:
        """Table of a problem in a directory, partitioned by a fixed set; `run` is the token of a run that writes it."""
        return cls(path, problem.partition(fixed), table_key(problem, fixed), run)

    def write_for(self, run: str) -> RunDirectory:
        """From here on, access the table for the run with this token."""
        self._run = RunDirectory(self.path, run)
        return self._run

    def release(self) -> None:
        """From here on, access the table for reading only, for no run."""
        self._run = None

    def place(self, cls: ClassId) -> Path:
        """Directory of a class, named by its layer and, in hexadecimal, its part of the fixed set."""
        return self._classes / f"{self.partition.layer(cls):02}-{self.partition.part(cls):x}"

    def check_header(self) -> None:
        """Raise ReplacedError if the header is not that of this table."""
        header = read_header(self.path)
        if header is None or header.key != self._key:
            raise ReplacedError(self.path, "has another zarr.json, or none, than this run began with")

    @contextmanager
    def _folder(self, *names: str) -> Iterator[int]:
        """Open a directory of the table; for a run that writes it, of the table that the run has claimed."""
        with self._run.folder(*names) if self._run else open_folder(self.path, *names) as folder:
            yield folder

    @property
    def run(self) -> RunDirectory:
        """Directory of the run that writes this table; requires that there is one."""
        assert self._run
        return self._run

    def start(self, subset: int) -> int:
        """Offset of the entries of a subset in its class."""
        return int(self.partition.starts_of(self.partition.class_of(subset), np.array([subset]))[0])

    def __len__(self) -> int:
        """Number of subsets of the elements, whether or not they exist."""
        return 1 << self.partition.n_elements

    def __getitem__(self, subsets: Asked) -> NDArray[np.float64]:
        """Read the entries of subsets: of one, of those with the numbers of a slice, or of an array of any shape.

        The result has the shape of the subsets, and a last dimension for the entries of each, unless `layer_sizes` says
        that all subsets of the problem have a single one. Only chunks of the table near them are read.

            table = yc.open_table("runs/weighted-tardiness-jobs-16-seed-1-G0", problem)
            table[0b101]                    # the subset of elements 0 and 2
            table[:]                        # all subsets, by number
            table[1 << np.arange(16)]       # the subsets with one element
        """
        asked = as_subsets(subsets, self.partition)
        every = asked.reshape(-1)
        sizes = self.partition.sizes(every)
        size = int(sizes.max(initial=0))
        if (sizes != size).any():
            raise SubsetError(f"subsets: these have {sizes.min()} to {size} entries; ask for one size at a time")
        values = np.empty((len(every), size))
        classes = self.partition.classes_of(every)
        for cls in map(ClassId, np.unique(classes).tolist()):
            places = np.flatnonzero(classes == cls)
            starts = self.partition.starts_of(cls, every[places])
            order = np.argsort(starts)
            for near in np.split(order, np.flatnonzero(np.diff(starts[order]) > CHUNK_VALUES) + 1):
                first, last = int(starts[near[0]]), int(starts[near[-1]])
                row = self.row(cls, first, last + size)
                values[places[near]] = row[(starts[near] - first)[:, None] + np.arange(size)]
        is_single = set(self.partition.layer_sizes or ()) == {1}
        return values.reshape(asked.shape if is_single else (*asked.shape, size))[()]

    __iter__ = None  # without an end: subsets that do not exist are refused

    @property
    def committed(self) -> list[ClassId]:
        """Classes on disk, including those whose values were dropped."""
        try:
            with self._folder(CLASSES) as folder:
                present = {entry.name for entry in os.scandir(folder)}
        except OSError as error:
            raise StoreError(f"{self._classes}: {error.strerror}") from error
        return [cls for cls in self.partition.classes if self.place(cls).name in present]

    def write(self, cls: ClassId, block: Block) -> None:
        """Commit a class: on return it is durable. The committed classes are the checkpoint of a run."""
        shape, name = Shape.of(len(block.values)), self.place(cls).name
        aside, metadata = f"{name}.{self._token}", b""
        with self.run.opened() as own, open_below(own, "..", "..", CLASSES) as classes:
            with suppress(FileExistsError):  # the name is unique: an NFS server has restarted and repeated the call
                os.mkdir(aside, dir_fd=own)
            try:
                with open_below(own, aside) as folder:
                    with created(SHARD, folder) as file:
                        checksums = shape.write(file, block.values)
                    metadata = self._metadata(cls, shape, f"{digest(block):064x}", checksums)
                    with created(METADATA, folder) as file:
                        file.write(metadata)
                    os.fsync(folder)
                self.run.check_before_commit(own)
                self._commit(cls, metadata, own, aside)
            finally:
                shutil.rmtree(aside, ignore_errors=True, dir_fd=own)
            os.fsync(classes)

    def _commit(self, cls: ClassId, metadata: bytes, own: int, aside: str) -> None:
        """Rename a class into place. A class that is there already must be the same; a damaged one is replaced.

        The target is a path from the run's directory, so that the rename fails once that directory was swept.
        """
        place = f"../../{CLASSES}/{self.place(cls).name}"
        try:
            os.rename(aside, place, src_dir_fd=own, dst_dir_fd=own)
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ENOENT}:
                raise
            # Another rank was first, or an NFS server has restarted and repeated the call.
            if not self.is_sound(cls):
                discard(own, place)
                os.rename(aside, place, src_dir_fd=own, dst_dir_fd=own)
            elif content_of(own, *place.split("/"), METADATA) != metadata:
                raise self._damaged(cls, "it has come while this run computed it, and is not the same") from error

    def read(self, cls: ClassId) -> NDArray[np.float64]:
        """Read all entries of a class; every chunk is checked against the checksums that the seal covers."""
        return self._read(cls, 0, self.partition.n_values[cls], new_values)

    def row(self, cls: ClassId, start: int, stop: int) -> NDArray[np.float64]:
        """Read a few entries of a class; their chunks are checked against the checksums that the seal covers."""
        values = self._read(cls, start, stop, np.empty).copy()  # so that the rest of the chunk is freed
        if np.isnan(values).any():
            raise self._damaged(cls, "some of its values are missing")
        return values

    def digest(self, cls: ClassId) -> int:
        """Digest of a class, as stored in its metadata."""
        return int(self._stated(cls)[0], 16)

    def has_digest(self, cls: ClassId) -> bool:
        """Whether the metadata of a class, and so its digest, are sound; of a dropped class nothing else is left."""
        try:
            self.digest(cls)
        except DamagedError:
            return False
        return True

    def _metadata(self, cls: ClassId, shape: Shape, digest: str, checksums: bytes) -> bytes:
        """Metadata of a class; the seal binds digest and checksums to the table and to their place in it."""
        name = self.place(cls).name.encode()
        seal = hashlib.sha256(b"\0".join([self._key, name, bytes.fromhex(digest), checksums])).hexdigest()
        return shape.metadata({DIGEST: digest, CHECKSUMS: checksums.hex(), SEAL: seal})

    def _stated(self, cls: ClassId) -> tuple[str, bytes]:
        """Digest of a class and checksums of its chunks; DamagedError unless the metadata are exactly as sealed."""
        try:
            with self._folder(CLASSES) as classes:
                text = content_of(classes, self.place(cls).name, METADATA)
        except (OSError, ValueError) as error:
            raise self._unreadable(cls, error, "its metadata are damaged: ") from error
        found = re.search(rb'"([0-9a-f]{64})", "crc32c": "((?:[0-9a-f]{8})+)"', text)
        stated = (found[1].decode(), bytes.fromhex(found[2].decode())) if found else ("", b"")
        if text != self._metadata(cls, Shape.of(self.partition.n_values[cls]), *stated):
            raise self._damaged(cls, "its metadata are damaged, or those of another table")
        return stated

    def block(self, cls: ClassId) -> Block:
        """Read a class and check its values against its digest."""
        block = Block(self.partition.members(cls), self.partition.starts(cls), self.read(cls))
        if digest(block) != self.digest(cls):
            raise self._damaged(cls, "its values do not match its digest")
        return block

    def _read(self, cls: ClassId, start: int, stop: int, memory: Memory) -> NDArray[np.float64]:
        checksums = self._stated(cls)[1]
        try:
            with self._folder(CLASSES) as classes, opened_below(classes, self.place(cls).name, SHARD) as file:
                return Shape.of(self.partition.n_values[cls]).read(file, start, stop, memory, checksums)
        except (OSError, ValueError) as error:
            raise self._unreadable(cls, error) from error

    def _unreadable(self, cls: ClassId, error: OSError | ValueError, what: str = "") -> StoreError:
        """Error for a class that cannot be read: it is damaged, unless the cause is one of NO_DAMAGE."""
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
        """Error for a class whose bytes are those that were committed, but whose values are impossible."""
        return StoreError(f"{self.place(cls)}: holds values that cannot be; compute the table anew, elsewhere")

    def drop(self, cls: ClassId) -> None:
        """Remove the values of a class that no remaining class depends on; its digest stays.

        The marker is durable before the values are removed: a class without values and marker counts as damaged.
        """
        name = self.place(cls).name
        with self.run.opened() as own, open_below(own, "..", "..", CLASSES, name) as folder:
            os.close(open_plain(DROPPED, os.O_WRONLY | os.O_CREAT, folder))
            os.fsync(folder)
            with suppress(FileNotFoundError):
                os.rename(SHARD, f"{name}.{DROPPED}", src_dir_fd=folder, dst_dir_fd=own)
                os.unlink(f"{name}.{DROPPED}", dir_fd=own)

    @property
    def dropped(self) -> set[ClassId]:
        """Classes whose values were dropped, so that only their digests are left."""
        return {cls for cls in self.committed if self._is_dropped(cls)}

    def _is_dropped(self, cls: ClassId) -> bool:
        try:
            with self._folder(CLASSES, self.place(cls).name) as folder:
                names = {entry.name for entry in os.scandir(folder)}
        except OSError:
            return False
        return DROPPED in names and SHARD not in names

    def remove(self, cls: ClassId) -> None:
        """Remove a class from the disk."""
        with self.run.opened() as own:
            discard(own, f"../../{CLASSES}/{self.place(cls).name}")

    def is_sound(self, cls: ClassId) -> bool:
        """Whether the bytes of a class are those that were committed."""
        try:
            self.block(cls)
        except DamagedError:
            return False
        return True

    @property
    def table_digest(self) -> str:
        """Digest of the whole table; requires that every class is committed."""
        return f"{sum(self.digest(cls) for cls in self.partition.classes) % 2**256:064x}"
