"""Whether every byte of a table on disk is right: digests, what must hold of all entries, and a sample judged anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.recurrence import Recurrence
from yahtzee_cluster.store import DamagedError, Store

TOLERANCE = 1e-12
"""By so much, relatively, the judge may differ: he adds in another order."""

Judgements = Iterator[tuple[str, float, float]]
"""What an entry is, what the table has there, and what the judge finds."""


class UnsoundError(YahtzeeClusterError):
    """A table is not right."""


@dataclass(frozen=True)
class Verdict:
    """What was found."""

    n_classes: int
    n_missing: int
    complaints: tuple[str, ...]
    n_judged: int
    largest_difference: float
    table_sha256: str | None
    """Of a table that is complete and sound."""

    def check(self) -> None:
        """Refuse a table that is not right."""
        if self.complaints:
            raise UnsoundError("\n".join(self.complaints))

    def report(self) -> str:
        """What there is to say of a table that is right."""
        self.check()
        lines = [f"classes    {self.n_classes - self.n_missing} of {self.n_classes} there, all sound"]
        if self.table_sha256:
            difference = f"largest relative difference {self.largest_difference:.1e}"
            lines += [f"judged     {self.n_judged} values, {difference}", f"sha256     {self.table_sha256}"]
        return "\n".join(lines)


def verify(
    problem: Recurrence,
    store: Store,
    n_sampled: int = 20,
    seed: int = 1,
    judge: Callable[[int, np.random.Generator], Judgements] | None = None,
) -> Verdict:
    """Look at everything that is there; where a table is complete, have a sample judged, by the problem if need be."""
    there = set(store.committed) - store.dropped
    missing = [cls for cls in store.partition.classes if cls not in there]
    complaints = []
    for cls in store.partition.classes:
        if cls not in there:
            continue
        try:
            complaint = problem.complaint(store.block(cls))
        except DamagedError as error:
            complaints.append(str(error))
        else:
            complaints += [f"{store.place(cls)}: {complaint}"] if complaint else []
    differences: list[float] = []
    if not complaints and not missing:
        random = np.random.default_rng(seed)
        for what, stored, judged in (judge or _judged_by(problem, store))(n_sampled, random):
            differences.append(abs(stored - judged) / max(abs(judged), np.finfo(float).tiny))
            if differences[-1] > TOLERANCE:
                complaints.append(f"{store.path}: {what} is {stored!r}, and the judge finds {judged!r}")
    return Verdict(
        n_classes=len(store.partition.classes),
        n_missing=len(missing),
        complaints=tuple(complaints),
        n_judged=len(differences),
        largest_difference=max(differences, default=0.0),
        table_sha256=None if missing or complaints else store.table_digest,
    )


def _judged_by(problem: Recurrence, store: Store) -> Callable[[int, np.random.Generator], Judgements]:
    """The problem's own judge, for some subsets: every entry of them."""

    def entries(subset: int) -> NDArray[np.float64]:
        start = store.start(subset)
        size = int(problem.sizes(np.array([subset]))[0])
        return store.row(store.partition.class_of(subset), start, start + size)

    def judge(n_sampled: int, random: np.random.Generator) -> Judgements:
        for _ in range(n_sampled):
            members = store.partition.members(store.partition.classes[random.integers(len(store.partition.classes))])
            subset = int(random.choice(members))
            judged = problem.judged(subset, entries)
            if judged is not None:
                for at, (stored, found) in enumerate(zip(entries(subset).tolist(), judged, strict=True)):
                    yield f"entry {at} of subset {subset}", stored, found

    return judge
