"""The lock of a table: only one run at a time may write it, on any host."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from yahtzee_cluster.storage.errors import StoreError, StoreRefusedError
from yahtzee_cluster.storage.files import open_below, open_plain, opened, opened_below
from yahtzee_cluster.storage.paths import LOCK
from yahtzee_cluster.text import printable

LOCK_TRIES = 3


@contextmanager
def locked(path: Path, owner: str) -> Iterator[IO[bytes]]:
    """Lock a file exclusively; the operating system releases the lock however the run ends."""
    n_tries = 0
    while True:
        file = open(path, "a+b", opener=open_plain)  # noqa: SIM115  # closed when the lock is released
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = _owner(file)
            file.close()
            n_tries += 1
            if n_tries < LOCK_TRIES:  # it may be the shared lock of `writer` or `is_held`
                time.sleep(0.1)
                continue
            raise StoreRefusedError(f"{path.parent}: is being written by another run ({other})") from None
        if _is_the_file(file, path):
            break
        file.close()  # its previous owner has just removed it
    with file:
        if os.fstat(file.fileno()).st_nlink > 1:
            raise StoreRefusedError(f"{path}: is the same file as one elsewhere; remove it here")
        file.truncate(0)
        file.write(owner.encode())
        file.flush()
        os.fsync(file.fileno())  # a run that is refused, on any host, reads the owner here
        yield file


def is_held(own: int) -> bool:
    """Whether the lock of the table is held, as seen from the open directory of a run."""
    try:
        with open_below(own, "..", "..") as root, opened_below(root, LOCK) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def describe_this_run(named: bool) -> str:
    """Description of this run for the lock file; host and time only if `named`."""
    process = f"process {os.getpid()}"
    return f"{process} on {socket.gethostname()}, since {datetime.now():%Y-%m-%d %H:%M:%S}" if named else process


def writer(path: Path) -> str | None:
    """Description of the run that is writing the table in a directory, or None."""
    try:
        file = opened(path, LOCK)
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
    """Description of the run that holds a lock; it follows the token in the file."""
    file.seek(0)
    who = file.read(200).decode(errors="replace").partition("\n")[2]
    return printable(who) or "which has not said who it is"


def names_run(own: int, run: str) -> bool:
    """Whether the lock file names this run, as seen from the open directory of the run."""
    try:
        with open_below(own, "..", "..") as root, opened_below(root, LOCK) as lock:
            return lock.read(len(run) + 1) == f"{run}\n".encode()
    except FileNotFoundError:
        return False


def _is_the_file(file: IO[bytes], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino == path.lstat().st_ino
    except FileNotFoundError:
        return False
