"""Verification of a table on disk: digests, invariants of all entries, and a sample of values recomputed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.progress import tracked
from yahtzee_cluster.storage.errors import DamagedError
from yahtzee_cluster.storage.store import Store

TOLERANCE = 1e-12
"""Largest relative difference allowed: a judge may add in another order."""

Judgements = Iterator[tuple[str, float, float]]
"""For each entry that was recomputed: its description, the stored value, the recomputed value."""

Judge = Callable[[ClassId, np.random.Generator], Judgements]
"""Recomputes a random entry of a class, perhaps with related ones; yields nothing for a class without suitable ones."""


class UnsoundError(YahtzeeClusterError):
    """Verification has found an error in a table."""


@dataclass(frozen=True)
class Verdict:
    """Result of a verification."""

    n_classes: int
    n_missing: int
    complaints: tuple[str, ...]
    n_judged: int
    seed: int
    """Seed of the sample."""
    largest_difference: float
    table_sha256: str | None
    """None unless the table is complete and sound."""

    def check(self) -> None:
        """Raise UnsoundError if there are complaints."""
        if self.complaints:
            raise UnsoundError("\n".join(self.complaints))

    def report(self) -> str:
        """Report on a sound table; raises UnsoundError for any other."""
        self.check()
        lines = [f"classes    {self.n_classes - self.n_missing} of {self.n_classes} there, all sound"]
        if self.table_sha256:
            difference = f"largest relative difference {self.largest_difference:.1e}"
            lines += [f"judged     {self.n_judged} values, seed {self.seed}, {difference}"]
            lines += [f"sha256     {self.table_sha256}"]
        return "\n".join(lines)


def verify(
    problem: Recurrence, store: Store, n_sampled: int = 0, seed: int | None = None, judge: Judge | None = None
) -> Verdict:
    """Check every class on disk; if the table is complete and sound, recompute a sample of its values.

    The sample has at least one value of every class, and `n_sampled` in all; it is different each time, unless a seed
    is given. The default judge is that of the problem.
    """
    there = set(store.committed) - store.dropped
    missing = [cls for cls in store.partition.classes if cls not in there]
    complaints = []
    found = sorted(there)
    with tracked(found, "classes checked", [store.partition.n_values[cls] for cls in found]) as checked:
        for cls in checked:
            try:
                complaint = problem.complaint(store.block(cls))
            except DamagedError as error:
                complaints.append(str(error))
            else:
                complaints += [f"{store.place(cls)}: {complaint}"] if complaint else []
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    differences: list[float] = []
    if not complaints and not missing:
        judge, random = judge or _judge_of(problem, store), np.random.default_rng(seed)
        with tracked(_sampled(found, n_sampled, random), "values computed again") as sampled:
            for what, stored, judged in (judgement for cls in sampled for judgement in judge(cls, random)):
                differences.append(_difference(stored, judged))
                if not differences[-1] <= TOLERANCE:  # nor if it is NaN
                    complaints.append(f"{store.path}: {what} is {stored!r}, and the judge finds {judged!r}")
    return Verdict(
        n_classes=len(store.partition.classes),
        n_missing=len(missing),
        complaints=tuple(complaints),
        n_judged=len(differences),
        seed=seed,
        largest_difference=max(differences, default=0.0),
        table_sha256=None if missing or complaints else store.table_digest,
    )


def _difference(stored: float, judged: float) -> float:
    """The relative difference of two values; equal ones have none, infinite ones included."""
    return 0.0 if stored == judged else abs(stored - judged) / max(abs(judged), np.finfo(float).tiny)


def _sampled(classes: Sequence[ClassId], n_sampled: int, random: np.random.Generator) -> list[ClassId]:
    """Every class, and then some of them at random."""
    more = random.integers(len(classes), size=max(0, n_sampled - len(classes)))
    return [*classes, *(classes[n] for n in more)]


def _judge_of(problem: Recurrence, store: Store) -> Judge:
    """The judge of a problem, `Recurrence.judged`."""

    def entries(subset: int) -> NDArray[np.float64]:
        return store[subset].reshape(-1)

    def judge(cls: ClassId, random: np.random.Generator) -> Judgements:
        members, ends = store.partition.members(cls), store.partition.starts(cls)[1:]
        if ends[-1]:
            number = int(random.integers(ends[-1]))
            place = int(np.searchsorted(ends, number, side="right"))
            subset, at = int(members[place]), number - int(store.partition.starts(cls)[place])
            judged = problem.judged(subset, at, entries)
            if judged is not None:
                yield f"entry {at} of subset {subset}", float(entries(subset)[at]), judged

    return judge
