"""Jobs that compute only the rest of a game, from a scorecard on."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from in_process import command
from launch import mpirun, program
from small_games import SMALL

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rest import to_whole
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.probabilities import MaxProb, Probabilities
from yahtzee_cluster.tables import open_table, table_of
from yahtzee_cluster.tables.memory import solve_in_memory

CARD = "aces=3,fives=15,sixes=18,full-house=25,yahtzee=50,bonus=100,chance=22"


def run(*flags: object) -> subprocess.CompletedProcess[str]:
    return program("run", *flags)


@pytest.mark.parametrize("objective", ["maxprob", "scores", "distribution", "approx"])
def test_agrees_with_the_whole_table(objective: str, tmp_path: Path) -> None:
    """A table from a scorecard on has the values of the whole table, to the last bit, and can be verified."""
    rules = tmp_path / "game.toml"
    rules.write_text(SMALL["free"])
    job = ["--rules", rules, "--objective", objective, "--target", "20", "--json"]
    assert mpirun(3, ["-m", "yahtzee_cluster.run", *job, "--store", tmp_path / "whole"]).returncode == 0
    card = ["--from", "house=5,ones=4"]
    assert mpirun(3, ["-m", "yahtzee_cluster.run", *job, *card, "--store", tmp_path / "rest"]).returncode == 0
    whole, rest = open_table(tmp_path / "whole"), open_table(tmp_path / "rest")
    assert isinstance(rest.problem, Probabilities)
    assert [category.name for category in rest.rules.categories] == ["twos", "five"]
    n_compared = 0
    for place in np.flatnonzero(rest.problem.rows.length).tolist():
        anchor = rest.anchors.anchor(place)
        for quantity in range(rest.quantities):
            row = rest.row(anchor, quantity)
            assert row.tolist() == whole.row(to_whole(rest.rules, anchor), quantity)[: len(row)].tolist()
            n_compared += len(row)
    assert n_compared > 20
    assert command("verify", "--store", rest.path).returncode == 0


def test_real_game(tmp_path: Path) -> None:
    """Any number of ranks makes the same table; it answers for later scorecards, and for no others."""
    store = ["--store", tmp_path / "table"]
    made = mpirun(3, ["-m", "yahtzee_cluster.run", "--from", CARD, "--target", "250", "--json", *store])
    alone = run("--from", CARD, "--target", "250", "--json", "--G", "0", "--store", tmp_path / "alone")
    assert json.loads(made.stdout)["table_sha256"] == json.loads(alone.stdout)["table_sha256"]
    later = f"{CARD},fours=12"
    asked = ["--card", later, "--dice", "22256", "--goal", "reach:350", "--json"]
    by_table = json.loads(command("probe", *store, *asked).stdout)
    assert by_table["source"] == "table"
    assert by_table | {"source": "solved"} == json.loads(command("probe", *asked).stdout)
    value = json.loads(command("value", *store, "--card", later, "--need", "105", "--json").stdout)
    rest = open_table(tmp_path / "table").rules
    table = table_of(problem := MaxProb(rest, 120), solve_in_memory(problem))
    anchor = parse_scorecard(later, load_rules("yahtzee")).since(rest)[0]
    assert value["p"] == table.value(anchor, 105)
    other = command("value", *store, "--card", "aces=2", "--need", "105")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "none that play can lead to" in other.stderr
    told = json.loads(command("status", *store, "--json").stdout)
    assert told["from"] == {
        "used": ["aces", "fives", "sixes", "full-house", "yahtzee", "chance"], "upper": 36, "chip": True
    }  # fmt: skip


def test_expected_score(tmp_path: Path) -> None:
    """The expected score from a scorecard on is that of the table of the whole game."""
    found = run("--from", CARD, "--objective", "expected", "--store", tmp_path / "table")
    table = solve_expected(load_rules("yahtzee"))
    job = Job(begun=CARD, objective="expected")
    place = table.anchors.index(to_whole(job.game, open_table(tmp_path / "table").start))
    assert f"mean       {table.mean[place]:.4f}\n" in found.stdout


def test_a_goal_counts_what_was_scored_before(tmp_path: Path) -> None:
    """A table of a goal is about final scores, those of the scorecard included."""
    flags = ["--from", CARD, "--objective", "utility", "--goal", "reach:350", "--store", tmp_path / "table"]
    found = run(*flags)
    answer = json.loads(command("probe", "--card", CARD, "--goal", "reach:350", "--json").stdout)
    assert f"worth      {answer['value']:.9f}" in found.stdout
    by_table = json.loads(command("probe", "--store", tmp_path / "table", "--card", CARD, "--json").stdout)
    assert (by_table["goal"], by_table["value"]) == ("reach:350", answer["value"])


def test_job_files(tmp_path: Path) -> None:
    """A job file may begin at a scorecard; its target is limited to what can still be scored, as for other rules."""
    file = tmp_path / "job.toml"
    file.write_text(
        'rules = "yacht"\nfrom = "aces=3,deuces=4,treys=9,fours=12,fives=15,sixes=18,yacht=50"\ntarget = 100\n'
    )
    job = Job.read(str(file))
    assert len(job.problem().element_names) == 5
    assert job.label.startswith("yacht-maxprob-100-from-")
    assert len(job.label) < 90
    assert Job(begun="aces=3").label == "yahtzee-maxprob-800-from-aces=3"
    planned = program("plan", "--job", file, "--costs", "assumed")
    assert planned.returncode == 0
    assert "5 " in planned.stdout


@pytest.mark.parametrize(
    ("card", "complaint"),
    [
        ("full-house=24", "from: full-house: no roll scores 24 there"),
        ("bonus=100", "from: bonus"),
        ("poker=3", "from: box: no box 'poker'"),
    ],
)
def test_refused_cards(card: str, complaint: str) -> None:
    """A scorecard that no game has is refused before anything is computed."""
    with pytest.raises(UsageError, match=complaint):
        Job(begun=card).problem()
    assert program("run", "--from", card).returncode == 2


def test_a_game_that_is_over() -> None:
    """There is nothing to compute once no box is free."""
    names = [category.name for category in load_rules("yacht").categories]
    card = ",".join(f"{name}=0" for name in names[:-1]) + ",chance=20"
    with pytest.raises(UsageError, match="no box is free: the game is over"):
        Job(rules="yacht", begun=card).problem()
