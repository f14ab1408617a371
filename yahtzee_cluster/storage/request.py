"""Subsets that a caller asks a table for, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets
from yahtzee_cluster.storage.errors import SubsetError
from yahtzee_cluster.text import shown

Asked = SupportsIndex | slice | Sequence[int] | NDArray[np.integer[Any]]
"""One subset; the numbers of a slice; or an array of subsets of any shape."""


def as_subsets(asked: Asked, partition: Partition) -> Subsets:
    """The subsets asked for, as an array; SubsetError unless all of them exist."""
    n_subsets = 1 << partition.n_elements
    if isinstance(asked, slice):
        try:
            numbers = range(n_subsets)[asked]
        except (TypeError, ValueError):
            raise SubsetError(f"subsets: expected a slice of whole numbers, its step not 0, found {asked}") from None
        subsets = np.arange(numbers.start, numbers.stop, numbers.step)
    else:
        try:
            subsets = np.asarray(asked)
        except ValueError:
            raise SubsetError(f"subsets: expected an array, all rows as long, found {shown(asked)}") from None
    if not subsets.size:
        return subsets.astype(np.int64)
    if subsets.dtype.kind not in "iu":
        raise SubsetError(
            f"subsets: expected whole numbers, bit sets of {partition.n_elements} elements, found {shown(asked)}"
        )
    outside = subsets[(subsets < 0) | (subsets >= n_subsets)]
    if outside.size:
        raise SubsetError(f"no subset {outside[0]}: {partition.n_elements} elements have subsets 0 to {n_subsets - 1}")
    subsets = subsets.astype(np.int64)
    missing = subsets[~partition.exist(subsets.reshape(-1)).reshape(subsets.shape)]
    if missing.size:
        raise SubsetError(f"subset {missing[0]} has no entries in this problem")
    return subsets
