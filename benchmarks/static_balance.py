"""Find the best assignment of classes to nodes, layer by layer and in advance, and print one JSON object a line.

The model is that of Cremers' thesis (2002, chapter 5): every subset of A has the same number of values. Section 7.3.3
asks for a distribution of the classes of one layer among n nodes that gives each node an equal share of the work, to be
found from the binomial sizes of the classes. Sizes and shares are counted in subsets; a barrier follows each layer.

The largest share of each layer is exact: it starts at a lower bound and grows until a complete search finds an
assignment. Only the efficiency of the program's own dynamic schedule is simulated.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import comb, gcd

import numpy as np
from balance import COMPUTING_ONLY, MUCH
from formulas import class_values, most_busy
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets
from yahtzee_cluster.engine.simulator import simulate

VALUES = 2 * 64 * 800
"""Values of a subset in the simulation: |B| for a target of 800 in the thesis."""

Counts = tuple[int, ...]
"""How many classes there are of each size."""


@dataclass(frozen=True)
class Layer:
    """The classes of one layer, as jobs of few different sizes for identical machines."""

    counts: Mapping[int, int]
    """[size]: how many classes have it."""

    @staticmethod
    def of(n_elements: int, n_fixed: int, layer: int) -> Layer:
        """By formula (5.6): C(|G|, k) classes of C(|H|, layer - k) subsets each, for every k."""
        counts: Counter[int] = Counter()
        n_rest = n_elements - n_fixed
        for k in range(max(0, layer - n_rest), min(n_fixed, layer) + 1):
            counts[class_values(n_rest, layer - k, 1)] += comb(n_fixed, k)
        return Layer(dict(sorted(counts.items(), reverse=True)))

    @cached_property
    def total(self) -> int:
        """The work of the layer."""
        return sum(size * n for size, n in self.counts.items())

    @cached_property
    def largest(self) -> int:
        """The size of its largest class."""
        return max(self.counts)

    @cached_property
    def unit(self) -> int:
        """The greatest common divisor of all sizes: every share is a multiple of it."""
        return gcd(*self.counts)

    def may_be_equal(self, n_nodes: int) -> bool:
        """Whether equal shares are possible as far as the largest class and divisibility say."""
        return self.largest * n_nodes <= self.total and self.total % (self.unit * n_nodes) == 0

    def least_share(self, n_nodes: int) -> int:
        """A lower bound on the largest share: by the mean, by divisibility, and by how many large classes meet."""
        mean = -(-self.total // (self.unit * n_nodes)) * self.unit
        sizes = [size for size, n in self.counts.items() for _ in range(n)]
        # Of the q·n + 1 largest classes, some node has q + 1, and they are at least as large as the last q + 1.
        crowded = (sum(sizes[q * (n_nodes - 1) : q * n_nodes + 1]) for q in range(-(-len(sizes) // n_nodes)))
        return max(mean, *crowded)

    def best_share(self, n_nodes: int) -> int:
        """The largest share under the best assignment."""
        share = self.least_share(n_nodes)
        while not can_be_assigned(tuple(self.counts), tuple(self.counts.values()), n_nodes, share):
            share += self.unit
        return share


def can_be_assigned(sizes: Sequence[int], counts: Counts, n_nodes: int, share: int) -> bool:
    """Whether n nodes can take so many classes of each size, none of them more than a share.

    A search over counts: the node that takes the largest class left is filled in every way that leaves no more idle
    than the layer as a whole does, then the others.
    """

    @cache
    def fits(left: Counts, n_left: int) -> bool:
        work = _dot(sizes, left)
        if n_left == 1 or work == 0:
            return work <= share
        idle = n_left * share - work
        if idle < 0:
            return False
        ways = _ways_to_fill(sizes, left, share, max(share - idle, 0))
        return any(fits(tuple(a - b for a, b in zip(left, taken, strict=True)), n_left - 1) for taken in ways)

    return fits(counts, n_nodes)


def _ways_to_fill(sizes: Sequence[int], left: Counts, most: int, least: int) -> Iterator[Counts]:
    """The ways to take classes of a total size from `least` to `most`, one of the largest among them."""
    first = next(at for at, n in enumerate(left) if n)

    def take(at: int, room: int) -> Iterator[Counts]:
        if at == len(sizes):
            if room <= most - least:
                yield ()
            return
        if room - _dot(sizes[at:], left[at:]) > most - least:
            return
        for n in range(min(left[at], room // sizes[at]), int(at == first) - 1, -1):
            for rest in take(at + 1, room - n * sizes[at]):
                yield (n, *rest)

    return take(0, most)


def _dot(sizes: Sequence[int], counts: Sequence[int]) -> int:
    return sum(size * n for size, n in zip(sizes, counts, strict=True))


def values_of(subsets: Subsets) -> NDArray[np.int64]:
    """The plain model: |B| values for every subset."""
    return np.full(len(subsets), VALUES, np.int64)


def dynamic_efficiency(n_elements: int, n_fixed: int, n_nodes: int) -> float:
    """The efficiency of the program's own schedule, simulated, when computing is all that takes time."""
    partition = Partition(n_elements, (1 << n_fixed) - 1, sizes=values_of)
    return simulate(partition, n_nodes, MUCH, COMPUTING_ONLY).efficiency


def compare(n_elements: int, n_fixed: int, n_nodes: int) -> dict[str, object]:
    """The best static assignment with a barrier after each layer, and the dynamic schedule, for one G and n."""
    layers = [Layer.of(n_elements, n_fixed, layer) for layer in range(n_elements + 1)]
    shares = [layer.best_share(n_nodes) for layer in layers]
    busy = most_busy(n_elements, n_fixed)
    excess = [n_nodes * share / layer.total - 1 for layer, share in zip(layers, shares, strict=True)]
    return {
        "G": n_fixed,
        "nodes": n_nodes,
        "busy": round(busy, 2),
        "static": round(2**n_elements / (n_nodes * sum(shares)), 6),
        "dynamic": round(dynamic_efficiency(n_elements, n_fixed, n_nodes), 6),
        "at_least": round(1 / (1 + (n_nodes - 1) / busy), 6),
        "at_most": round(min(1, busy / n_nodes), 6),
        "by_formula": round(2**n_elements / (n_nodes * sum(layer.least_share(n_nodes) for layer in layers)), 6),
        "equal_layers": sum(e == 0 for e in excess),
        "may_be_equal": sum(layer.may_be_equal(n_nodes) for layer in layers),
        "middle_excess": round(excess[n_elements // 2], 6),
        "shares": shares,
    }


def main() -> None:
    """Print one line for every size of G and number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=13, metavar="N", help="|A|")
    parser.add_argument("--fixed", type=int, nargs="+", default=[*range(2, 9)], metavar="N", help="sizes of G")
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 3, 4, 6, 8, 12, 16], metavar="N")
    options = parser.parse_args()
    for n_fixed, n_nodes in product(options.fixed, options.nodes):
        print(json.dumps(compare(options.elements, n_fixed, n_nodes)), flush=True)


if __name__ == "__main__":
    main()
