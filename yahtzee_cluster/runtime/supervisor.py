"""A process beside each rank that outlives it and says how it ended.

A rank that is killed cannot say so itself, and a launcher of ranks knows neither what it did nor, often, which it was.
To MPI it looks as if the rank had left with an exit code, which lets the others go on where the launcher allows it.
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
"""Longer than any path."""
PR_SET_PDEATHSIG = 1
WORD_S = 2.0
"""For so long a disk may keep a guard from going on."""


class Note:
    """What a rank leaves in writing, for the case that it can no longer speak."""

    def __init__(self) -> None:
        self._who = mmap.mmap(-1, NOTE_BYTES)
        self._tombstone = mmap.mmap(-1, NOTE_BYTES)

    def identify(self, who: str) -> None:
        """Who this is, and what it is doing."""
        _write(self._who, who.encode())

    def order(self, tombstone: Path) -> None:
        """The file that is to be made when this rank dies, so that others know."""
        _write(self._tombstone, os.fsencode(tombstone))

    def read(self, how: str) -> None:
        """Say how the rank died, to the master first, then to whoever reads stderr, if anybody does."""
        word = Thread(target=self._leave_word, daemon=True)
        word.start()
        word.join(WORD_S)
        who = _written(self._who).decode(errors="replace") or "a rank that had just been started"
        with suppress(OSError):
            print(f"{who} {how}; {RESUMES}", file=sys.stderr, flush=True)

    def _leave_word(self) -> None:
        if tombstone := _written(self._tombstone):
            with suppress(OSError):
                Path(os.fsdecode(tombstone)).touch()


def guarded(main: Callable[[Note], int]) -> NoReturn:
    """Leave with what `main` returns, called in a process of its own; if that is killed, say so."""
    note, guard = Note(), os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, {*SIGNALS, signal.SIGCHLD})
    rank = os.fork()
    if rank == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*SIGNALS, signal.SIGCHLD})
        _leave(_code_of(main, note), guard)
    code = _outcome(rank)
    if code < 0:
        note.read(_death(-code))
    os._exit(code if code >= 0 else 128 - code)


def _code_of(main: Callable[[Note], int], note: Note) -> int:
    try:
        return main(note)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _leave(code: int, guard: int) -> NoReturn:
    """End this process, whatever its threads may still be waiting for; MPICH has things to do at exit.

    A guard that is frozen could not tell the launcher, who would wait for it for ever.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os.kill(guard, signal.SIGCONT)
    ctypes.CDLL(None).exit(code)
    raise AssertionError


def _outcome(rank: int) -> int:
    """What a process leaves with, or minus the signal that killed it; meanwhile it gets every signal that comes here.

    Signals are waited for, not handled: a handler would be late if its signal came just before the waiting.
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
