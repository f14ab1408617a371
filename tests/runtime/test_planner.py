"""The planner's command: the thesis' model, the true sizes and the simulated schedule side by side."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated import YACHT
from small_games import SMALL

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.engine import fixed_set
from yahtzee_cluster.engine.fixed_set import Scales, smallest_that_fits
from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.game.rules import parse_rules
from yahtzee_cluster.objectives.probabilities import MaxProb
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.runtime import planner
from yahtzee_cluster.runtime.planner import as_text, calibrate, make_plan
from yahtzee_cluster.storage.store import Store

TWO = Race(parse_rules(SMALL["free"], "test"))


def plan(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "yahtzee_cluster.plan", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def planned(*flags: str) -> dict[str, Any]:
    result = plan(*flags, "--json")
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_thesis_case() -> None:
    """For a target of 400 and 256 MB, the thesis' model needs |G| = 5: 288 classes, 186 MB, 3.5 reads for a value."""
    found = planned("--target", "400", "--cache", "256MB", "--ranks", "17")
    rows = found["rows"]
    assert (rows[5]["thesis_classes"], round(rows[5]["thesis_cache_bytes"] / 2**20)) == (288, 186)
    assert rows[5]["thesis_reads_per_value"] == pytest.approx(3.5 - 2**-8)
    fits = [row["n_fixed"] for row in rows if row["thesis_cache_bytes"] <= 256 * 2**20]
    assert fits == [*range(5, 14)]
    assert found["thesis_table_bytes"] == 8 * 2 * 64 * 400 * 2**13
    assert [row["fits"] for row in rows] == [row["cache_bytes"] <= 256 * 2**20 for row in rows]
    assert rows[5]["cache_bytes"] < rows[5]["thesis_cache_bytes"] / 3
    assert [round(row["most_busy"], 1) for row in rows[:6]] == [1.0, 1.8, 3.2, 5.7, 10.1, 17.1]
    assert found["left_out"] == []
    assert found["advised"] in {row["n_fixed"] for row in rows if row["fits"]}


def test_scaling() -> None:
    """For one G, the same forecasts as for that G on so many ranks; nothing gets longer without the disk in the way."""
    flags = ["--rules", "yacht", "--target", "300", "--G", "3"]
    found = planned(*flags, "--scaling")
    assert found["ranks"] == [1 << n for n in range(1, 11)]
    assert (found["rules"], found["objective"], found["target"]) == ("yacht", "maxprob", 300)
    for n_ranks in (4, 16):
        row = planned(*flags, "--ranks", str(n_ranks))["rows"][3]
        assert (row["G"], row["classes"]) == (found["G"], found["classes"])
        assert row["forecast"] == found["forecasts"][found["ranks"].index(n_ranks)]
    shown = plan(*flags, "--scaling").stdout.splitlines()
    assert shown[0] == "yacht, maxprob, target 300"
    assert len(shown) == 6 + 10
    refused = plan(*flags, "--scaling", "--cache", "100KB")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--cache 100KB is too small for |G| = 3" in refused.stderr


def test_calibration_and_figure(tmp_path: Path) -> None:
    """Measured costs are plausible, and the figure is drawn, the same file each time."""
    rules = tmp_path / "rules.toml"
    rules.write_text(SMALL["free"])
    flags = ["--rules", str(rules), "--target", "200", "--store", str(tmp_path / "table")]
    costs = planned(*flags, "--calibrate")["costs"]
    assert 1e-9 < costs["value_s"] < 1e-5
    assert 1e4 < costs["disk_write_bytes_per_s"] < 1e12
    assert 1e-5 < costs["commit_s"] < 1
    figures = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for figure in figures:
        assert plan(*flags, "--plot", str(figure)).returncode == 0
    assert figures[0].read_bytes() == figures[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == [figures[0], rules, figures[1]]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--ranks", "0"], "argument --ranks: expected a whole number from 1 to 1000000, found '0'; see --help"),
        (["--rules", "chess"], "chess: no such rule set or file"),
        (["--rules", "yacht", "--plot", "/none/at/all.svg"], "plot: /none/at/all.svg cannot be written: "),
        (["--rules", "yacht", "--plot", "figure.xyz"], "plot: figure.xyz cannot be written: "),
        (["--scaling", "--plot", "figure.svg"], "--plot draws fixed sets of every size, and --scaling keeps to one"),
        (["--scaling", "--ranks", "9"], "--scaling shows 2 to 1,024 ranks; leave out --ranks"),
        (["--scaling", "--rules", "yacht", "--G", "aces,aces"], "G: aces is named twice"),
        (["--scaling", "--rules", "yacht", "--G", "aces,,sixes"], "G: no element ''"),
        (["--objective", "expected", "--target", "300"], "target: expected has none; leave it out"),
    ],
)
def test_refusals(flags: list[str], expected: str) -> None:
    """Bad input is one line that says what was expected."""
    result = plan(*flags)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert expected in result.stderr


def test_for_people() -> None:
    """The table says what fits, what is advised, and what a rank needs in all."""
    shown = plan("--rules", "yacht", "--cache", "1MB").stdout
    assert "memory     129 MB for each of 3 ranks: a cache of 1.0 MB, and 128 MB besides\n" in shown
    assert "Advised: --G " in shown
    assert "No G makes it fit; take a larger --cache." in plan("--rules", "yacht", "--cache", "1KB").stdout


def test_too_many_classes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed sets that make too many classes are not planned for, and the plan says which."""
    monkeypatch.setattr(fixed_set, "MOST_CLASSES", 100)
    monkeypatch.setattr(planner, "MOST_CLASSES", 100)
    plan = make_plan(Job(rules="yacht", target=300), YACHT, 3, Costs())
    assert [row.n_fixed for row in plan.rows] == [0, 1, 2, 3]
    assert all(row.classes <= 100 for row in plan.rows)
    assert plan.left_out == [*range(4, 13)]
    assert "  Left out: 4 to 12, which make more than 100 classes." in as_text(plan)
    assert smallest_that_fits(YACHT, Scales(YACHT), 0) is None


def test_calibration_writes_no_more_than_it_should(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a layer that is too large, only the first subsets are written, and at least one."""
    written: list[Block] = []
    write = Store.write

    def noted(store: Store, cls: ClassId, block: Block) -> None:
        written.append(block)
        write(store, cls, block)

    monkeypatch.setattr(Store, "write", noted)
    for most, n_subsets in ((1 << 26, 6), (600, 3), (1, 1)):
        monkeypatch.setattr(planner, "CALIBRATED_VALUES", most)
        written.clear()
        calibrate(MaxProb(TWO.rules, 60), Job(store=str(tmp_path / "table")))
        assert len(written[-1]) == n_subsets
        assert n_subsets == 1 or len(written[-1].values) <= most
