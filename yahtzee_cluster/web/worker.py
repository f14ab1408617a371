"""A process that answers questions which take long: one JSON line in, lines of progress and one answer out.

It ends when its input ends, also in the middle of a question, so that it never outlives the server.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TextIO

from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.play.question import parsed
from yahtzee_cluster.progress import passing_progress
from yahtzee_cluster.web.questions import Advisers, answer

MOST_BYTES = 4 << 30
"""The most address space of a worker; threads and libraries reserve a part of it without using it."""
NICENESS = 10
GAMES = 2
"""The games whose solved values a worker keeps."""
EVERY_S = 0.1
"""How often progress is told."""


class _Teller:
    """Writes messages to the server, progress now and then."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._told_at = 0.0

    def tell(self, **message: Any) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def progress(self, stage: str, share: float) -> None:
        if monotonic() - self._told_at >= EVERY_S:
            self._told_at = monotonic()
            self.tell(progress={"stage": stage, "share": share})


def main() -> None:
    """Answer questions until there are no more."""
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    Path("/proc/self/oom_score_adj").write_text("1000")  # if the machine lacks memory, a worker goes first
    out, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed must not get between the messages
    lines: SimpleQueue[str] = SimpleQueue()
    Thread(target=_read, args=(lines,), daemon=True).start()
    teller, advisers = _Teller(out), Advisers(GAMES)
    while True:
        kind, text = json.loads(lines.get())
        try:
            with passing_progress(teller.progress):
                found = answer(kind, parsed(text), advisers)
            teller.tell(answer=found)
        except YahtzeeClusterError as error:
            teller.tell(refused=str(error))
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and str(error) != "can't start new thread":  # for want of memory
                raise
            teller.tell(failed="this question takes more memory than a question may take")


def _read(lines: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
