"""File systems in images: how each kind is made and mounted, and whether it can be had here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SYSTEM_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
DISK_BYTES = 320 << 20
"""Not much more than the smallest that XFS takes."""


@dataclass(frozen=True)
class FileSystem:
    """A kind of file system: what makes it, where that comes from, and two ways to mount it."""

    make: tuple[str, ...]
    package: str
    usual: str
    lazy: str
    """This leaves more unwritten for longer."""


FILE_SYSTEMS = {
    "ext4": FileSystem(("mkfs.ext4", "-q"), "e2fsprogs", "defaults", "commit=60,data=writeback,noauto_da_alloc"),
    "xfs": FileSystem(("mkfs.xfs", "-q"), "xfsprogs", "defaults", "logbsize=256k"),
    "btrfs": FileSystem(("mkfs.btrfs", "-q"), "btrfs-progs", "nodiscard", "nodiscard,commit=60"),
}


@contextmanager
def mounted(image: Path, kind: str, options: str) -> Iterator[Path]:
    """The directory where a file system in an image is seen; its loop device goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", kind, "-o", f"loop,{options}", image, folder], check=True, capture_output=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def make_file_system(kind: str, image: Path) -> None:
    """Make an empty file system in an image."""
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    command = [*FILE_SYSTEMS[kind].make, str(image)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PATH": SYSTEM_PATH})


def missing(kind: str, folder: Path) -> str:
    """Why a file system cannot be tried here, if so."""
    system = FILE_SYSTEMS[kind]
    if shutil.which(system.make[0], path=SYSTEM_PATH) is None:
        return f"no {system.make[0]} here; install {system.package}"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
        make_file_system(kind, image := folder / "attempt")
        with mounted(image, kind, system.usual):
            return ""
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    except subprocess.CalledProcessError as error:
        return f"no {kind} on a loop device here: {error.stderr.decode().strip()}"


def copy_sparse(image: Path, copy: Path) -> None:
    """Copy an image, and leave out what is zero."""
    subprocess.run(["cp", "--sparse=always", image, copy], check=True)
