"""The directory of one run, `.partial/TOKEN`, through which alone the run changes its table.

Every run has a token of its own. What it writes is begun in its directory; committing, dropping and removing a class
are renames into or out of that directory, which is named by an open descriptor. Seen from there, `../../classes`
belongs to the same table wherever that was moved, and once the directory is removed nothing can be made in it. So a run
whose table was removed, or taken over by another run, changes nothing any more.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from yahtzee_cluster.storage.errors import ReplacedError, StoreRefusedError
from yahtzee_cluster.storage.files import names_in, open_below, open_folder
from yahtzee_cluster.storage.lock import is_held, names_run
from yahtzee_cluster.storage.paths import ASIDE, CLASSES, DEAD, INDEX, LOCK, METADATA

log = logging.getLogger(__name__)

TRIES = 3
GONE = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE}
"""Errors that a removed directory may cause."""


class RunDirectory:
    """The directory of the run with some token, in the directory of a table."""

    def __init__(self, table: Path, token: str) -> None:
        self.token = token
        self._table = table
        self._path = table / ASIDE / token
        self._has_joined = False
        self._heeds_lock = False

    def make(self) -> None:
        """Make the directory."""
        for _ in range(TRIES):
            (self._table / ASIDE).mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # a run that is just ending has removed `.partial`
                self._path.mkdir()
                return
        raise StoreRefusedError(f"{self._table}: other runs come and go here; try again")

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the directory; raises ReplacedError, here or in the body, if the run no longer holds the table."""
        with ExitStack() as stack:
            try:
                own = stack.enter_context(open_folder(self._table, ASIDE, self.token))
            except OSError as error:
                raise (ReplacedError(self._table) if error.errno in GONE else error) from None
            try:
                yield own
            except OSError as error:
                if error.errno in GONE and not os.path.isdir(self._path):  # noqa: PTH112
                    raise ReplacedError(self._table) from None
                raise

    @contextmanager
    def folder(self, *names: str) -> Iterator[int]:
        """Open a directory of the table, by a path from this one."""
        with self.opened() as own, open_below(own, "..", "..", *names) as folder:
            yield folder

    def sweep(self) -> None:
        """Remove what other runs have left behind; make the directory of the classes."""
        with self.opened() as own:
            with open_below(own, "..") as aside:
                left = {entry.name for entry in os.scandir(aside)} - {self.token}
            for name in left:
                discard(own, f"../{name}")
            with suppress(FileExistsError):
                os.mkdir(f"../../{CLASSES}", dir_fd=own)

    def end(self, lock: IO[bytes]) -> None:
        """Release the table, and remove what was not committed; what a run that took over has made is left alone.

        The lock is renamed into this directory: if that is gone, the file of that name belongs to another run.
        If creation of the table was interrupted, `.partial` stays, so that the next run may remove the remains.
        """
        with suppress(ReplacedError), self.opened() as own:
            if names_run(own, self.token):
                os.rename(f"../../{LOCK}", LOCK, src_dir_fd=own, dst_dir_fd=own)
            lock.close()  # NFS keeps a file that is open under another name
            with suppress(OSError):  # a rank that outlives the run may still write
                shutil.rmtree(self._path)
                names = names_in(self._table)
                if METADATA in names or not names & {CLASSES, INDEX}:
                    (self._table / ASIDE).rmdir()

    # --------------------------------------------------------------------------------------------- the lock

    def join(self) -> None:
        """Check, for a worker, that the run with this token has claimed this table; refuse any other table."""
        try:
            with self.opened() as own:
                self._check(own)
                self._has_joined, self._heeds_lock = True, is_held(own)
        except ReplacedError:
            raise StoreRefusedError(
                f"{self._table} is not the directory that the master sees; name one on a disk that all hosts share "
                "with --store"
            ) from None
        if not self._heeds_lock:
            log.warning("%s: locks made on another host are not seen here: keep other runs off it", self._table)

    def check_lock(self) -> None:
        """Raise ReplacedError if the run no longer holds the lock of the table."""
        with self.opened() as own:
            self._check(own)

    def check_before_commit(self, own: int) -> None:
        """The same, for a worker that has joined; does nothing for the master, which holds the lock itself."""
        if self._has_joined:
            self._check(own)

    def _check(self, own: int) -> None:
        if not names_run(own, self.token) or (self._heeds_lock and not is_held(own)):
            raise ReplacedError(self._table, "is not held by the run that this rank belongs to any more")

    # ------------------------------------------------------------------------------------------- tombstones

    def tombstone(self, worker: int) -> Path:
        """The file that the supervisor of a dead worker creates, for the master to see."""
        return self._path / f"{DEAD}{worker}"

    def dead(self) -> list[int]:
        """The workers with a tombstone; raises ReplacedError if the run no longer holds the table."""
        with self.opened() as own:
            self._check(own)
            stones = [entry.name.removeprefix(DEAD) for entry in os.scandir(own) if entry.name.startswith(DEAD)]
        return sorted(int(number) for number in stones if number.isdecimal())


def discard(own: int, path: str) -> None:
    """Delete a file or a directory, named from the open directory of a run.

    It is renamed first, so that for other processes it vanishes atomically.
    """
    aside = f"{secrets.token_hex(8)}.removed"
    with suppress(FileNotFoundError):  # a rank that outlives its run has just renamed it
        os.rename(path, aside, src_dir_fd=own, dst_dir_fd=own)
        if stat.S_ISDIR(os.stat(aside, dir_fd=own, follow_symlinks=False).st_mode):
            shutil.rmtree(aside, ignore_errors=True, dir_fd=own)  # that rank may still write into it
        else:
            os.unlink(aside, dir_fd=own)
