"""A problem of somebody else's, through the front door: the table of Held and Karp, computed by the engine."""

import doctest
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from launch import mpirun, writable
from stored import LISTED, complete

import yahtzee_cluster
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.storage.verification import Verdict, verify

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

from held_karp import Tours, read_tsplib  # noqa: E402  # an example is no package
from tardiness import random_jobs  # noqa: E402

EXAMPLE = ROOT / "examples" / "held_karp.py"
TARDINESS = ROOT / "examples" / "tardiness.py"
SHORTEST = {"burma14": 3323, "ulysses16": 6859, "gr17": 2085, "gr21": 2707, "ulysses22": 7013}
"""As TSPLIB has them."""


def example(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("name", sorted(SHORTEST))
def test_shortest_tours(name: str, tmp_path: Path) -> None:
    """Every instance is solved exactly, and the tour that is printed is a tour of that length."""
    result = mpirun(3, [EXAMPLE, name, "--store", tmp_path])
    assert result.returncode == 0, result.stderr
    assert f"\nlength     {SHORTEST[name]}\n" in result.stdout
    printed = re.search(r"^tour +(.*)$", result.stdout, re.MULTILINE)
    assert printed
    tour = [int(city) - 1 for city in printed[1].split()]
    distances = read_tsplib(name)
    assert sorted(tour[:-1]) == list(range(len(distances)))
    assert (tour[0], tour[-1]) == (0, 0)
    assert sum(distances[one][other] for one, other in pairwise(tour)) == SHORTEST[name]


def test_everything_else_comes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any ranks, G and cache give the same bytes; what is there is not computed again; it plans and verifies."""
    digests = set()
    for number, (n_ranks, flags) in enumerate(((1, ["--G", "0"]), (3, ["--G", "4", "--cache", "1MB"]), (4, []))):
        result = mpirun(n_ranks, [EXAMPLE, "burma14", "--store", tmp_path / f"{number}", "--json", *flags])
        summary = json.loads(result.stdout)
        assert (summary["instance"], summary["classes_computed"]) == ("burma14", summary["classes"])
        digests.add(summary["table_sha256"])
    assert len(digests) == 1
    again = example("burma14", "--store", tmp_path / "0", "--json")
    assert json.loads(again.stdout)["classes_computed"] == 0
    monkeypatch.chdir(tmp_path)
    assert mpirun(3, [EXAMPLE, "burma14", "--G", "4"]).returncode == 0
    assert "all sound" in example("burma14", "--verify").stdout  # wherever the other G has put it
    verified = example("burma14", "--store", tmp_path / "0", "--verify")
    assert f"sha256     {digests.pop()}" in verified.stdout
    assert int(re.findall(r"judged +(\d+) values", verified.stdout)[0]) >= 14  # layers
    frontier = example("burma14", "--store", tmp_path / "frontier", "--keep", "frontier")
    assert (frontier.returncode, verified.stdout.splitlines()[-1] in frontier.stdout) == (0, True)
    assert "result     " in (last := frontier.stdout.splitlines()[-1])
    assert last.endswith("was dropped when nothing to come read it; run its job with --keep all")
    planned = example("burma14", "--plan", "16")
    assert planned.stdout.startswith("burma14\n")
    assert "Advised: --G " in planned.stdout


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    """The problem's own judge finds entries that were committed as if they were right."""
    assert example("burma14", "--store", tmp_path, "--G", "0").returncode == 0
    problem = Tours("burma14", read_tsplib("burma14"))
    store = Store.of(tmp_path, problem, 0)
    for cls in store.partition.classes[6:9]:
        sound = store.block(cls)
        writable(store)
        store.remove(cls)
        store.write(cls, Block(sound.subsets, sound.starts, sound.values - 1))
    wrong = r"entry \d+ of subset \d+ is \d+\.0, and the judge finds \d+\.0"
    assert re.search(wrong, verify(problem, store).complaints[0])
    result = example("burma14", "--store", tmp_path, "--verify")
    assert (result.returncode, result.stdout) == (1, "")
    assert re.search(wrong, result.stderr)


def test_refusals(tmp_path: Path) -> None:
    """Bad input is one line and exit code 2, as with the program's own commands."""
    (tmp_path / "odd.tsp").write_text("NAME: odd\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n")
    (tmp_path / "bad.tsp").write_text("NAME: bad\n")
    for flags, complaint in (
        (["nowhere"], "nowhere: cannot be read: No such file or directory"),
        ([tmp_path / "odd.tsp"], "odd.tsp: has distances of a kind that this program does not know: EUC_2D"),
        ([tmp_path / "bad.tsp"], "bad.tsp: is no file of TSPLIB"),
        ([], "the following arguments are required: NAME|FILE"),
        (["burma14", "--G", "14"], "G: expected at most 13 elements, found 14"),
        (
            ["burma14", "--store", tmp_path / "none", "--verify"],
            "none: there is no table of this; run it without --verify",
        ),
    ):
        result = example(*flags)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
        assert result.stderr.startswith(f"python {EXAMPLE}: ")
        assert complaint in result.stderr


FAULTS = {
    "exits": (
        "class Faulty(Jobs):\n    def solve(self, block, below): sys.exit(0)",
        1,
        "the solver has called exit(0)",
    ),
    "forgets": (
        "class Faulty(Jobs):\n    def solve(self, block, below): pass",
        1,
        "has left entries of subset 0 (nothing)",
    ),
    "lists": ("class Faulty(Jobs):\n    element_names = [*'abc']", 2, "element_names: expected a tuple of names"),
    "answers": ("class Faulty(Jobs):\n    def exist(self, s): return s % 2", 2, "exist: expected an array of bool"),
    "says": (
        "Faulty, WeightedTardiness.result = Jobs, lambda *_: 'done'",
        2,
        "result: expected a list of lines, found 'done'",
    ),
}
"""Programs that differ from the example, the exit code of each, and the end of what it says."""


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_programs(fault: str, tmp_path: Path) -> None:
    """No program that makes a mistake ends with a result and code 0, not even one whose solver ends the process so."""
    program, code, complaint = FAULTS[fault]
    start = "tardiness.random_jobs = lambda n, _: Faulty((1, 2, 3), (1, 1, 1), (1, 1, 1))\nyc.start(WeightedTardiness)"
    head = "import sys\nimport tardiness\nimport yahtzee_cluster as yc\nfrom tardiness import *"
    (tmp_path / "faulty.py").write_text(f"{head}\n{program}\n{start}\n")
    result = subprocess.run(
        [sys.executable, "faulty.py", "3", "--store", "table"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": f"{ROOT / 'examples'}:{ROOT}"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (code, "")
    assert complaint in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_judges_that_find_no_number(tmp_path: Path) -> None:
    """An entry is sound if the judge finds the same, also where that is infinite; NaN and another infinity are not."""
    table = complete(tmp_path, LISTED, 0)

    def judged(stored: float, found: float) -> Verdict:
        return verify(LISTED, table, judge=lambda *_: iter([("entry 0 of subset 0", stored, found)]))

    for value in (0.0, 1.5, np.inf, -np.inf):
        assert (judged(value, value).complaints, judged(value, value).largest_difference) == ((), 0.0)
    for stored, found in ((1.0, np.nan), (1.0, np.inf), (np.inf, 1.0), (np.inf, -np.inf), (np.nan, 1.0)):
        assert len(judged(stored, found).complaints) == len(table.partition.classes)


def excerpts(language: str) -> list[str]:
    """The code blocks of the tutorial in one language."""
    page = (ROOT / "docs" / "tutorial" / "own-problem.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_tutorial_is_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every excerpt stands in the example, and a table that the example computes is read back as shown."""
    program = TARDINESS.read_text(encoding="utf-8")
    shown = excerpts("py")
    assert len(shown) >= 5
    assert [excerpt for excerpt in shown if excerpt not in program] == []
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, TARDINESS, "16"], capture_output=True, timeout=300, check=True)
    (session,) = excerpts("pycon")
    test = doctest.DocTestParser().get_doctest(session, {}, "the tutorial", None, None)
    assert doctest.DocTestRunner().run(test) == (0, 7)


def test_the_best_order_of_jobs(tmp_path: Path) -> None:
    """The order that is printed has the cost that is printed, and no other order has less; any ranks agree."""
    problem = random_jobs(7, seed=4)

    def cost(order: Sequence[int]) -> float:
        ends = accumulate(problem.times[job] for job in order)
        return sum(problem.cost(job, end) for job, end in zip(order, ends, strict=True))

    digests = set()
    for n_ranks, fixed in ((1, "auto"), (3, "2,5,7")):
        result = mpirun(n_ranks, [TARDINESS, 7, "--seed", 4, "--G", fixed, "--store", tmp_path / fixed])
        assert result.returncode == 0, result.stderr
        digests.add(re.findall(r"^sha256 +(\w+)$", result.stdout, re.MULTILINE)[0])
        least, order = re.findall(r"^(?:cost|order) +(.*)$", result.stdout, re.MULTILINE)
        assert sorted(order.split()) == [str(job) for job in range(1, 8)]
        assert cost([int(job) - 1 for job in order.split()]) == float(least)
        assert float(least) == min(map(cost, permutations(range(7)))) > 0
    assert len(digests) == 1


def test_too_many_elements(tmp_path: Path) -> None:
    """Too many elements, or more than any cache holds, are refused in one line, at once, by all three commands."""
    for flags, complaint in (
        ([70], "this problem has 70 elements; expected 1 to 62"),
        ([70, "--plan", 3], "this problem has 70 elements; expected 1 to 62"),
        ([70, "--verify"], "this problem has 70 elements; expected 1 to 62"),
        ([62], "--cache 256MB is too small, whatever G: the table has more than 33554432 TB, and with at most 16,384"),
        ([0], "expected at least one job"),
    ):
        command = [sys.executable, str(TARDINESS), *map(str, flags), "--store", str(tmp_path / "none")]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
        assert complaint in result.stderr
    planned = subprocess.run(
        [sys.executable, str(TARDINESS), "30", "--plan", "3"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "\ntable      8192 MB on disk" in planned.stdout


def test_one_import(tmp_path: Path) -> None:
    """Everything public comes from `yahtzee_cluster`, is listed there, and is loaded when it is first used."""
    asked = "import sys, time, yahtzee_cluster as yc; used_s = time.process_time()\n"
    asked += "assert not {'numpy', 'zarr', 'mpi4py'} & {*sys.modules}; before = dir(yc)\n"
    asked += "assert used_s < 0.1, used_s\n"
    asked += "assert {*yc.__all__} <= {*before}; assert all(getattr(yc, name) for name in yc.__all__)\n"
    asked += "yc.solve_expected(yc.load_rules('yacht')); assert not {'pandas', 'xarray'} & {*sys.modules}"
    result = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    with pytest.raises(AttributeError, match="no attribute 'solve_everything'"):
        yahtzee_cluster.solve_everything  # noqa: B018
