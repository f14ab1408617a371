"""Strategies that are named by their goal, and solved in memory."""

import json
from pathlib import Path

import pytest
from in_process import command
from launch import compute, computed
from small_games import SMALL, utility

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.strategies import OfGoal, parse_strategy


def with_table(goal: str, path: Path) -> Path:
    """The directory of a table of a goal of a small game."""
    compute(path / "table", utility(parse_rules(SMALL["free"], "free"), goal), 0b11)
    return path / "table"


@pytest.mark.parametrize("name", sorted(SMALL))
def test_the_same_as_by_a_table(name: str, tmp_path: Path) -> None:
    """A strategy named by its goal plays as the table of that goal says, to the last bit."""
    table = computed(SMALL[name], tmp_path / "scores", "scores")
    by_table = parse_strategy(f"{table.path}:17").played(table.rules)
    alone = parse_strategy("reach:17").played(table.rules)
    assert alone.curve.tolist() == by_table.curve.tolist()
    assert alone.mean.tolist() == by_table.mean.tolist()
    compute(tmp_path / "power", utility(table.rules, "power:2"), 0b11)
    by_power, power = parse_strategy(str(tmp_path / "power")), parse_strategy("power:2")
    assert power.played(table.rules).curve.tolist() == by_power.played(table.rules).curve.tolist()


def test_from_a_scorecard_on() -> None:
    """From a scorecard on, the distribution is that of the answer for it, and what was scored before counts."""
    rules = load_rules("yahtzee")
    card = parse_scorecard("aces=3,deuces=6,treys=6,fours=12,fives=15,3k=20,fh=25,yahtzee=50,ss=30", rules)
    with Adviser(rules) as adviser:
        for goal in ("reach:230", "reach:20", "reach:1500"):
            answer = adviser.answer(Position.of(card), goal, with_distribution=True)
            played = OfGoal(parse_goal(goal), card.score).played(rest_of(rules, card.anchor))
            assert answer.distribution is not None
            assert answer.distribution.curve[card.score :] == pytest.approx(played.curve, abs=1e-13)
        value = adviser.answer(Position.of(card), "win:200+231").value
    won = OfGoal(parse_goal("win:200+231"), card.score).played(rest_of(rules, card.anchor)).curve
    needed = 231 - card.score
    assert value == pytest.approx((won[needed] + won[needed + 1]) / 2, abs=1e-13)


def test_from_the_shell(tmp_path: Path) -> None:
    """`statistics` and `duel` take goals; what is no goal for whole games is refused in one line."""
    rules = tmp_path / "game.toml"
    rules.write_text(SMALL["free"])
    found = json.loads(command("statistics", "--rules", rules, "--goal", "reach:9", "--json").stdout)
    played = OfGoal(parse_goal("reach:9")).played(parse_rules(SMALL["free"], "free"))
    assert (found["goal"], found["p"]) == ("reach:9", played.curve.tolist())
    duel = json.loads(command("duel", "win:expected", "expected", "--rules", rules, "--json").stdout)
    by_table = with_table("win:expected", tmp_path)
    other = json.loads(command("duel", by_table, "expected", "--json").stdout)
    assert [one["value"] for one in duel["players"]] == [one["value"] for one in other["players"]]
    for verb, flags in (("statistics", ["--goal", "quantile:0.5"]), ("duel", ["win", "expected"])):
        refused = command(verb, *flags, "--rules", rules)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert "is for positions; ask `yahtzee-cluster probe`" in refused.stderr


def test_a_directory_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a directory is called like a kind of goal, the strategy is that of its table."""
    monkeypatch.chdir(tmp_path)
    computed(SMALL["free"], tmp_path / "reach", "scores")
    assert not isinstance(parse_strategy("reach:9"), OfGoal)
    with pytest.raises(UsageError, match="goal: expected above:N"):
        parse_strategy("above:x")
