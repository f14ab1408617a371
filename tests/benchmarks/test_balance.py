"""The benchmark of load balance: a miniature of it, on real ranks, and the orders that it compares."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from launch import PERMITTED, mpirun

from yahtzee_cluster.engine.fixed_set import FixedSetSearch
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.probabilities import MaxProb

BALANCE = Path(__file__).parents[2] / "benchmarks" / "balance.py"


def test_a_miniature(tmp_path: Path) -> None:
    """Every order computes the table, on ranks that sleep and on those that work; what is not kept is read anew.

    Nothing-kept reads what formula (5.10) counts for true sizes, in simulation and on real ranks to the byte; the
    others read less, and keep to the bounds.
    """
    figure = tmp_path / "figure.svg"
    command = [sys.executable, str(BALANCE), "--small", "--figure", str(figure)]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=os.environ | PERMITTED
    )
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    orders = {line["order"] for line in lines if line["benchmark"] == "order"}
    assert len(orders) == 4
    search = FixedSetSearch(MaxProb(load_rules("yacht"), 60))
    costs = search.costs(search.pick(3))
    busy = search.n_values / costs.chain
    for line in lines:
        match line["benchmark"]:
            case "order":
                assert line["efficiency"] <= min(1, busy / line["workers"]) + 1e-4
                if line["order"] in {"longest-chain", "lowest-layer"}:
                    assert line["efficiency"] >= 1 / (1 + (line["workers"] - 1) / busy)
            case "sizes":
                assert max(line["efficiency"]) <= 1
                assert line["busy"] == round(search.n_values / search.costs(search.pick(line["G"])).chain, 2)
            case "asleep" | "job":
                orders.discard(line["order"])
                assert 0 < line["efficiency"] < 1
        if line["benchmark"] in {"order", "job"}:
            assert (line["read"] == 8 * costs.read) == (line["order"] == "nothing-kept")
    assert not orders
    assert figure.stat().st_size < 200_000


def test_layers_end_before_the_next_begins(tmp_path: Path) -> None:
    """Layer by layer, every class is on disk before the first of the next layer; by the longest chain, not so."""
    for order, is_layered in (("layer-by-layer", True), ("longest-chain", False)):
        table = tmp_path / order
        flags = ["--order", order, "--asleep", 1, "--rules", "yacht", "--G", 3, "--store", table, "--json"]
        told: dict[str, Any] = json.loads(mpirun(4, [BALANCE, *flags]).stdout)
        assert (told["order"], told["classes_computed"]) == (order, 80)
        placed = [(int(path.name[:2]), path.stat().st_mtime_ns) for path in (table / "classes").glob("??-*")]
        ends = [[at for layer, at in placed if layer == n] for n in range(13)]
        assert all(max(below) < min(above) for below, above in pairwise(ends)) == is_layered
