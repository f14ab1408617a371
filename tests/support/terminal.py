"""Programs on a terminal of their own, and what is to be seen on its screen."""

import fcntl
import os
import select
import struct
import subprocess
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Self

import pyte

ROWS = 24


class Terminal:
    """A terminal with a screen. `file` is what programs on it write to."""

    def __init__(self, columns: int) -> None:
        self._ours, theirs = os.openpty()
        self.file = os.fdopen(theirs, "w", encoding="utf-8")
        self.screen = pyte.Screen(columns, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(columns)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self.file.close()
        self.vanish()

    def vanish(self) -> None:
        """From here on, whoever writes to the terminal fails."""
        with suppress(OSError):
            os.close(self._ours)

    def resize(self, columns: int) -> None:
        """Make it so wide; the programs on it are told."""
        self.screen.resize(ROWS, columns)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))

    def start(self, command: Sequence[object], **environment: str) -> subprocess.Popen[bytes]:
        """Start a program that this terminal controls."""
        line = ["setsid", "--ctty", *map(str, command)]
        variables = os.environ | {"TERM": "xterm"} | environment
        return subprocess.Popen(line, stdin=self.file, stdout=self.file, stderr=self.file, env=variables)

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._ours, keys.encode())

    def read(self, seconds: float = 0) -> None:
        """Show what was written until now, and for so long."""
        until = monotonic() + seconds
        while select.select([self._ours], [], [], max(0.0, until - monotonic()))[0]:
            self._stream.feed(os.read(self._ours, 65536))

    def wait_for(self, seen: Callable[[list[str]], object], seconds: float = 60) -> list[str]:
        """Wait until the screen shows something, and return its lines."""
        until = monotonic() + seconds
        while not seen(self.lines):
            assert monotonic() < until, self.lines
            self.read(0.05)
        return self.lines

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without trailing blanks; the empty ones below are left out."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")
