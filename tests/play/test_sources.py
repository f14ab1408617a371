"""Where values come from: never from a table, a file or a game solved before that is about something else."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from in_process import command
from launch import program

import yahtzee_cluster as yc
from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import Goal
from yahtzee_cluster.play import question
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import Distribution
from yahtzee_cluster.play.position import Position, Standing

RULES = """
name = "five boxes"
upper_threshold = 9
upper_bonus = 7
extra_bonus = 9
joker = "forced"
yahtzee = "five"
[[category]]
name = "ones"
face = 1
[[category]]
name = "five"
groups = [5]
points = 11
[[category]]
name = "twos"
face = 2
[[category]]
name = "house"
groups = [3, 2]
points = 5
joker = true
[[category]]
name = "any"
points = "sum"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a rule file, worths of scores, and a table of the rest of a game for these."""
    place = tmp_path_factory.mktemp("sources")
    (place / "rules.toml").write_text(RULES)
    rest = RULES.replace(
        '[[category]]\nname = "ones"', '[from]\nused = ["ones"]\nupper = 3\n[[category]]\nname = "ones"', 1
    )
    (place / "rest.toml").write_text(rest)
    (place / "worths.txt").write_text(" ".join(map(str, range(0, 128, 2))))
    flags = ["--rules", place / "rules.toml", "--from", "ones=3,house=5", "--objective", "utility"]
    flags += ["--goal", f"worth:{place / 'worths.txt'}"]
    made = program("run", *flags, "--store", place / "table")
    assert made.returncode == 0, made.stderr
    return place


def test_a_table_that_does_not_cover_a_position(place: Path) -> None:
    """Its goal depends on a file, so that only the goal by its own name is solved from there."""
    refused = command("probe", "--store", place / "table", "--card", "ones=3,house=0")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "goal: the table does not cover this position; name its goal itself, worth:" in refused.stderr
    asked = ["--card", "ones=3,house=0", "--goal", f"worth:{place / 'worths.txt'}", "--json"]
    by_table, alone = (
        json.loads(command("probe", *source, *asked).stdout)["value"]
        for source in (["--store", place / "table"], ["--rules", place / "rules.toml"])
    )
    assert by_table == alone > 50


def test_scorecards_with_another_beginning(place: Path) -> None:
    """A scorecard with other points where the table begins is refused; one that goes on from there is not."""
    right = command("value", "--store", place / "table", "--card", "ones=3,house=5")
    assert right.returncode == 0, right.stderr
    wrong = command("value", "--store", place / "table", "--card", "ones=3,house=0")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert "card: this table begins with 8 points so far, and here 3 were scored" in wrong.stderr


def test_the_rest_of_a_rest(place: Path) -> None:
    """Rules of the rest of a game are no game to begin from once more, nor one whose final score is known."""
    rules, rest = str(place / "rules.toml"), str(place / "rest.toml")
    assert Job(rules=rules, begun="ones=3", objective="maxprob").game.whole
    assert load_rules(rest).whole
    with pytest.raises(UsageError, match="from: these rules are already those of the rest of a game"):
        _ = Job(rules=rest, begun="ones=3,house=5", objective="maxprob").game
    refused = command("statistics", "--rules", rest, "--card", "ones=3,house=5", "--goal", "reach:40")
    assert (refused.returncode, "goal: is about the whole game" in refused.stderr) == (2, True)


def test_files_that_change(tmp_path: Path) -> None:
    """A file of worths is read again once it has changed."""
    worths = tmp_path / "w.txt"
    worths.write_text("0 1")
    game = yc.new_game("yacht").with_card("2=6, 3=9, 4=12, 5=15, 6=18, 4k=0, fh=23, ls=30, bs=0, yacht=0")
    assert game.value(f"worth:{worths}") == pytest.approx(1)
    worths.write_text("0 3")
    os.utime(worths, ns=(1, 1))
    assert game.value(f"worth:{worths}") == pytest.approx(3)


def test_who_moves_first_may_change() -> None:
    """The same other player, asked about as the first and as the second, one question after the other."""
    rules = load_rules("yacht")
    mine, theirs = "1=2,2=6,3=9,4=12,5=15,6=18,4k=0,fh=23,ls=30", "1=1,2=4,3=9,4=12,5=20,6=18,4k=0,fh=19,ls=30,yacht=0"
    others = (Standing.of(parse_scorecard(theirs, rules)),)
    asked = [replace(Position.of(parse_scorecard(card, rules)), others=others) for card in (mine, f"{mine},yacht=0")]
    with Adviser(rules) as adviser:
        together = [adviser.answer(position).value for position in asked]
    for position, value in zip(asked, together, strict=True):
        with Adviser(rules) as alone:
            assert alone.answer(position).value == value


def test_no_memory_at_all() -> None:
    """What does not fit is said by the plan and answered by the rule."""
    rules = load_rules("yacht")
    card = "1=2,2=6,3=9,4=12,5=15,6=18,4k=0,fh=23,ls=30,bs=0"
    position = replace(Position.of(parse_scorecard(card, rules)), others=(Standing.of(parse_scorecard(card, rules)),))
    with Adviser(rules, limit_bytes=0) as adviser:
        assert not adviser.plan(position).fits
        assert adviser.answer(position).source == "rule"


def test_refusals() -> None:
    """Goals, dice, questions and shares that are none."""
    with pytest.raises(UsageError, match="goal: expected every final score to be worth -1e"):
        yc.new_game("yahtzee").with_card(
            "1=5,2=10,3=15,4=20,5=25,6=30,3k=30,4k=30,fh=25,ss=30,ls=40,yahtzee=50,chance=30,bonus=1200"
        ).advise("power:100")
    with pytest.raises(UsageError, match="goal: no kind 'foo'"):
        Goal("foo")
    with pytest.raises(UsageError, match="goal: say against whom, as in win-outright:expected"):
        Goal("win-outright")
    with pytest.raises(UsageError, match="dice: expected 5 faces"):
        yc.new_game("yacht").with_dice([True] * 5)
    for line in ('{"card": {"aces": 1, "aces": 3}}', '{"id": NaN}'):
        with pytest.raises(UsageError, match="expected a JSON object: "):
            question.parsed(line)
    for share in (2, -1, float("nan")):
        with pytest.raises(UsageError, match="share: expected a number from 0 to 1"):
            Distribution(np.ones(3)).percentile(share)
