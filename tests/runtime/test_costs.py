"""The costs that forecasts count with: they are measured on what is really computed, and cached with care."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_games import SMALL
from toy import Tours

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.errors import FileError
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.objectives import CHOICES
from yahtzee_cluster.objectives.probabilities import MaxProb
from yahtzee_cluster.runtime import calibration
from yahtzee_cluster.runtime.calibration import calibrate
from yahtzee_cluster.runtime.configuration import Computation
from yahtzee_cluster.runtime.costs import costs_of
from yahtzee_cluster.storage.store import Store

SEEN: list[NDArray[np.float64]] = []
"""All values that the solver of Observed was given."""


@dataclass(frozen=True)
class Observed(Tours):
    """A problem whose solver looks at what it is given."""

    def _solve(self, block: Block, below: Below) -> None:
        SEEN.extend(other.values.copy() for other in below if other)
        super()._solve(block, below)


@dataclass(frozen=True)
class Choosy(Tours):
    """A problem whose solver takes whole numbers only."""

    def _solve(self, block: Block, below: Below) -> None:
        if any((other.values % 1 != 0).any() for other in below if other):
            raise ValueError("no whole numbers")
        super()._solve(block, below)


@dataclass(frozen=True, kw_only=True)
class Settings(Computation):
    """The run of any problem."""

    solved: Recurrence

    @property
    def about(self) -> dict[str, Any]:
        """Its name."""
        return {"name": "any"}

    def problem(self) -> Recurrence:
        """The problem."""
        return self.solved


SPOILT: dict[str, Callable[[dict[str, Any]], str]] = {
    "cut": lambda kept: json.dumps(kept)[:100],
    "deep": lambda kept: "[" * (10**5 + len(kept)),
    "list": lambda kept: json.dumps([kept]),
    "old": lambda kept: json.dumps(kept | {"measured": kept["measured"] - 25 * 3600}),
    "from the future": lambda kept: json.dumps(kept | {"measured": kept["measured"] + 3600}),
    "of another": lambda kept: json.dumps(kept | {"key": "another"}),
    "nan": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"value_s": float("nan")}}),
    "negative": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"value_s": -1}}),
    "endless": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"disk_read_bytes_per_s": 0}}),
    "beyond all floats": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"value_s": 10**400}}),
    "measured at no time": lambda kept: json.dumps(kept | {"measured": 10**400}),
    "absurd": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"class_s": 1e308}}),
    "yes": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"class_s": True}}),
    "text": lambda kept: json.dumps(kept | {"costs": kept["costs"] | {"class_s": "1"}}),
    "incomplete": lambda kept: json.dumps(kept | {"costs": {"value_s": 1}}),
}
"""Ways in which a cached file may be wrong."""


def example(instance: str) -> Recurrence:
    """The problem of the example program."""
    path = Path(__file__).resolve().parents[2] / "examples" / "held_karp.py"
    spec = importlib.util.spec_from_file_location("held_karp", path)
    assert spec
    assert spec.loader
    sys.modules["held_karp"] = module = importlib.util.module_from_spec(spec)  # where a pickle looks for its classes
    spec.loader.exec_module(module)
    problem: Recurrence = module.ShortestTour(instance=instance).problem()
    return problem


def whole_table_s(problem: Recurrence) -> float:
    """Processor time for computing all classes of the plainest partition."""
    partition, solve = problem.partition(0), problem.solver()
    last: Block | None = None
    busy = 0.0
    for cls in partition.classes:
        starts = partition.starts(cls)
        block = Block(partition.members(cls), starts, np.empty(starts[-1]))
        started = time.process_time()
        solve(block, [last] * partition.n_elements)
        busy += time.process_time() - started
        last = block
    return busy


@dataclass(frozen=True, kw_only=True)
class Slowly(Settings):
    """Settings that take their time to make the problem."""

    def problem(self) -> Recurrence:
        """The problem, after half a second."""
        time.sleep(0.5)
        return self.solved


def test_making_the_problem_belongs_to_the_start(tmp_path: Path) -> None:
    """What the master takes to make the problem is part of the forecast."""
    problem = Tours()
    quick, slow = (
        costs_of(kind(store=str(tmp_path), solved=problem), problem, anew=True).costs for kind in (Settings, Slowly)
    )
    assert 0.4 < slow.start_s - quick.start_s < 2


@pytest.mark.parametrize("name", ["game", "numpy", "python"])
def test_costs_are_those_of_the_problem(name: str, tmp_path: Path) -> None:
    """For kernels, NumPy and plain Python, the measured costs forecast the processor time of the table."""
    problems: dict[str, Callable[[], Recurrence]] = {
        "game": lambda: MaxProb(load_rules("yacht"), 200),
        "numpy": lambda: example("gr17"),
        "python": Tours,
    }
    problem = problems[name]()
    costs, partition = calibrate(problem, tmp_path), problem.partition(0)
    n_subsets = sum(len(partition.members(cls)) for cls in partition.classes)
    overhead_s = (costs.class_s - Costs.class_s) * len(partition.classes)
    forecast_s = overhead_s + n_subsets * costs.subset_s + sum(partition.n_values.values()) * costs.value_s
    assert 0.5 < forecast_s / whole_table_s(problem) < 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("objective", CHOICES)
def test_every_objective_can_be_measured(objective: str, tmp_path: Path) -> None:
    """Each objective is measured, and nothing about it is assumed."""
    rules = tmp_path / "rules.toml"
    rules.write_text(SMALL["free"])
    goal = "reach:20" if objective == "utility" else None
    job = Job(rules=str(rules), objective=objective, goal=goal, store=str(tmp_path / "table"))
    known = costs_of(job, job.problem(), anew=True)
    assert known.origin == "measured on this machine now"
    assert 0 < known.costs.value_s + known.costs.subset_s < 1e-2
    assert 1e-5 < known.costs.commit_s < 5
    assert 1e3 < known.costs.disk_write_bytes_per_s < 1e12
    assert list(tmp_path.iterdir()) == [rules]


def test_made_up_entries_are_ordinary_numbers(tmp_path: Path) -> None:
    """What a solver is given lies between 0 and 1, far from denormals: time must not depend on garbage."""
    SEEN.clear()
    calibrate(Observed(), tmp_path)
    values = np.concatenate(SEEN)
    assert len(values) > 1000
    assert ((values > 1e-9) & (values <= 1)).all()


def test_calibration_keeps_within_its_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However large the subsets, no block and no file is larger than it may be, or than one subset makes it."""
    written: list[int] = []
    write = Store.write

    def noted(store: Store, cls: Any, block: Block) -> None:
        written.append(len(block.values))
        write(store, cls, block)

    monkeypatch.setattr(Store, "write", noted)
    problem = MaxProb(parse_rules(SMALL["free"], "test"), 60)
    for most in (1 << 23, 600, 1):
        monkeypatch.setattr(calibration, "MOST_VALUES", most)
        written.clear()
        calibrate(problem, tmp_path)
        largest_subset = int(problem.sizes(np.arange(1 << len(problem.element_names))).max())
        assert set(written[:6]) == {0, calibration.FILE_VALUES}
        assert 0 < max(written[6:]) <= max(most, largest_subset)


