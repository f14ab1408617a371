"""Claiming a directory for one run: checks, lock, and creation of the table if there is none."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.storage.errors import StoreError, StoreRefusedError
from yahtzee_cluster.storage.files import created, make_durable, names_in, open_below
from yahtzee_cluster.storage.header import check_same_table, first_metadata, group_metadata, read_header, refuse_links
from yahtzee_cluster.storage.lock import describe_this_run, locked
from yahtzee_cluster.storage.paths import ASIDE, CLASSES, INDEX, LOCK, METADATA
from yahtzee_cluster.storage.run_directory import RunDirectory
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import printable, short

Growth = Callable[[Partition, Collection[ClassId]], float]
"""Additional bytes on disk that a table needs until it is finished, given its committed classes."""
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
"""Errors that mean that nothing can be written in a directory."""
UNUSABLE_PATH = {
    *(errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EINVAL, errno.ENOENT),
    *FORBIDDEN,
}
"""Errors that mean that a directory can never be created at this path."""
ELSEWHERE = "name another directory with --store"


@contextmanager
def claim(
    path: Path,
    problem: Recurrence,
    fixed: int,
    provenance: Mapping[str, Any],
    growth: Growth | None = None,
) -> Iterator[Store]:
    """Claim a directory for one run and yield its table, which is created if there is none.

    With an empty `provenance`, nothing on disk names the host. If not all classes are kept, `growth` is the space to
    check for.
    """
    is_claimed = False
    try:
        _make_directory(table_path(path))
        refuse_links(path)
        if not (_is_ours(path) or read_header(path)):  # in this order: another run may be creating the table
            raise StoreRefusedError(f"{path}: holds other things; name an empty or a new directory with --store")
        token = secrets.token_hex(8)
        with locked(path / LOCK, f"{token}\n{describe_this_run(named=bool(provenance))}") as lock:
            store = Store.of(path, problem, fixed)
            run = store.write_for(token)
            run.make()
            try:
                run.check_lock()
                header = read_header(path)
                if header is None:
                    metadata = first_metadata(path, problem, fixed, provenance)
                    _check_room(store, growth, begun=False)
                    run.sweep()
                    _begin(store, run, problem, metadata)
                else:
                    check_same_table(path, header, problem, fixed)
                    run.sweep()
                    _check_room(store, growth, begun=True)
                is_claimed = True
                yield store
            except BaseException:
                with suppress(OSError):
                    run.end(lock)
                raise
            run.end(lock)
            store.release()
    except OSError as error:
        named = isinstance(error.filename, str | Path) and Path(error.filename).is_absolute()
        where = printable(str(error.filename if named else path))
        if error.errno in FORBIDDEN and not is_claimed:
            raise StoreRefusedError(f"{path}: {error.strerror}; {ELSEWHERE}") from error
        raise StoreError(f"{where}: {error.strerror or error}") from error


def table_path(text: str | Path) -> Path:
    """Path of a table from user input; refuses an empty string and URLs."""
    if not str(text):
        raise StoreRefusedError("store: expected a directory, found nothing; is a variable unset?")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", str(text)):
        raise StoreRefusedError(
            f"{printable(str(text))}: is an address; name a directory on a disk that all hosts share"
        )
    return Path(text)


def _make_directory(path: Path) -> None:
    """Create the directory of a table; refuse a path where that is impossible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno not in UNUSABLE_PATH:
            raise
        what = "Not a directory" if error.errno == errno.EEXIST else error.strerror
        raise StoreRefusedError(f"{short(str(path))}: {what}; {ELSEWHERE}") from error


def _check_room(store: Store, growth: Growth | None, *, begun: bool) -> None:
    """Refuse a file system with too little free space for the rest of the table."""
    committed = store.committed if begun else []
    if growth is not None:
        missing: float = growth(store.partition, committed)
    else:
        there = set(committed) - (store.dropped if begun else set())
        missing = 8 * sum(n for cls, n in store.partition.n_values.items() if cls not in there)
    disk = shutil.disk_usage(store.path)
    if disk.free < 1.01 * missing and disk.total:  # not every file system reports its size
        raise StoreRefusedError(
            f"{store.path}: has room for {_megabytes(disk.free)}, and the table still takes "
            f"{_megabytes(1.01 * missing)}; make room, or name a --store on another disk"
        )


def _megabytes(n_bytes: float) -> str:
    return f"{n_bytes / (1 << 20):,.1f} MB"


def _begin(store: Store, run: RunDirectory, problem: Recurrence, metadata: bytes) -> None:
    """Create the Zarr group. Its header is written last: a directory without one holds no table."""
    with run.opened() as own:
        _write_index(own, _index_columns(problem, store.partition))
        run.check_lock()
        with suppress(FileNotFoundError):
            os.rename(f"../../{INDEX}", f"{INDEX}.old", src_dir_fd=own, dst_dir_fd=own)
        os.rename(INDEX, f"../../{INDEX}", src_dir_fd=own, dst_dir_fd=own)
        _write_group(own, ("..", "..", CLASSES), group_metadata({}))
        _write_group(own, ("..", ".."), metadata)


def _write_index(own: int, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write the index of rows into the directory of a run: a group, with an array for each column."""
    os.mkdir(INDEX, dir_fd=own)
    about = "row i lies in classes/<layer, two digits>-<part in hexadecimal>, at offset, so long"
    _write_group(own, (INDEX,), group_metadata({"about": about}))
    if not columns:
        return
    import zarr  # slow, and most problems have no index

    path = f"/proc/self/fd/{own}/{INDEX}"  # by descriptor, in case the directory was moved
    index = zarr.open_group(zarr.storage.LocalStore(path), mode="r+")
    for name, column in columns.items():
        dimension = "row" if len(column) == len(columns["subset"]) else name.partition("_")[0]
        index.create_array(name, data=column, dimension_names=[dimension])
    make_durable(Path(path))


def _write_group(own: int, way: tuple[str, ...], metadata: bytes) -> None:
    """Make a directory a Zarr group by an atomic rename; `way` is its path from the run's own directory."""
    with created(METADATA, own) as file:
        file.write(metadata)
    os.rename(METADATA, "/".join((*way, METADATA)), src_dir_fd=own, dst_dir_fd=own)
    with open_below(own, *way) as folder:
        os.fsync(folder)


def _index_columns(problem: Recurrence, partition: Partition) -> dict[str, NDArray[Any]]:
    """The index of rows, with the class of each row and its offset there."""
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


def _is_ours(path: Path) -> bool:
    """Whether a directory without a header is empty, or holds only what an interrupted creation has left."""
    names = names_in(path) - {LOCK}
    if not names:
        return True
    begun = ASIDE in names and names <= {ASIDE, CLASSES, INDEX}
    return begun and {entry.name for entry in path.glob("classes/*")} <= {METADATA}
