"""The best assignment of classes to nodes in advance: its bounds and its optimum, against brute force."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from formulas import chain_values

from yahtzee_cluster.engine.partition import Partition

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "load-balance.md"


@cache
def lines(*flags: object) -> list[dict[str, Any]]:
    """What the program prints."""
    command = [sys.executable, str(ROOT / "benchmarks" / "static_balance.py"), *map(str, flags)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def layers(n_elements: int, n_fixed: int) -> list[list[int]]:
    """The sizes of the real classes of each layer, counted subset by subset."""
    partition = Partition(n_elements, (1 << n_fixed) - 1)
    found: list[list[int]] = [[] for _ in range(n_elements + 1)]
    for cls in partition.classes:
        found[partition.layer(cls)].append(len(partition.members(cls)))
    return found


def largest_share(sizes: Sequence[int], n_nodes: int) -> int:
    """The largest share under the best of all assignments, each of which is tried."""
    shares = {(0,) * n_nodes}
    for size in sizes:
        given = ((share, at) for share in shares for at in range(n_nodes))
        shares = {tuple(sorted((*share[:at], share[at] + size, *share[at + 1 :]))) for share, at in given}
    return min(share[-1] for share in shares)


@pytest.mark.parametrize("n_elements", [4, 6, 7])
def test_optimum_is_that_of_brute_force(n_elements: int) -> None:
    """For every layer, every G with up to eight parts and two to five nodes, no assignment is better."""
    for line in lines("--elements", n_elements, "--fixed", 0, 1, 2, 3, "--nodes", 2, 3, 5):
        sizes = layers(n_elements, line["G"])
        assert line["shares"] == [largest_share(layer, line["nodes"]) for layer in sizes]
        assert line["equal_layers"] == sum(
            share * line["nodes"] == sum(layer) for share, layer in zip(line["shares"], sizes, strict=True)
        )
        assert line["equal_layers"] <= line["may_be_equal"]


@pytest.mark.parametrize("n_elements", range(1, 9))
def test_closed_formulas(n_elements: int) -> None:
    """A layer has C(|A|, l) subsets in C(|G|, k) classes of each size; its largest classes add up to the chain."""
    for n_fixed in range(n_elements + 1):
        sizes = layers(n_elements, n_fixed)
        n_rest = n_elements - n_fixed
        for number, layer in enumerate(sizes):
            parts = [k for k in range(n_fixed + 1) if 0 <= number - k <= n_rest]
            expected: Counter[int] = Counter()
            for k in parts:
                expected[comb(n_rest, number - k)] += comb(n_fixed, k)
            assert Counter(layer) == expected
            assert sum(layer) == comb(n_elements, number)
            assert len(layer) <= 2**n_fixed
        assert sum(map(max, sizes)) == chain_values(n_elements, n_fixed, 1)


def test_bounds() -> None:
    """The best static assignment lies between the two bounds that also hold for the dynamic schedule."""
    for line in lines("--elements", 9, "--fixed", 1, 2, 4, 5, "--nodes", 1, 2, 3, 8):
        assert line["at_least"] - 1e-4 <= line["static"] <= line["at_most"] + 1e-4
        assert line["at_least"] - 1e-4 <= line["dynamic"] <= line["at_most"] + 1e-4
        assert line["static"] <= line["by_formula"]


def test_the_page_has_these_figures() -> None:
    """The tables of the page are what the program prints for |A| = 13."""
    found = {(line["G"], line["nodes"]): line for line in lines()}
    text = PAGE.read_text(encoding="utf-8")
    for key, title in (("static", "static"), ("dynamic", "dynamic"), ("middle_excess", "middle layers")):
        table = re.search(rf"^\| \\\|G\\\|, {title} \|.*\n.*\n((?:\|.*\n)+)", text, re.MULTILINE)
        assert table is not None
        nodes = [2, 3, 4, 6, 8, 12, 16]
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()]
        assert [int(row[0]) for row in rows] == [*range(2, 9)]
        for (n_fixed, *cells), n in product(rows, nodes):
            assert cells[nodes.index(n)] == f"{100 * found[int(n_fixed), n][key]:.1f} %"
    counts = [sum(line[key] for line in found.values()) for key in ("may_be_equal", "equal_layers")]
    assert f"{counts[0]} layers satisfy them and {counts[1]} can be divided equally" in text
    assert f"by up to {100 * max(line['dynamic'] - line['static'] for line in found.values()):.1f} points" in text
    assert f"by up to {100 * max(line['by_formula'] - line['static'] for line in found.values()):.1f} points" in text