def test_cached_until_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs are measured once for a problem, directory and host."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    problem = Tours()
    asked = Settings(solved=problem, store=str(tmp_path / "table"))
    first = costs_of(asked, problem)
    assert first.origin == "measured on this machine now"
    again = costs_of(asked, problem)
    assert (again.costs, again.origin) == (first.costs, "measured on this machine less than a day ago")
    assert costs_of(asked, problem, anew=True).costs != first.costs
    assert costs_of(asked, Tours(harbour_first=True)).origin.endswith("now")
    assert costs_of(replace(asked, store=str(tmp_path)), problem).origin.endswith("now")
    assert len(list((tmp_path / "cache" / "yahtzee_cluster").iterdir())) == 3


@pytest.mark.parametrize("kept", SPOILT)
def test_spoilt_cache(kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is damaged, old, or of another form is measured anew, and replaced."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked = Settings(solved=Tours(), store=str(tmp_path / "table"))
    costs_of(asked, asked.problem())
    (file,) = (tmp_path / "cache" / "yahtzee_cluster").iterdir()
    file.write_text(SPOILT[kept](json.loads(file.read_text())))
    assert costs_of(asked, asked.problem()).origin.endswith("now")
    assert costs_of(asked, asked.problem()).origin.endswith("ago")


def test_a_changed_solver_is_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that defines a problem is part of what its costs are kept by."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "mine.py"
    source.write_text((Path(__file__).parents[1] / "support" / "toy.py").read_text())
    program = (
        "from dataclasses import dataclass; import mine; from test_costs import Settings\n"
        "from yahtzee_cluster.runtime.costs import costs_of\n"
        "print(costs_of(Settings(solved=mine.Tours()), mine.Tours()).origin)"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path, str(Path(__file__).parent)])

    def origin() -> str:
        command, environment = [sys.executable, "-c", program], os.environ | {"PYTHONPATH": path}
        result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return result.stdout.strip().rpartition(" ")[2]

    assert [origin(), origin()] == ["now", "ago"]
    source.write_text(source.read_text() + "\n# faster\n")
    assert origin() == "now"


def test_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cache can be written, costs are measured each time."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    asked = Settings(solved=Tours(), store=str(tmp_path))
    assert {costs_of(asked, Tours()).origin for _ in range(2)} == {"measured on this machine now"}


def test_solver_that_refuses_made_up_entries(tmp_path: Path) -> None:
    """Then costs are assumed, and the plan says so and why."""
    problem = Choosy()
    known = costs_of(Settings(solved=problem, store=str(tmp_path)), problem)
    assert known.origin.startswith("assumed; measuring failed with ValueError: no whole numbers")
    assert known.costs == Costs.assumed(problem)


def test_costs_of_another_machine(tmp_path: Path) -> None:
    """A plan in JSON has the costs that it counts with, and another plan counts with the same."""
    plans = []
    file = tmp_path / "costs.json"
    flags = ["--rules", "yacht", "--target", "90", "--json", "--store", str(tmp_path)]
    for more in (["--calibrate"], ["--costs", str(file)]):
        command = [sys.executable, "-m", "yahtzee_cluster.plan", *flags, *more]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        plans.append(json.loads(result.stdout))
        file.write_text(result.stdout)
    assert plans[0]["costs"] == plans[1]["costs"]
    assert plans[0]["rows"] == plans[1]["rows"]
    assert plans[1]["costs_origin"] == f"from {file}, measured where it was written"


def test_costs_of_another_objective(tmp_path: Path) -> None:
    """Costs differ by a factor between objectives: those of another one are refused, and of the same one accepted."""
    file = tmp_path / "costs.json"
    file.write_text(json.dumps({"costs": asdict(Costs()), "objective": "scores", "rules": "yaht", "target": 9}))
    with pytest.raises(FileError, match="holds the costs of 'scores'; maxprob was asked for"):
        costs_of(Job(), Job().problem(), str(file))
    known = costs_of(Job(objective="scores"), Job(objective="scores").problem(), str(file))
    assert (known.costs, known.origin) == (Costs(), f"from {file}, of unknown origin")
