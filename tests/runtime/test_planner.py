"""The planner's command: the thesis' model, the true sizes and the simulated schedule side by side."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from simulated import YACHT
from small_games import SMALL

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.engine import fixed_set
from yahtzee_cluster.engine.fixed_set import FixedSetSearch, smallest_that_fits
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.runtime import plan_output
from yahtzee_cluster.runtime.costs import KnownCosts
from yahtzee_cluster.runtime.plan_output import as_text
from yahtzee_cluster.runtime.planner import make_plan

TWO = Race(parse_rules(SMALL["free"], "test"))


def plan(*flags: str) -> subprocess.CompletedProcess[str]:
    """Run the command, with costs that are the same everywhere unless the flags say otherwise."""
    costs = [] if {"--costs", "--calibrate"} & {*flags} else ["--costs", "assumed"]
    command = [sys.executable, "-m", "yahtzee_cluster.plan", *flags, *costs]
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
    assert found["of_thesis"]
    assert found["advised"] in {row["n_fixed"] for row in rows if row["fits"]}


def test_scaling() -> None:
    """Every number of ranks has its best G, and the same forecasts as a plan for so many ranks; more are not slower."""
    flags = ["--rules", "yacht", "--target", "300", "--G", "3"]
    found = planned(*flags, "--scaling")
    rows = {row["ranks"]: row for row in found["rows"]}
    assert list(rows) == [1 << n for n in range(1, 11)]
    assert (found["rules"], found["objective"], found["target"], len(found["G"])) == ("yacht", "maxprob", 300, 3)
    for n_ranks in (4, 16):
        plan_for_it = planned(*flags, "--ranks", str(n_ranks))
        used, best, own = (plan_for_it["rows"][n] for n in (rows[n_ranks]["n_fixed"], plan_for_it["advised"], 3))
        assert (rows[n_ranks]["classes"], rows[n_ranks]["forecast"]) == (used["classes"], used["forecast"])
        assert used["forecast"]["makespan_s"] <= 1.05 * best["forecast"]["makespan_s"]
        assert rows[n_ranks]["as_asked"]["makespan_s"] == own["forecast"]["makespan_s"]
    times = [row["forecast"]["makespan_s"] for row in found["rows"]]
    assert all(later <= earlier * 1.02 for earlier, later in pairwise(times))
    assert all(row["core_s"] == row["ranks"] * row["forecast"]["makespan_s"] for row in found["rows"])
    assert rows[2]["n_fixed"] < rows[64]["n_fixed"]


def test_scaling_for_people() -> None:
    """The table has a line for each number of ranks, and says how many are worth it."""
    flags = ["--rules", "yacht", "--target", "300", "--scaling"]
    shown = plan(*flags, "--G", "3").stdout.splitlines()
    assert shown[0] == "yacht, maxprob, target 300"
    assert shown[3] == "costs      assumed, not measured:"
    assert shown[7].endswith("with |G| = 3")
    assert len(shown[8:-2]) == 10
    assert re.fullmatch(r"Worth it: about (\d+) ranks, with --G \d+; .*nothing gets faster\.", shown[-1])
    assert "with |G|" not in plan(*flags).stdout
    refused = plan(*flags, "--G", "3", "--cache", "100KB")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--cache 100KB is too small for |G| = 3" in refused.stderr


def test_ranks_that_are_worth_it() -> None:
    """As long as twice as many save a quarter of the time, they are worth it."""
    rows = planned("--scaling")
    times = {row["ranks"]: row["forecast"]["makespan_s"] for row in rows["rows"]}
    n_ranks = 2
    while times[2 * n_ranks] <= 0.75 * times[n_ranks]:
        n_ranks *= 2
    assert rows["worth"] == n_ranks
    assert 2 < n_ranks < 1024


def test_thesis_where_it_belongs(tmp_path: Path) -> None:
    """Figures of the thesis stand beside a plan for its game, and beside no other."""
    assert "thesis" not in plan("--rules", "yacht").stdout
    assert [Job(objective=name).is_of_thesis for name in ("maxprob", "approx", "race")] == [True, True, False]
    other = tmp_path / "other.svg"
    assert plan("--rules", "yacht", "--plot", str(other)).returncode == 0
    assert "thesis" not in other.read_text()


@pytest.mark.parametrize("flags", [[], ["--scaling"], ["--scaling", "--G", "2"]])
def test_figures(flags: list[str], tmp_path: Path) -> None:
    """A figure is drawn, the same file each time."""
    figures = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for figure in figures:
        assert plan("--rules", "yacht", "--target", "200", *flags, "--plot", str(figure)).returncode == 0
    assert figures[0].read_bytes() == figures[1].read_bytes()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--ranks", "0"], "argument --ranks: expected a whole number from 1 to 1000000, found '0'; see --help"),
        (["--rules", "chess"], "chess: no such rule set or file"),
        (["--rules", "yacht", "--plot", "/none/at/all.svg"], "plot: /none/at/all.svg cannot be written: "),
        (["--rules", "yacht", "--plot", "figure.xyz"], "plot: figure.xyz cannot be written: "),
        (["--rules", "yacht", "--plot", "."], "plot: '.': expected a file whose name ends in .svg, .png or .pdf"),
        (["--rules", "yacht", "--plot", ""], "expected a file whose name ends in .svg, .png or .pdf"),
        (["--rules", "yacht", "--G", "bees"], "G: no element 'bees'; did you mean deuces?"),
        (["--rules", "yacht", "--G", "13"], "G: expected at most 12 elements, found 13"),
        (["--rules", "yacht", "--G", ""], "G: no element ''"),
        (["--rules", "yacht", "--store", "", "--calibrate"], "store: expected a directory, found nothing"),
        (["--costs", "assumed", "--calibrate"], "--costs is for costs that are not to be measured; leave out --calib"),
        (["--costs", "none.json"], "none.json: cannot be read: No such file or directory"),
        (["--costs", "/dev/null"], "/dev/null: holds no costs; write such a file with `plan --json` on the machine"),
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


def test_the_job_s_own_set() -> None:
    """A plan has a line for a G that is given by names and is none of its own, with the forecast of `--scaling`."""
    flags = ["--rules", "yacht", "--target", "300", "--ranks", "4", "--G"]
    found = planned(*flags, "chance,yacht")
    assert found["own"]["G"] == ["yacht", "chance"]
    assert found["own"]["forecast"]["makespan_s"] != found["rows"][2]["forecast"]["makespan_s"]
    scaling = planned("--rules", "yacht", "--target", "300", "--scaling", "--G", "chance,yacht")
    assert found["own"]["forecast"] == {**scaling["rows"][1]["as_asked"], **_shares(found["own"]["forecast"])}
    assert "  The last line is for --G yacht,chance." in plan(*flags, "chance,yacht").stdout.splitlines()
    for picked in ("2", ",".join(found["rows"][2]["G"])):
        assert planned(*flags, picked)["own"] is None


def _shares(forecast: dict[str, Any]) -> dict[str, Any]:
    return {name: forecast[name] for name in ("efficiency", "idle")}


def test_for_people() -> None:
    """The table says what fits, what is advised, and what a rank needs in all."""
    shown = plan("--rules", "yacht", "--cache", "1MB").stdout
    assert "memory     129 MB for each of 3 ranks: a cache of 1.0 MB, and 128 MB besides\n" in shown
    assert "Advised: --G " in shown
    assert "No G makes it fit; take a larger --cache." in plan("--rules", "yacht", "--cache", "1KB").stdout


def test_too_many_classes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed sets that make too many classes are not planned for, and the plan says which."""
    monkeypatch.setattr(fixed_set, "MOST_CLASSES", 100)
    monkeypatch.setattr(plan_output, "MOST_CLASSES", 100)
    plan = make_plan(Job(rules="yacht", target=300), YACHT, 3, KnownCosts(Costs(), "assumed"))
    assert [row.n_fixed for row in plan.rows] == [0, 1, 2, 3]
    assert all(row.classes <= 100 for row in plan.rows)
    assert plan.left_out == [*range(4, 13)]
    assert "  Left out: 4 to 12, which make more than 100 classes." in as_text(plan)
    assert smallest_that_fits(FixedSetSearch(YACHT), 0) is None
