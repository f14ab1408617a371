"""The shortest tour through some cities, exactly: the table of Held and Karp, on all ranks there are.

    mpirun -n 3 python examples/held_karp.py ulysses22

For every set of cities and each of them, the table has the shortest way that starts at the first city, goes through
the whole set, and ends at that one. (Held and Karp 1962)
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import yahtzee_cluster as yc

LIBRARY = Path(__file__).parent / "tsplib"

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Tours(yc.Recurrence):
    """All sets of cities but the first, where every tour begins and ends."""

    name: str
    distances: tuple[tuple[int, ...], ...]

    @property
    def element_names(self) -> tuple[str, ...]:
        """The cities to visit, by number; the first is number 1."""
        return tuple(str(city) for city in range(2, len(self.distances) + 1))

    @property
    def identity(self) -> dict[str, Any]:
        """What the entries depend on."""
        return {"problem": "tours", "name": self.name, "distances": self.distances}

    @property
    def layer_sizes(self) -> Sequence[int]:
        """One entry for each city of a set, in their order; for no city at all a single one."""
        return [1, *range(1, len(self.distances))]

    @cached_property
    def _between(self) -> tuple[Values, Values]:
        """From the first city to each of the others, and between these."""
        distances = np.array(self.distances, float)
        return distances[0, 1:], distances[1:, 1:]

    def solver(self) -> yc.Solver:
        """The same for all threads."""
        return self._solve

    def _solve(self, block: yc.Block, below: yc.Below) -> None:
        size = int(block.subsets[0]).bit_count()  # of all sets of a block
        if size == 0:
            block.values[:] = 0.0
            return
        from_first, between = self._between
        ways = block.values.reshape(-1, size)
        for last, before in enumerate(below):
            having = np.flatnonzero(block.subsets >> last & 1)
            if not len(having):
                continue
            others = block.subsets[having] ^ 1 << last
            at = np.bitwise_count(others & (1 << last) - 1)  # of the last city among those of its set
            if size == 1:
                ways[having, at] = from_first[last]
                continue
            assert before is not None
            known = before.values.reshape(-1, size - 1)[np.searchsorted(before.subsets, others)]
            ways[having, at] = (known + between[cities(others, size - 1), last]).min(axis=1)

    def judged(self, subset: int, at: int, entries: Callable[[int], Values]) -> float:
        """One city before the last after the other, as one would write it down."""
        here = [city for city in range(len(self.element_names)) if subset >> city & 1]
        if len(here) < 2:
            return float(self.distances[0][here[0] + 1]) if here else 0.0
        last = here.pop(at)
        known = zip(here, entries(subset ^ 1 << last).tolist(), strict=True)
        return float(min(way + self.distances[city + 1][last + 1] for city, way in known))


def cities(subsets: yc.Subsets, size: int) -> NDArray[np.int64]:
    """[set, i]: the cities of sets with so many, in rising order."""
    found, left = np.empty((len(subsets), size), np.int64), subsets.copy()
    for i in range(size):
        lowest = left & -left
        found[:, i] = np.bitwise_count(lowest - 1)
        left ^= lowest
    return found


def shortest(problem: Tours, store: yc.Store) -> tuple[int, list[int]]:
    """The length of the shortest tour, and the tour: the way back through the table, a row for each city."""
    n = len(problem.element_names)
    left, last, tour, length = (1 << n) - 1, 0, [1], 0
    while left:
        here = cities(np.array([left]), left.bit_count())[0]
        ways = store[left]
        ways += [problem.distances[city + 1][last] for city in here.tolist()]
        best = int(np.argmin(ways))
        length = length or round(float(ways[best]))
        last = int(here[best]) + 1
        tour.append(last + 1)
        left ^= 1 << last - 1
    return length, [*tour, 1]


# --------------------------------------------------------------------------------- the files of TSPLIB


def read_tsplib(name: str) -> tuple[tuple[int, ...], ...]:
    """The distances of a file, or of one of those that lie beside this program, by its name."""
    path = {path.stem: path for path in LIBRARY.glob("*.tsp")}.get(name, Path(name))
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        header = dict(_header(lines))
        section = next(i for i, line in enumerate(lines) if line.strip().endswith("_SECTION"))
        numbers = [float(word) for line in lines[section + 1 :] if line.strip() != "EOF" for word in line.split()]
        n, kind = int(header["DIMENSION"]), header["EDGE_WEIGHT_TYPE"]
        if kind == "GEO":
            places = np.array(numbers).reshape(n, 3)[:, 1:].tolist()
            return tuple(tuple(_on_earth(one, other) for other in places) for one in places)
        if header.get("EDGE_WEIGHT_FORMAT") == "LOWER_DIAG_ROW":
            rows = [numbers[i * (i + 1) // 2 :][: i + 1] for i in range(n)]
            return tuple(tuple(int(rows[max(i, j)][min(i, j)]) for j in range(n)) for i in range(n))
    except OSError as error:
        raise yc.FileError(str(path), f"cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, IndexError, StopIteration) as error:
        raise yc.FileError(str(path), "is no file of TSPLIB") from error
    raise yc.FileError(str(path), f"has distances of a kind that this program does not know: {kind}")


def _header(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            yield key.strip(), value.strip()


def _on_earth(one: Sequence[float], other: Sequence[float]) -> int:
    """As TSPLIB has it: degrees and minutes, an earth of 6378.388 km, and its own idea of pi."""
    if one == other:
        return 0
    (north1, east1), (north2, east2) = (
        [3.141592 * (int(angle) + 5 * (angle - int(angle)) / 3) / 180 for angle in place] for place in (one, other)
    )
    q1, q2, q3 = math.cos(east1 - east2), math.cos(north1 - north2), math.cos(north1 + north2)
    return int(6378.388 * math.acos(((1 + q1) * q2 - (1 - q1) * q3) / 2) + 1)


# ------------------------------------------------------------------------------------------ the command


@dataclass(frozen=True, kw_only=True)
class ShortestTour(yc.Computation):
    """What the command line asks for."""

    instance: str

    @classmethod
    def add_flags(cls, parser: argparse.ArgumentParser) -> None:
        """The instance, and nothing else."""
        known = ", ".join(sorted(path.stem for path in LIBRARY.glob("*.tsp")))
        parser.add_argument("instance", metavar="NAME|FILE", help=f"an instance of TSPLIB: {known}, or a file")

    @property
    def about(self) -> Mapping[str, Any]:
        """Which cities."""
        return {"instance": Path(self.instance).stem}

    def problem(self) -> Tours:
        """The table."""
        return Tours(Path(self.instance).stem, read_tsplib(self.instance))

    def result(self, problem: yc.Recurrence, store: yc.Store) -> Sequence[str]:
        """How long the shortest tour is, and where it leads."""
        assert isinstance(problem, Tours)
        length, tour = shortest(problem, store)
        return [f"length     {length}", f"tour       {' '.join(map(str, tour))}"]


if __name__ == "__main__":
    yc.start(ShortestTour, "mpirun -n 3 python examples/held_karp.py ulysses22")
