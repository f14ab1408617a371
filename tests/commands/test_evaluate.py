"""`yahtzee-cluster evaluate`: strategies, evaluated exactly."""

import json
from pathlib import Path

import pytest
from in_process import command

WORTH = """
name = "tens"
kind = "worth"
game = "yaht"
[worth.boxes]
"""


@pytest.mark.whole
def test_all_that_is_known_of_greedy_play() -> None:
    """Mean, deviation and losses agree with each other, with the list of strategies, and with other verbs."""
    told = json.loads(command("evaluate", "greedy", "--goal", "reach:250", "--json").stdout)
    assert {"mean", "std", "best", "loss", "names", "means", "variances", "by_turn", "habits", "p"} <= {*told}
    assert f"{told['mean']:.6f}" == "217.377254"
    assert told["best"] - told["mean"] == pytest.approx(told["loss"])
    assert sum(map(sum, told["by_turn"])) == pytest.approx(told["loss"], rel=1e-9)
    assert sum(told["means"]) == pytest.approx(told["mean"], rel=1e-12)
    assert sum(map(sum, told["covariances"])) == pytest.approx(told["std"] ** 2, rel=1e-9)
    assert told["value"] == pytest.approx(told["p"][250], rel=1e-9)
    assert told["published"] == 218.54
    assert told["by_ties"] == pytest.approx([213.389859, 220.513738], abs=1e-6)
    assert [habit["loss"] for habit in told["habits"]] == sorted((one["loss"] for one in told["habits"]), reverse=True)
    assert len(told["habits"]) == 10
    lines = command("evaluate", "greedy", "--mean").stdout
    assert lines == f"{told['mean']:.6f}\n"


def test_in_words(tmp_path: Path) -> None:
    """At a terminal: figures, boxes, percentiles, losses by turn, and habits."""
    boxes = command("rules", "yaht", "--json").stdout
    names = [box["name"] for box in json.loads(boxes)["category"]] if boxes.startswith("{") else []
    mine = tmp_path / "tens.toml"
    mine.write_text(WORTH + "".join(f'"{name}" = 10\n' for name in names))
    result = command("evaluate", mine)
    assert result.returncode == 0, result.stderr
    for part in ("strategy    tens", "parameters  13", "percentile", "points lost in a game", "costliest habits:"):
        assert part in result.stdout


def test_other_strategies() -> None:
    """What plays for a goal is evaluated too, without losses; what looks at opponents is refused."""
    told = json.loads(command("evaluate", "power:2", "--rules", "yacht", "--json").stdout)
    assert "loss" not in told
    best = json.loads(command("evaluate", "expected", "--rules", "yacht", "--json").stdout)
    assert (abs(best["loss"]) < 1e-9, best["habits"]) == (True, [])
    assert told["mean"] < best["mean"]
    for flags, complaint in (
        (["chance"], "depends on the other players; only simulated games can evaluate it"),
        (["power:2", "--mean"], "mean: goes with strategies that decide by the scorecard alone"),
        (["greedy", "--rules", "yacht"], "all have to play the same game"),
        (["greedy", "--goal", "quantile:0.5"], "goal: quantile:0.5 is no utility"),
    ):
        refused = command("evaluate", *flags)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused.stderr
        assert complaint in refused.stderr


def test_warnings(tmp_path: Path) -> None:
    """A rule that can never match is named on standard error; the figures are there all the same."""
    text = command("strategies", "glenn-rules").stdout.replace('"nothing",', '"nothing",\n    "pair if aces used",')
    mine = tmp_path / "mine.toml"
    mine.write_text(text)
    result = command("evaluate", mine, "--mean")
    assert (result.returncode, result.stdout) == (0, "226.045672\n")
    assert result.stderr == (
        "warning: keep 14: never matches, as rules before it do or no roll can: 'pair if aces used'\n"
    )


def test_compared() -> None:
    """The same losses as in the evaluation; what cannot be compared is refused."""
    whole = command("evaluate", "ecker-greedy").stdout
    compared = command("compare", "ecker-greedy")
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.splitlines()[0] == "points lost in a game, measured by optimal play:"
    assert whole.endswith(compared.stdout)
    told = json.loads(command("compare", "ecker-greedy", "--json").stdout)
    assert sum(map(sum, told["by_turn"])) == pytest.approx(234.601051 - 214.693514, abs=1e-5)
    for flags, complaint in (
        ([], "name a strategy, or a table of scores with --store and the score with --for"),
        (["greedy", "--for", "250"], "leave out --for"),
        (["greedy", "--store", "x"], "leave out --store"),
        (["reach:250"], "depends on more than the scorecard"),
    ):
        refused = command("compare", *flags)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused.stderr
        assert complaint in refused.stderr
