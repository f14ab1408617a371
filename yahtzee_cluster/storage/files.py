"""File operations that follow no links, name files by an open directory, and leave what they write durable."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

MAX_METADATA_BYTES = 1 << 20


@contextmanager
def open_folder(root: Path, *names: str) -> Iterator[int]:
    """A directory below another one, on a way without links."""
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with open_below(at, *names) as folder:
            yield folder
    finally:
        os.close(at)


@contextmanager
def open_below(folder: int, *names: str) -> Iterator[int]:
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
def created(name: str, folder: int) -> Iterator[IO[bytes]]:
    """A new file, which is on the disk for good when it is closed."""
    with open(name, "xb", opener=partial(os.open, mode=0o666, dir_fd=folder)) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def opened(root: Path, *names: str) -> IO[bytes]:
    """A file below a directory, on a way without links."""
    with open_folder(root, *names[:-1]) as folder:
        return opened_below(folder, names[-1])


def opened_below(folder: int, *names: str) -> IO[bytes]:
    """The same, from a directory that is open."""
    with open_below(folder, *names[:-1]) as last:
        return open(names[-1], "rb", opener=partial(open_plain, dir_fd=last))


def open_plain(path: str, flags: int, dir_fd: int | None = None) -> int:
    """Open a file that is no link, and nothing that one might wait for."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return descriptor


def names_in(folder: Path) -> set[str]:
    """The names of all files and directories in a directory."""
    return {entry.name for entry in folder.iterdir()}


def content(root: Path, *names: str) -> bytes:
    """What metadata say, which are never long."""
    with open_folder(root, *names[:-1]) as folder:
        return content_of(folder, names[-1])


def content_of(folder: int, *names: str) -> bytes:
    """The same, from a directory that is open."""
    with opened_below(folder, *names) as file:
        if os.fstat(file.fileno()).st_size > MAX_METADATA_BYTES:
            raise ValueError(f"{names[-1]} is longer than {MAX_METADATA_BYTES} bytes")
        return file.read(MAX_METADATA_BYTES)


def make_durable(path: Path) -> None:
    """Flush a directory with all that is in it to the disk."""
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
