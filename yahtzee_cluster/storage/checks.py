"""What a problem must keep to, checked on a few subsets before anything is planned, computed or read.

The engine believes what a problem says of its subsets. An answer of another type, or one that depends on which subsets
are asked for together, would otherwise make a wrong table without a word.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import CHUNK, Recurrence
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.storage.header import MAX_ELEMENTS
from yahtzee_cluster.text import short, shown

SAMPLED = 32
"""Number of subsets that a problem is asked about, all together and one by one."""
MOST_CHUNKS = 1 << 10
"""Chunks of subsets of which one at least must exist; nobody looks beyond them."""
MOST_ENTRIES = 1 << 40
"""Most entries of a subset."""


def check_problem(problem: object) -> None:
    """Refuse a problem that contradicts itself, or answers what the engine cannot use."""
    if not isinstance(problem, Recurrence):
        raise UsageError(f"problem: expected an object of a class derived from Recurrence, found {shown(problem)}")
    n_elements = _check_elements(problem.element_names)
    _check_identity(problem)
    if problem.sizes_by_layer:
        _check_layer_sizes(problem, n_elements)
    drawn = np.random.default_rng(1).integers(0, 1 << n_elements, SAMPLED)
    drawn = np.unique(np.append(drawn, (0, (1 << n_elements) - 1)))
    existing = drawn[_answers("exist", problem.exist, drawn, "b", "an array of bool")]
    if not len(existing):
        existing = _find_existing(problem, n_elements)
    sizes = _answers("sizes", problem.sizes, existing, "iu", "an array of whole numbers (such as int64)")
    for wrong in sizes[(sizes < 0) | (sizes > MOST_ENTRIES)]:
        raise UsageError(f"sizes: expected whole numbers from 0 to {MOST_ENTRIES:,}, found {wrong}")
    if not problem.sizes_by_layer and type(problem).layer_sizes is not Recurrence.layer_sizes:
        _check_layer_sizes(problem, n_elements)
        by_layer = np.array(problem.layer_sizes)[np.bitwise_count(existing)]
        for at in np.flatnonzero(sizes != by_layer):
            raise UsageError(
                f"sizes: gives subset {existing[at]} {sizes[at]} entries, and layer_sizes {by_layer[at]}; leave one out"
            )


def _check_elements(names: object) -> int:
    """Refuse elements that are no tuple of different names, or too many; return their number."""
    if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"element_names: expected a tuple of names, found {shown(names)}")
    if not 0 < len(names) <= MAX_ELEMENTS:
        raise UsageError(
            f"this problem has {len(names)} elements; expected 1 to {MAX_ELEMENTS}, because subsets are 64-bit integers"
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"element_names: two elements are called {shown(twice)}")
    return len(names)


def _check_identity(problem: Recurrence) -> None:
    """Refuse an identity that is no JSON, or another one each time."""
    if not isinstance(problem.identity, dict):
        raise UsageError(f"identity: expected a dictionary, found {shown(problem.identity)}")
    try:
        said, again = (json.dumps(problem.identity, sort_keys=True, allow_nan=False) for _ in range(2))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"identity: expected numbers, texts, lists and dictionaries: {short(str(error), 200)}"
        ) from error
    if said != again:
        raise UsageError("identity: is another one each time that it is asked for")


def _check_layer_sizes(problem: Recurrence, n_elements: int) -> None:
    """Refuse sizes of layers that are no whole numbers, or too few."""
    sizes = problem.layer_sizes
    if not isinstance(sizes, Sequence | np.ndarray):
        raise UsageError(f"layer_sizes: expected a list of sizes, found {shown(sizes)}")
    if len(sizes) != n_elements + 1:
        raise UsageError(
            f"layer_sizes: expected {n_elements + 1} sizes, of layers 0 to {n_elements}, found {len(sizes)}"
        )
    if not all(isinstance(size, int | np.integer) and 0 <= size <= MOST_ENTRIES for size in sizes):
        raise UsageError(f"layer_sizes: expected whole numbers from 0 to {MOST_ENTRIES:,}, found {shown(sizes)}")
    if [*sizes] != [*problem.layer_sizes]:
        raise UsageError("layer_sizes: are others each time that they are asked for")


def _answers(
    name: str, function: Callable[[Subsets], NDArray[Any]], subsets: Subsets, kinds: str, expected: str
) -> NDArray[Any]:
    """What a method of a problem answers for some subsets; refused unless it is the same for each of them alone."""

    def asked(some: Subsets) -> NDArray[Any]:
        some = some.copy()
        some.flags.writeable = False
        try:
            answer = function(some)
        except Exception as error:
            raise UsageError(f"{name}: fails with {type(error).__name__}: {short(str(error), 200)}") from error
        if not isinstance(answer, np.ndarray) or answer.shape != some.shape or answer.dtype.kind not in kinds:
            found = f"one of {answer.dtype}, shape {answer.shape}" if isinstance(answer, np.ndarray) else shown(answer)
            raise UsageError(f"{name}: expected {expected} for {len(some)} subsets, found {found}")
        return answer

    answer = asked(subsets)
    for at, subset in enumerate(subsets):
        if asked(subsets[at : at + 1])[0] != answer[at]:
            raise UsageError(f"{name}: answers otherwise for subset {subset} when it is asked for alone")
    return answer


def _find_existing(problem: Recurrence, n_elements: int) -> Subsets:
    """Some existing subsets, if there are any among the first ones; refuses a problem without any."""
    n_subsets = 1 << n_elements
    for first in range(0, min(n_subsets, MOST_CHUNKS * CHUNK), CHUNK):
        subsets = np.arange(first, min(first + CHUNK, n_subsets))
        found = subsets[problem.exist(subsets)]
        if len(found):
            return found[:SAMPLED]
    raise UsageError("exist: no subset of this problem exists")
