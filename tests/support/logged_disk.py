"""A disk that keeps a log, and what a power cut leaves of it.

An image is served as a file over FUSE; whatever is written to that file, and every `fsync` of it, is logged in order.
With a file system in the image, mounted through a loop device, the log is what a disk would have seen: writes, of a
page at most, and the flushes between them. What was written before a flush survives a power cut; of what was written
after the last one, any part may, in any order.

Run as a program, this is the server. It speaks the kernel's FUSE protocol itself, because one file takes so little of
it that no library is worth installing.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

RECORD = struct.Struct("<QQ")
"""Before each write in the log: where it goes, and how long it is. A flush is a record of no length."""

PAGE_BYTES = 4096
"""The kernel is told to send no more at once; disks, too, write so much as a whole or not at all."""

# The protocol, as <linux/fuse.h> has it: operations, and the structures that come and go with them.
GETATTR, OPEN, READ, WRITE, RELEASE, FSYNC, FLUSH, INIT = 3, 14, 15, 16, 18, 20, 25, 26
WITHOUT_ANSWER = {2, 36, 42}
"""To forget one node, to interrupt, to forget several."""
REQUEST = struct.Struct("<IIQ24x")
"""Length, operation, number of the request; the process and the node do not matter."""
ANSWER = struct.Struct("<IiQ")
EXTENT = struct.Struct("<8xQI20x")
"""What a read or a write begins with: where, and how much."""
INIT_ANSWER = struct.Struct("<IIIIHHIIHHI28x")
ATTRIBUTES = struct.Struct("<Q8x QQQ 36x IIIIII4x")
OPEN_ANSWER = bytes(16)
REQUEST_BYTES = 1 << 17
VERSION = 7, 31


# --------------------------------------------------------------------------------------------------- the server


class Server:
    """What answers the kernel's requests for the one file that is served."""

    def __init__(self, image: str, log: str) -> None:
        self._image = os.open(image, os.O_RDWR)
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._operations: dict[int, Callable[[bytes], bytes]] = {
            INIT: lambda _: INIT_ANSWER.pack(*VERSION, 0, 0, 0, 0, PAGE_BYTES, 1, 0, 0, 0),
            GETATTR: lambda _: self._attributes(),
            OPEN: lambda _: OPEN_ANSWER,
            READ: self._read,
            WRITE: self._write,
            FSYNC: lambda _: self._flush(),
            FLUSH: lambda _: b"",  # this is what FUSE calls closing a file
            RELEASE: lambda _: b"",
        }

    def serve(self, device: int) -> None:
        """Answer, one after the other, until the file is unmounted."""
        while True:
            try:
                request = os.read(device, REQUEST_BYTES)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                raise
            _, operation, number = REQUEST.unpack_from(request)
            if operation in WITHOUT_ANSWER:
                continue
            known = self._operations.get(operation)
            answer = known(request[REQUEST.size :]) if known else b""
            os.write(device, ANSWER.pack(ANSWER.size + len(answer), 0 if known else -errno.ENOSYS, number) + answer)

    def _attributes(self) -> bytes:
        size, mode = os.fstat(self._image).st_size, stat.S_IFREG | 0o600
        valid_s, inode, n_links = 1 << 30, 1, 1
        return ATTRIBUTES.pack(valid_s, inode, size, size // 512, mode, n_links, 0, 0, 0, PAGE_BYTES)

    def _read(self, request: bytes) -> bytes:
        at, size = EXTENT.unpack_from(request)
        return os.pread(self._image, size, at)

    def _write(self, request: bytes) -> bytes:
        at, size = EXTENT.unpack_from(request)
        data = request[EXTENT.size :][:size]
        os.pwrite(self._image, data, at)
        os.write(self._log, RECORD.pack(at, size) + data)
        return struct.pack("<I4x", size)

    def _flush(self) -> bytes:
        os.write(self._log, RECORD.pack(0, 0))
        return b""


def main() -> int:
    """Mount a file that stands for an image, log what is written to it, and return when it is unmounted."""
    image, log, file = sys.argv[1:]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode={stat.S_IFREG:o},user_id={os.getuid()},group_id={os.getgid()}"
    mount = ["mount", "--internal-only", "--types", "fuse", "--options", options, "logged", file]
    subprocess.run(mount, check=True, pass_fds=[device])
    print("mounted", flush=True)
    Server(image, log).serve(device)
    return 0


@contextmanager
def served(image: Path, log: Path, file: Path) -> Iterator[int]:
    """An image that is seen as a file, and whose writes and flushes are logged; yields the server's process."""
    file.touch()
    command = [sys.executable, __file__, str(image), str(log), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        assert server.stdout is not None
        if server.stdout.readline() != "mounted\n":
            raise OSError(f"{file}: could not be mounted")
        try:
            yield server.pid
        finally:
            subprocess.run(["umount", "--lazy", file], check=True)
            server.kill()  # it has ended, or another process holds the file, and is not waited for


# ------------------------------------------------------------------------------------------------ the power cut


class Log:
    """What was written to a disk, and when it was flushed. A moment is a length of the log."""

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        self._records: list[tuple[int, int, int]] = []  # where each record begins, where it goes, how long it is
        at = 0
        while at < len(self._bytes):
            offset, size = RECORD.unpack_from(self._bytes, at)
            self._records.append((at, offset, size))
            at += RECORD.size + size

    def moments(self, since: int, until: int) -> list[int]:
        """All moments at which something is about to be written or flushed."""
        return [at for at, _, _ in self._records if since <= at <= until]

    def cut(self, image: Path, moment: int, share: float, random: Random) -> None:
        """Bring an image to what a power cut at some moment leaves, with a share of what was not flushed."""
        past = [record for record in self._records if record[0] < moment]
        flushed = max((at for at, _, size in past if not size), default=0)
        with image.open("r+b") as disk:
            for at, offset, size in past:
                if at < flushed or random.random() < share:
                    disk.seek(offset)
                    disk.write(self._bytes[at + RECORD.size : at + RECORD.size + size])


if __name__ == "__main__":
    raise SystemExit(main())
