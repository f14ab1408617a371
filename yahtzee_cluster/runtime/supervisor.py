"""A supervisor process beside each rank, which outlives it and reports how it ended.

A rank that is killed cannot report it, and the launcher knows neither what it did nor, often, which rank it was. The
launcher sees the supervisor exit with a code, and lets the other ranks continue if it is told to.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NoReturn

from yahtzee_cluster.errors import RESUMES
from yahtzee_cluster.runtime.signals import SIGNALS

NOTE_BYTES = 8192
"""Size of each text in a crash note; no path is longer."""
PR_SET_PDEATHSIG = 1
TOMBSTONE_S = 2.0
"""Longest time that a supervisor waits for the disk."""


class CrashNote:
    """What to report of a rank if it crashes, in memory shared by the rank and its supervisor."""

    def __init__(self) -> None:
        self._who = mmap.mmap(-1, NOTE_BYTES)
        self._tombstone = mmap.mmap(-1, NOTE_BYTES)

    def identify(self, who: str) -> None:
        """Set the description of this rank: which it is, and what it is doing."""
        _write(self._who, who.encode())

    def set_tombstone(self, tombstone: Path) -> None:
        """Set the file that the supervisor creates when this rank dies, for the master to see."""
        _write(self._tombstone, os.fsencode(tombstone))

    def report(self, how: str) -> None:
        """Report how the rank died: first by its tombstone, then on stderr."""
        thread = Thread(target=self._make_tombstone, daemon=True)
        thread.start()
        thread.join(TOMBSTONE_S)
        who = _written(self._who).decode(errors="replace") or "a rank that had just been started"
        with suppress(OSError):
            print(f"{who} {how}; {RESUMES}", file=sys.stderr, flush=True)

    def _make_tombstone(self) -> None:
        if tombstone := _written(self._tombstone):
            with suppress(OSError):
                Path(os.fsdecode(tombstone)).touch()


def supervised(main: Callable[[CrashNote], int]) -> NoReturn:
    """Run `main` in a child process and exit with its code; if the child is killed, report that."""
    note, supervisor = CrashNote(), os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, {*SIGNALS, signal.SIGCHLD})
    rank = os.fork()
    if rank == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*SIGNALS, signal.SIGCHLD})
        _leave(_code_of(main, note), supervisor)
    code = _outcome(rank)
    if code < 0:
        note.report(_death(-code))
    os._exit(code if code >= 0 else 128 - code)


def _code_of(main: Callable[[CrashNote], int], note: CrashNote) -> int:
    try:
        return main(note)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _leave(code: int, supervisor: int) -> NoReturn:
    """End this process with libc's exit, because MPICH has an exit handler; threads that still wait are not joined.

    A supervisor that was stopped is continued first, or the launcher would wait for it for ever.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.kill(supervisor, signal.SIGCONT)
    ctypes.CDLL(None).exit(code)
    raise AssertionError


def _outcome(rank: int) -> int:
    """Wait for a process and return its exit code, or minus the signal that killed it; forward every signal to it.

    Signals are blocked and received by sigwait: a handler would miss one that comes just before the wait.
    """
    while True:
        signum = signal.sigwait({*SIGNALS, signal.SIGCHLD})
        if signum != signal.SIGCHLD:
            os.kill(rank, signum)
        elif (ended := os.waitpid(rank, os.WNOHANG))[0]:
            return os.waitstatus_to_exitcode(ended[1])


def _death(signum: int) -> str:
    shortage = {signal.SIGKILL.value: "memory is short", signal.SIGBUS.value: "/dev/shm is full"}.get(signum)  # noqa: S108
    usual = f", as the system does when {shortage}" if shortage else ""
    return f"was killed by {signal.Signals(signum).name}{usual}"


def _write(page: mmap.mmap, text: bytes) -> None:
    if len(text) < NOTE_BYTES:
        page[: len(text) + 1] = text + b"\0"


def _written(page: mmap.mmap) -> bytes:
    return page[:].partition(b"\0")[0]
