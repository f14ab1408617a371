"""Run `yahtzee_cluster.run`, and note when each class is acknowledged: the length of a disk's log then, and the class.

Start it with the log, the file for the notes and the flags of the job; with mpirun in front, all ranks share the notes.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.storage.store import Store

CARELESS = "POWERCUTS_CARELESS"
"""With this in the environment nothing is ever flushed, which is to be found out."""


def main() -> None:
    """Take over from the interpreter what `python -m yahtzee_cluster.run` would be given."""
    log, notes = map(Path, sys.argv[1:3])
    write = Store.write

    def noted(self: Store, cls: ClassId, block: Block) -> None:
        write(self, cls, block)
        with notes.open("a") as file:
            file.write(f"{log.stat().st_size} {self.place(cls).name}\n")

    Store.write = noted  # type: ignore[method-assign]
    if CARELESS in os.environ:
        os.fsync = lambda fd: None  # noqa: ARG005
    del sys.argv[1:3]
    runpy.run_module("yahtzee_cluster.run", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
