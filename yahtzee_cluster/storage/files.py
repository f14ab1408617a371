"""File operations relative to an open directory: they follow no symbolic links, and make what they write durable."""

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
    """Open a directory below `root`, following no symbolic links."""
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with open_below(at, *names) as folder:
            yield folder
    finally:
        os.close(at)


@contextmanager
def open_below(folder: int, *names: str) -> Iterator[int]:
    """The same, relative to an open directory."""
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
    """Create a file; it is durable (fsync) when the context ends."""
    with open(name, "xb", opener=partial(os.open, mode=0o666, dir_fd=folder)) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def opened(root: Path, *names: str) -> IO[bytes]:
    """Open a file below `root` for reading, following no symbolic links."""
    with open_folder(root, *names[:-1]) as folder:
        return opened_below(folder, names[-1])


def opened_below(folder: int, *names: str) -> IO[bytes]:
    """The same, relative to an open directory."""
    with open_below(folder, *names[:-1]) as last:
        return open(names[-1], "rb", opener=partial(open_plain, dir_fd=last))


def open_plain(path: str, flags: int, dir_fd: int | None = None) -> int:
    """Opener for regular files only: follows no symbolic link, and does not block on a pipe."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return descriptor


def names_in(folder: Path) -> set[str]:
    """Names of all entries of a directory."""
    return {entry.name for entry in folder.iterdir()}


def content(root: Path, *names: str) -> bytes:
    """Contents of a metadata file; ValueError if it is longer than MAX_METADATA_BYTES."""
    with open_folder(root, *names[:-1]) as folder:
        return content_of(folder, names[-1])


def content_of(folder: int, *names: str) -> bytes:
    """The same, relative to an open directory."""
    with opened_below(folder, *names) as file:
        if os.fstat(file.fileno()).st_size > MAX_METADATA_BYTES:
            raise ValueError(f"{names[-1]} is longer than {MAX_METADATA_BYTES} bytes")
        return file.read(MAX_METADATA_BYTES)


def make_durable(path: Path) -> None:
    """Call fsync on a directory and everything below it."""
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
