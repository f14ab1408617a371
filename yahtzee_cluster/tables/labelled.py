"""Tables as labelled arrays of xarray. They are read where they are looked at, also tables larger than the memory.

Only this module needs xarray, and it is loaded when somebody asks for such an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from yahtzee_cluster.tables.scorecards import ScorecardTable


class Quantity(BackendArray):
    """One quantity of a table, [state] or [state, number], in the form from which xarray reads lazily."""

    def __init__(self, table: ScorecardTable, places: NDArray[np.int64], quantity: int) -> None:
        self._table = table
        self._places = places
        self._quantity = quantity
        self.shape = (len(places), len(table.numbers)) if table.number else (len(places),)
        self.dtype = np.dtype(float)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Read some states at some numbers."""
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        states, number = key if self._table.number else (*key, 0)
        places, wanted = self._places[states], np.array(self._table.numbers)[number]
        shape = np.shape(places) + np.shape(wanted)
        if 0 in shape:
            return np.empty(shape)
        span = range(int(np.min(wanted)), int(np.max(wanted)) + 1)
        found = self._table.values(np.atleast_1d(places), span, self._quantity)
        return found[:, np.atleast_1d(wanted) - span.start].reshape(shape)


def labelled(table: ScorecardTable, places: NDArray[np.int64], dimension: str) -> xr.Dataset:
    """All quantities of the states at some places."""
    free, upper, chip = table.anchors.columns(places)
    names = [category.name for category in table.rules.categories]
    dimensions = (dimension, table.number) if table.number else (dimension,)
    quantities = {
        name: (dimensions, indexing.LazilyIndexedArray(Quantity(table, places, quantity)))
        for quantity, name in enumerate(table.names)
    }
    coordinates: dict[str, Any] = {
        "upper": (dimension, upper),
        "chip": (dimension, chip == 1),
        "is_free": ((dimension, "box"), (free[:, None] >> np.arange(len(names)) & 1) == 1),
        "box": names,
    }
    if table.number:
        coordinates[table.number] = np.array(table.numbers)
    return xr.Dataset(quantities, coordinates, {"objective": table.objective, "rules": table.rules.name})
