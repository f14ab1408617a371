"""What a resumed run takes over from the checkpoint, the table that it finds.

- The header: a run without --G keeps the fixed set of the table; anything else that differs is refused.
- A class whose seal, checksums and digest match is sound, and is not computed again.
- A dropped class (--keep frontier) is trusted by its digest alone, where all classes that read it are done.
- Everything else is removed and computed again: damaged classes, and dropped ones that are still needed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from yahtzee_cluster.engine.fixed_set import Scales
from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.runtime.backend import Backend
from yahtzee_cluster.runtime.configuration import AUTO, Computation, check_fits, fixed_set
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.store import Store

log = logging.getLogger("yahtzee_cluster")


def where(asked: Computation, problem: Recurrence, n_workers: int) -> tuple[int, Path]:
    """Fixed set and directory of a run; without --G, a table that was begun keeps its fixed set."""
    if asked.G == AUTO and asked.store is not None:
        header = read_header(directory := table_path(asked.store))
        if header is not None and header.elements == problem.element_names:
            check_fits(asked, problem, header.fixed, Scales(problem))
            return header.fixed, directory
    fixed = fixed_set(asked, problem, n_workers)
    return fixed, asked.directory(fixed)


def trusted_classes(backend: Backend, store: Store, *, frontier_only: bool) -> Sequence[ClassId]:
    """Classes that need not be computed again; all others that were found are removed."""
    committed, dropped = backend.wait_for_disk(lambda: (store.committed, store.dropped))
    sound = backend.check(store, [cls for cls in committed if cls not in dropped])
    if not committed:
        return []
    done, dependents = set(sound), store.partition.dependents
    sealed = backend.wait_for_disk(lambda: {cls for cls in dropped if store.has_digest(cls)}) if frontier_only else ()
    for cls in reversed(committed):  # dependents come after what they read
        if cls in sealed and dependents[cls] and done.issuperset(dependents[cls]):
            done.add(cls)
    for cls in set(committed) - done:
        if cls not in dropped:
            log.warning("class %s is damaged and will be computed again", store.place(cls).name)
        backend.wait_for_disk(partial(store.remove, cls))
    again = len(dropped - done)
    log.info("found=%d damaged=%d dropped=%d", len(done), len(committed) - len(done) - again, again)
    return sorted(done)
