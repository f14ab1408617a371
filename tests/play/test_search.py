"""The search for the best strategy of a class."""

import json
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launch import mpirun
from small_games import SMALL

from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.play.search import Class, Search, Values, mean_of, rounded, toml_of

RULES = parse_rules(SMALL["free"], source="test")
START = {"worth": {"boxes": {"ones": 1.0, "twos": 2.0, "house": 2.0, "five": 3.0}, "chip": 1.0}}
OF = Class(RULES, START, "mine.toml")


def evaluate(proposals: Sequence[Values]) -> list[float]:
    return [mean_of(OF, proposal) for proposal in proposals]


def searched(n_generations: int, seed: int = 1) -> Search:
    search = Search(OF, seed)
    for _ in range(n_generations):
        search.generation(evaluate)
    return search


def test_search_finds_a_better_strategy() -> None:
    """Far better than the first one, and never better than optimal play."""
    search, best = searched(25), solve_expected(RULES)
    at_start, optimum = mean_of(OF, OF.start), best.mean[best.start]
    assert mean_of(OF, search.best_numbers) == search.best
    assert at_start < search.best <= optimum + 1e-12
    assert optimum - search.best < 0.5 * (optimum - at_start)


def test_seeds() -> None:
    """The same seed proposes the same, another one does not."""
    assert searched(2).means == searched(2).means != searched(2, seed=2).means


def test_numbers_of_a_file() -> None:
    """They are found, replaced and written in order, and everything else stays."""
    assert OF.start.tolist() == [1.0, 2.0, 2.0, 3.0, 1.0]
    assert OF.scale.tolist() == [2.0, 2.0, 2.0, 3.0, 1.0]
    filled = OF.filled(np.arange(5.0))
    assert filled == {"worth": {"boxes": {"ones": 0.0, "twos": 1.0, "house": 2.0, "five": 3.0}, "chip": 4.0}}
    assert OF.table == START
    layered: dict[str, Any] = {
        "name": "a b",
        "worth": {"network": {"layer": [{"weights": [[1.5], [2.0]]}, {"biases": [3]}]}},
    }
    assert tomllib.loads(toml_of(layered)) == layered
    assert tomllib.loads(toml_of(START)) == START


def test_no_negative_variance() -> None:
    """Proposals with a negative variance count as 0."""
    of = Class(RULES, {"worth": {"bonus": {"mean": 2.0, "variance": 1.0}}}, "mine.toml")
    assert of.filled(np.array([-1.0, -1.0])) == {"worth": {"bonus": {"mean": -1.0, "variance": 0.0}}}


def test_few_digits() -> None:
    """Numbers are rounded as far as that costs next to nothing."""
    numbers = OF.start + 1e-7
    short, mean = rounded(OF, numbers)
    assert short.tolist() == OF.start.tolist()
    assert mean == mean_of(OF, OF.start)


def test_checkpoint(tmp_path: Path) -> None:
    """A search that goes on from a checkpoint finds what one finds that was never stopped."""
    path = tmp_path / "state.json"
    searched(3).save(path)
    search = Search.begun_or_continued(OF, 1, None, path)
    assert len(search.means) == 3
    for _ in range(2):
        search.generation(evaluate)
    whole = searched(5)
    assert search.means == whole.means
    assert search.best_numbers.tolist() == whole.best_numbers.tolist()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:-20], "is damaged; remove it"),
        (lambda text: text.replace('"seed": 1', '"seed": 2'), "is of another search"),
        (lambda text: text.replace('"chip": 1.0', '"chip": 2.0'), "is of another search"),
        (lambda text: text.replace('"means": [[', '"means": [[NaN, '), "is damaged; remove it"),
        (lambda _: "[1]", "is of another search"),
        (lambda _: "[" * 100_000, "is damaged"),
    ],
)
def test_other_checkpoints_are_refused(tmp_path: Path, damage: Any, message: str) -> None:
    """In one line."""
    path = tmp_path / "state.json"
    searched(1).save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(UsageError, match=f"checkpoint: .*{message}") as refusal:
        Search.begun_or_continued(OF, 1, None, path)
    assert "\n" not in str(refusal.value)


def test_nothing_to_search_for() -> None:
    """A strategy without numbers is no class."""
    with pytest.raises(FileError, match="expected 2 to 2000 numbers to search for, found 0"):
        Class(RULES, {"worth": {}}, "mine.toml")


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(UsageError, match=r"search: needs cmaes; .*yahtzee_cluster\[search\]"):
        Search(OF)


# ------------------------------------------------------------------------------------------- the command


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A strategy file for the small game."""
    (tmp_path / "game.toml").write_text(SMALL["free"])
    path = tmp_path / "start.toml"
    path.write_text(toml_of({"name": "start", "kind": "worth", "game": str(tmp_path / "game.toml"), **START}))
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What the command finds."""
    assert cli.main(["search", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_any_number_of_workers(start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One thread and two find the same, and so they do in two steps; the file they write has the mean they tell."""
    one = printed(capsys, start, "--generations", 4, "--workers", 1)
    assert one == printed(capsys, start, "--generations", 4, "--workers", 2)
    state, out = tmp_path / "state.json", tmp_path / "found.toml"
    printed(capsys, start, "--generations", 2, "--checkpoint", state)
    assert one == printed(capsys, start, "--generations", 4, "--checkpoint", state, "--out", out)
    written = tomllib.loads(out.read_text())
    assert written["worth"] == one["strategy"]["worth"]
    assert written["mean"] == round(one["mean"], 4)
    assert one["evaluated"] == 4 * 8
    again = printed(capsys, out, "--generations", 1)
    assert again["generations"] == 1


@pytest.mark.program
def test_ranks_find_the_same(start: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under mpirun, ranks evaluate the proposals, and one of them prints."""
    alone = printed(capsys, start, "--generations", 3, "--workers", 1)
    result = mpirun(3, ["-m", "yahtzee_cluster", "search", start, "--generations", 3, "--json"])
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == alone
    assert result.stderr.count("generation 3 of 3: best") == 1


@pytest.mark.program
def test_interrupt(start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After Ctrl-C the checkpoint is there, nothing else is printed, and the same command goes on."""
    state = tmp_path / "state.json"
    command = [sys.executable, "-m", "yahtzee_cluster", "search", str(start), "--checkpoint", str(state)]
    with subprocess.Popen([*command, "--generations", "100000"], stderr=subprocess.PIPE, text=True) as process:
        while not state.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.communicate(timeout=60)[1]
    n_done = len(json.loads(state.read_text())["means"])
    assert printed(capsys, start, "--checkpoint", state, "--generations", n_done + 1)["generations"] == n_done + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing: no such strategy or file; "),
        (["START", "--population", "2"], "population: expected at least 3, found 2"),
        (["START", "--generations", "0"], "generations: expected at least 1, found 0"),
        (["START", "--generations", "1", "--out", "/nowhere/x.toml"], "/nowhere/x.toml: cannot be written: No such"),
        (["GAME"], 'expected a strategy with kind = "worth" and a game'),
    ],
)
def test_refusals(start: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """One line and exit code 2."""
    named = {"START": str(start), "GAME": str(start.with_name("game.toml"))}
    assert cli.main(["search", *(named.get(word, word) for word in arguments)]) == 2
    errors = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("generation ")]
    assert len(errors) == 1
    assert message in errors[0]
