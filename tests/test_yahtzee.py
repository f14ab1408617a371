"""The main job itself: Cremers' table, computed by real ranks in bounded memory, and asked in every way there is."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from launch import mpirun

from yahtzee_cluster.analysis.forward import play_for_mean
from yahtzee_cluster.analysis.statistics import percentile
from yahtzee_cluster.engine.simulator import FIXED_BYTES
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.tables import open_table

RUN = ["-m", "yahtzee_cluster.run", "--target", "800"]

TABLE_6_1 = {
    0: "100.000000", 50: "100.000000", 100: "99.999975", 150: "99.793817", 200: "91.080460", 250: "54.188692",
    300: "17.603092", 350: "9.759235", 400: "4.932696", 450: "1.754318", 500: "0.997806", 550: "0.215689",
    600: "0.141191", 650: "0.019010", 700: "0.014113", 750: "0.001303", 800: "0.001009",
}  # fmt: skip
"""The probabilities of MaxProb in percent, as the thesis prints them."""


@pytest.fixture(scope="module")
def main_job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The table, and what the command that computed it printed."""
    path = tmp_path_factory.mktemp("main") / "table"
    result = mpirun(3, [*RUN, "--G", "5", "--store", path], timeout_s=300)
    assert result.returncode == 0, result.stderr
    yield path, result.stdout
    shutil.rmtree(path)


TABLE_IV = {
    150: ("0.991230",), 200: ("0.863584",), 250: ("0.483683",), 300: ("0.143265", "0.143266"), 400: ("0.038351",),
    500: ("0.007192",), 750: ("5.11603e-06",), 1000: ("5.57508e-09",), 1250: ("6.49213e-13",), 1500: ("3.93308e-19",),
}  # fmt: skip
"""Glenn 2007, table IV: the distribution of the score under the strategy with the highest expected score."""


SIMULATED = {
    100: 99.998800, 150: 99.131700, 200: 86.358500, 250: 48.370300, 300: 14.310200, 350: 7.238200, 400: 3.836780,
    450: 1.138200, 500: 0.721620, 550: 0.118140, 600: 0.090720, 650: 0.008800, 700: 0.007380,
}  # fmt: skip
"""OptExpected in table 6.1 of the thesis, in percent: five million games that Verhoeff simulated."""


def test_table_iv(tmp_path: Path) -> None:
    """The distribution of OptExpected is Glenn's, but for his value at 100, and the thesis' within 2.1 standard errors.

    Games played from the first turn to the last give it, and a table that is solved from the last to the first.
    """
    curve = play_for_mean(load_rules("yahtzee")).curve
    for score, printed in TABLE_IV.items():
        shown = f"{curve[score]:.5e}" if "e" in printed[0] else f"{curve[score]:.6f}"
        assert shown in printed
    assert f"{curve[0] - curve[50]:.2e}" == "6.66e-12"
    for score, percent in SIMULATED.items():
        assert abs(percent / 100 - curve[score]) < 2.1 * (curve[score] * (1 - curve[score]) / 5e6) ** 0.5
    assert f"{curve[100]:.6f}" == "0.999986"  # he prints 0.999998; five million simulated games gave 0.999988
    assert not curve[1576:].any()
    assert curve[1:].sum() == pytest.approx(254.58960948196, rel=1e-13)
    shares = {0.01: 151, 0.05: 180, 0.25: 217, 0.5: 248, 0.75: 272, 0.95: 388, 0.99: 474}
    assert {share: percentile(curve, share) for share in shares} == shares
    flags = ["-m", "yahtzee_cluster.run", "--job", "jobs/distribution.toml", "--target", "300", "--store", tmp_path]
    result = mpirun(3, flags, timeout_s=300)
    assert result.returncode == 0, result.stderr
    assert open_table(tmp_path).curve() == pytest.approx(curve[:301], rel=1e-13)
    shutil.rmtree(tmp_path)


