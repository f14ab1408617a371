"""What a resumed run takes over from the checkpoint, the table that it finds.

- The header: a run without --G keeps the fixed set of the table, which is also found under ./runs if another number
  of ranks has made it; anything else that differs is refused.
- A class whose seal, checksums and digest match is sound, and is not computed again.
- A dropped class (--keep frontier) is trusted by its digest alone, where all classes that read it are done.
- Everything else is removed and computed again: damaged classes, and dropped ones that are still needed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.progress import stage
from yahtzee_cluster.runtime.backend import Backend
from yahtzee_cluster.runtime.configuration import AUTO, Computation, check_fits, fixed_set, search_of
from yahtzee_cluster.storage.checks import check_problem
from yahtzee_cluster.storage.header import check_same_table, read_header
from yahtzee_cluster.storage.paths import CLASSES
from yahtzee_cluster.storage.store import Store

log = logging.getLogger("yahtzee_cluster")


def where(asked: Computation, problem: Recurrence, n_workers: int) -> tuple[int, Path]:
    """Fixed set and directory of a run; without --G, a table that was begun keeps its fixed set."""
    check_problem(problem)
    if asked.G == AUTO and (begun := _begun(asked, problem)):
        fixed, directory = begun
        check_fits(asked, fixed, search_of(problem, lists=False))
        return fixed, directory
    fixed = fixed_set(asked, problem, n_workers)
    return fixed, asked.directory(fixed)


def _begun(asked: Computation, problem: Recurrence) -> tuple[int, Path] | None:
    """Fixed set and directory of a table that was begun, whatever made it; of several, the one written last."""
    found = {}
    for path in asked.directories():
        try:
            if header := read_header(path):
                found[path] = header
        except YahtzeeClusterError as error:
            if asked.store is not None:
                raise
            log.warning("%s; it is left aside", error)
    if asked.store is not None:
        for path, header in found.items():
            check_same_table(path, header, problem, header.fixed)
    same = [path for path, header in found.items() if header.describes(problem)]
    if not same:
        return None
    directory = max(same, key=_written_at)
    return found[directory].fixed, directory


def _written_at(path: Path) -> float:
    """When a class of a table was last written or removed; 0 if it has none."""
    try:
        return (path / CLASSES).stat().st_mtime
    except OSError:
        return 0.0


def trusted_classes(backend: Backend, store: Store, *, frontier_only: bool) -> Sequence[ClassId]:
    """Classes that need not be computed again; all others that were found are removed."""
    committed, dropped = backend.wait_for_disk(lambda: (store.committed, store.dropped))
    with stage("check of the classes found"):
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