def ask(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "yahtzee_cluster", *map(str, arguments), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_table_6_1(main_job: tuple[Path, str]) -> None:
    """The last lines of the main job show all seventeen published probabilities, to the last digit."""
    lines = [line.split() for line in main_job[1].splitlines()[-17:]]
    assert {int(score): found for score, found, *_ in lines} == TABLE_6_1
    assert [published for *_, published, _ in lines] == ["100", *list(TABLE_6_1.values())[1:]]


def test_curve(main_job: tuple[Path, str]) -> None:
    """The curve has a probability for every score up to the target; it falls, and holds the published values."""
    curve = ask("curve", "--store", main_job[0])
    assert (curve["target"], len(curve["p"])) == (800, 801)
    assert (np.diff(curve["p"]) <= 0).all()
    assert {score: f"{100 * curve['p'][score]:.6f}" for score in TABLE_6_1} == TABLE_6_1
    assert np.array_equal(open_table(main_job[0]).curve(), curve["p"])


def test_one_value(main_job: tuple[Path, str]) -> None:
    """A single value is that of the table, and with few boxes left it is what the judge finds."""
    path = main_job[0]
    start = ask("value", "--store", path, "--need", "250")
    assert f"{100 * start['p']:.6f}" == TABLE_6_1[250]
    free = "fives,yahtzee"
    rules = load_rules("yahtzee")
    names = [category.name for category in rules.categories]
    used = [name for name in names if name not in free.split(",")]
    judge = reference.maxprob(rules)
    kept = sum(1 << names.index(name) for name in free.split(","))
    for upper, need in ((40, 30), (50, 60), (60, 51), (50, 1)):
        found = ask("value", "--store", path, "--used", ",".join(used), "--upper", upper, "--need", need)
        assert found["p"] == pytest.approx(judge(kept, upper, False, need), rel=1e-12)
        assert open_table(path).value(Anchor(kept, upper, False), need) == found["p"]
    chip = [name for name in names if name != "fives"]
    found = ask("value", "--store", path, "--used", ",".join(chip), "--upper", 50, "--chip", "--need", 125)
    assert found["p"] == pytest.approx(judge(1 << names.index("fives"), 50, True, 125), rel=1e-12)
    with pytest.raises(UsageError, match="need: this table goes up to 800, found 801"):
        open_table(path).value(Anchor(rules.all_free, 0, False), 801)


def test_verified(main_job: tuple[Path, str]) -> None:
    """Every byte of the table is right, and the judge agrees on a value of every class."""
    verdict = ask("verify", "--store", main_job[0])
    assert (verdict["n_classes"], verdict["n_missing"], verdict["complaints"]) == (288, 0, [])
    assert verdict["n_judged"] == 288 - 1  # when the game is over, nothing is left to judge
    assert verdict["largest_difference"] < 1e-12
    status = ask("status", "--store", main_job[0])
    assert status["table_sha256"] == verdict["table_sha256"]
    assert (status["values"], status["values_done"], status["writer"]) == (190_744_210, 190_744_210, None)


def test_any_zarr_reader_finds_a_row(main_job: tuple[Path, str]) -> None:
    """With Zarr and the index alone, a row is found and read: here the one from the start."""
    group = zarr.open_group(str(main_job[0]), mode="r")
    index = {name: np.asarray(column[:]) for name, column in group["index"].arrays()}  # type: ignore[union-attr]
    assert len(index["subset"]) == 355_390
    row = int(np.flatnonzero((index["subset"] == 0x1FFF) & (index["chip"] == 0))[0])
    array = group[f"classes/{index['layer'][row]:02}-{index['part'][row]:x}"]
    values = array[index["offset"][row] : index["offset"][row] + index["length"][row]]  # type: ignore[index]
    assert f"{100 * float(np.asarray(values)[249]):.6f}" == TABLE_6_1[250]


def test_small_memory_and_many_ranks(main_job: tuple[Path, str], tmp_path: Path) -> None:
    """Sixteen ranks with 64 MB of cache stay within that and what the planner adds, and compute the same bytes."""
    path = tmp_path / "table"
    command = [*RUN, "--G", "8", "--cache", "64MB", "--store", path, "--json"]
    result = mpirun(16, command, timeout_s=300)
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    shutil.rmtree(path)
    assert summary["table_sha256"] == ask("status", "--store", main_job[0])["table_sha256"]
    assert summary["cache_peak_bytes"] <= 64 << 20
    assert summary["rss_peak_bytes"] <= (64 << 20) + FIXED_BYTES
    assert (summary["classes"], summary["ranks"]) == (1536, 16)
