"""Answers to questions about positions: one form, any goal, with or without a table."""

import json
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from in_process import command
from launch import compute, program
from positions import somewhere
from small_games import SMALL, utility

from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.from_here import Solved
from yahtzee_cluster.play.position import Position, Standing
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table

SCHEMA = json.loads(Path("docs/reference/answer.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def probe(*arguments: object, said: str = "") -> subprocess.CompletedProcess[str]:
    return command("probe", *arguments, said=said)


def stored_utility(goal: str, path: Path) -> Table:
    """A table of a goal of a small game."""
    compute(path, utility(parse_rules(SMALL["free"], "free"), goal), 0b11)
    return open_table(path)


def told(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(probe(*arguments, "--json").stdout)
    VALIDATOR.validate(found)
    return found


@pytest.mark.parametrize("name", sorted(SMALL))
def test_reaching_a_score_from_here(name: str) -> None:
    """Without a table, every move is worth what the reference finds by trying out everything."""
    rules, random = parse_rules(SMALL[name], name), Random(name)
    maxprob = reference.maxprob(rules)
    with Adviser(rules) as adviser:
        for rolls_left in (0, 1, 2):
            anchor, score = somewhere(rules, 2, random)
            reach = score + random.randrange(1, 30)
            position = Position(anchor, random.choice(reference.ROLLS), rolls_left, score)
            advice = adviser.advise(position, f"reach:{reach}")
            upper = rules.upper_threshold if anchor.upper is None else anchor.upper

            def option(roll: reference.Roll) -> float:
                found = []
                for play in rules.plays(anchor.free, anchor.chip, roll):  # noqa: B023
                    after, points = reference.after(rules, anchor.free, upper, play)  # noqa: B023
                    found.append(maxprob(*after, reach - score - points))  # noqa: B023
                return max(found)

            worth = {roll: option(roll) for roll in reference.ROLLS}
            for _ in range(rolls_left):
                kept = {keep: sum(p * worth[r] for r, p in reference.throws(keep).items()) for keep in reference.KEEPS}
                worth = {roll: max(kept[keep] for keep in reference.keeps(roll)) for roll in reference.ROLLS}
            assert advice[0].p == pytest.approx(worth[tuple(position.roll or ())], rel=1e-11, abs=1e-300)
            if rolls_left:
                by_keep = {one.move.keep: one.p for one in advice}
                for keep in reference.keeps(tuple(position.roll or ())):
                    assert by_keep[keep] == pytest.approx(kept[keep], rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("goal", ["beat:1", "power:2", "reach:29"])
def test_a_table_is_only_a_short_cut(goal: str, tmp_path: Path) -> None:
    """With and without a table of the goal, answers have the same values to the last bit, from every position."""
    table, random = stored_utility(goal, tmp_path), Random(goal)
    named = {"beat:1": "win:expected"}.get(goal, goal)
    with Adviser(table.rules, table) as by_table, Adviser(table.rules) as alone:
        for rolls_left in (0, 1, 2):
            anchor, score = somewhere(table.rules, 3, random)
            position = Position(anchor, random.choice(reference.ROLLS), rolls_left, score)
            one, other = by_table.answer(position, named), alone.answer(position, named)
            assert (one.source, other.source) == ("table", "solved")
            assert [(move.move, move.value) for move in one.moves] == [(move.move, move.value) for move in other.moves]


def test_a_game_that_goes_on_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is solved for one position serves those that play leads to, and no others."""
    rules, solved = load_rules("yacht"), []
    with Adviser(rules) as adviser:
        from_here = adviser._sources._from_here  # noqa: SLF001
        solve = from_here._solve  # noqa: SLF001

        def counted(*arguments: Any) -> Solved:
            solved.append(arguments)
            return solve(*arguments)

        monkeypatch.setattr(from_here, "_solve", counted)
        card = parse_scorecard("aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18,yacht=50", rules)
        adviser.advise(Position.of(card, (2, 2, 3, 3, 3)), "reach:200")
        later = card.play(7, (2, 2, 3, 3, 3))
        adviser.advise(Position.of(later, (2, 2, 3, 3, 3)), "reach:200")
        assert len(solved) == 1
        adviser.advise(Position.of(later, (2, 2, 3, 3, 3)), "reach:201")
        other = parse_scorecard("aces=2,deuces=6,treys=9,fours=12,fives=15,sixes=18,yacht=50,full-house=13", rules)
        adviser.advise(Position.of(other, (2, 2, 3, 3, 3)), "reach:201")
        assert len(solved) == 3


def test_a_score_that_cannot_follow_is_not_looked_up() -> None:
    """The rest of a game that began with other points is not taken for this one, however alike the boxes are."""
    rules = load_rules("yacht")
    position = [Position(Anchor(0b110000000001, None), (1, 1, 3, 4, 6), 1, score) for score in (100, 118)]
    with Adviser(rules) as one, Adviser(rules) as other:
        one.advise(position[0], "reach:125")
        assert one.advise(position[1], "reach:125") == other.advise(position[1], "reach:125")


@pytest.mark.parametrize("goal", ["mean", "reach:180", "reach:20", "power:2", "quantile:0.7", "win:150+2*170"])
def test_the_distribution_agrees_with_the_value(goal: str) -> None:
    """The distribution of the final score has the value by the goal, on a path of its own, and adds up."""
    rules = load_rules("yahtzee")
    card = parse_scorecard("aces=3,deuces=6,treys=6,fours=12,fives=15,3k=20,fh=25,yahtzee=50,ss=30", rules)
    for roll, left in ((None, 3), ((2, 2, 6, 6, 6), 2), ((1, 4, 4, 6, 6), 1), ((1, 3, 4, 5, 6), 0)):
        with Adviser(rules) as adviser:
            answer = adviser.answer(Position.of(card, roll, left), goal, with_distribution=True)
        found = answer.distribution
        assert found is not None
        exactly = -np.diff(np.append(found.curve, 0.0))
        assert exactly.min() > -1e-14
        assert found.curve[card.score] == pytest.approx(1.0, rel=1e-13)
        assert found.mean == pytest.approx(float(exactly @ np.arange(len(exactly))), rel=1e-12)
        if goal.startswith("reach"):
            assert found.curve[int(goal[6:])] == pytest.approx(answer.value, rel=1e-12)
        elif goal == "mean":
            assert found.mean == pytest.approx(answer.value, rel=1e-13)
            assert found.std == pytest.approx(answer.moves[0].std, rel=1e-9)
        elif goal == "quantile:0.7":
            assert found.curve[int(answer.value)] >= 0.7 * (1 - 1e-12)
        else:
            worths = parse_goal(goal).worths(len(exactly), lambda one: np.ones(int(one.text) + 1))
            assert float(exactly @ worths) == pytest.approx(answer.value, rel=1e-12)
        assert sum(chance for _, chance in answer.ends) == pytest.approx(1.0, rel=1e-12)


def test_a_quantile_is_the_highest_such_score() -> None:
    """No higher score can be reached with the chance of a quantile, and each move's score is its own."""
    rules = load_rules("yacht")
    card = parse_scorecard("aces=3,deuces=6,treys=9,fours=12,fives=15,yacht=50,chance=20", rules)
    position = Position.of(card, (6, 6, 6, 2, 1), 1)
    with Adviser(rules) as adviser:
        answer = adviser.answer(position, "quantile:60 %")
        score = int(answer.value)
        assert adviser.answer(position, f"reach:{score}").value >= 0.6
        assert adviser.answer(position, f"above:{score}").value < 0.6
        for advice in answer.moves:
            for reach, holds in ((int(advice.value), True), (int(advice.value) + 1, False)):
                chances = {one.move: one.value for one in adviser.answer(position, f"reach:{reach}").moves}
                assert (chances[advice.move] >= 0.6) == holds
    assert [one.cost for one in answer.moves] == [score - one.value for one in answer.moves]
    assert all(one.cost <= other.cost for one, other in pairwise(answer.moves))


@pytest.mark.parametrize(
    ("goal", "value"),
    [("mean", 244.0), ("reach:244", 1.0), ("above:244", 0.0), ("quantile:0.3", 244.0), ("power:2", 244.0**2),
     ("win:231+244", 0.5), ("win-outright:244", 0.0), ("best-of:2:300", 300.0)],
)  # fmt: skip
def test_a_game_that_is_over(goal: str, value: float) -> None:
    """The value of a finished game is that of its score; there is nothing left to choose."""
    rules = load_rules("yacht")
    names = [category.name for category in rules.categories]
    points = [3, 6, 9, 12, 15, 18, 25, 28, 30, 30, 50, 18]
    card = parse_scorecard(",".join(f"{name}={n}" for name, n in zip(names, points, strict=True)), rules)
    with Adviser(rules) as adviser:
        answer = adviser.answer(Position.of(card), goal)
    assert (answer.value, answer.moves, answer.forced, answer.line) == (value, (), True, "the game is over")
    VALIDATOR.validate(json.loads(json.dumps(answer.to_dict())))


def test_a_table_that_began_elsewhere(tmp_path: Path) -> None:
    """A table of a goal from one scorecard on is not taken for another, whose points it does not count."""
    rules = load_rules("yacht")
    card = "aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18,yacht=50,big-straight=30"
    made = program(*("run", "--rules", "yacht", "--from", card, "--objective", "utility", "--goal", "reach:190"),
                   *("--store", tmp_path / "table"))  # fmt: skip
    assert made.returncode == 0
    with Adviser(rules, open_table(tmp_path / "table")) as by_table, Adviser(rules) as alone:
        for said, source in ((card, "table"), (card.replace("aces=3", "aces=1"), "solved")):
            position = Position.of(parse_scorecard(said, rules), (1, 2, 4, 4, 4), 1)
            answer = by_table.answer(position, "reach:190")
            assert (answer.source, answer.value) == (source, alone.answer(position, "reach:190").value)


def test_worths_in_a_file_are_for_all_scores(tmp_path: Path) -> None:
    """A file with a number for every score of the whole game serves positions near its end as well."""
    rules = load_rules("yacht")
    file = tmp_path / "worths"
    file.write_text(" ".join(str(score >= 200) for score in range(304)).replace("True", "1").replace("False", "0"))
    card = parse_scorecard("aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18,yacht=50,big-straight=30", rules)
    with Adviser(rules) as adviser:
        position = Position.of(card, (1, 2, 4, 4, 4), 1)
        assert adviser.answer(position, f"worth:{file}").value == adviser.answer(position, "reach:200").value


def test_impossible_scores_are_refused() -> None:
    """A score that no game has with these boxes is refused, also where it would make no difference to the moves."""
    refused = probe("--used", "yahtzee", "--chip", "--dice", "22256")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "score so far: no game has 0 points here; the least is 50" in refused.stderr
    card = parse_scorecard("aces=3", load_rules("yahtzee"))
    assert replace(Position.of(card), score=4).card is None


# -------------------------------------------------------------------------------------------------- two players

MINE = "aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18,3k=20,4k=22,fh=25"
THEIRS = "aces=2,deuces=8,treys=6,fours=12,fives=20,sixes=12,3k=25,4k=16,yahtzee=50"


def test_two_players_from_here() -> None:
    """Two players are solved exactly, with wins, ties and losses of every move, and the rule is held against that."""
    found = told("--card", MINE, "--other", THEIRS, "--goal", "win", "--dice", "22256")
    assert (found["source"], found["others"]) == ("solved", [{"score": 151, "free": 4}])
    for move in found["moves"]:
        assert move["win"] + move["tie"] + move["loss"] == pytest.approx(1.0, abs=1e-12)
        assert move["win"] + move["tie"] / 2 == pytest.approx(move["value"], abs=1e-12)
    (ruled,) = (move for move in found["moves"] if move["words"] == found["rule"]["words"])
    assert ruled["cost"] == found["rule"]["cost"]
    approximate = told("--card", MINE, "--other", THEIRS, "--goal", "win", "--dice", "22256", "--limit", "0")
    assert (approximate["source"], approximate["rule"]) == ("rule", None)
    assert approximate["moves"][0]["words"] == found["rule"]["words"]
    assert approximate["value"] == pytest.approx(found["value"], abs=0.05)
    shown = probe("--card", MINE, "--other", THEIRS, "--goal", "win", "--dice", "22256").stdout
    assert "the rule for several players says" in shown
    assert shown.splitlines()[5].split() == ["goal", "win", "tie", "loss", "cost"]
    assert "which approximates" in probe("--card", MINE, "--other", THEIRS, "--goal", "win", "--limit", "0s").stdout


def test_what_one_gains_the_other_loses() -> None:
    """Before the first roll, the chances of both players add up to 1, whoever is asked after a turn."""
    rules = load_rules("yahtzee")
    mine, theirs = parse_scorecard(MINE, rules), parse_scorecard(THEIRS, rules)
    with Adviser(rules) as adviser:
        box = adviser.answer(
            replace(Position.of(mine, (2, 2, 2, 5, 6), 0), others=(Standing.of(theirs),)), "win"
        ).moves[0]
        category = [category.name for category in rules.categories].index(box.move.category or "")
        after = mine.play(category, (2, 2, 2, 5, 6))
        answer = adviser.answer(replace(Position.of(theirs), others=(Standing.of(after),)), "win")
    assert answer.value == pytest.approx(1 - box.value, abs=1e-12)
    assert box.chances is not None
    (roll,) = answer.moves
    assert roll.chances is not None
    assert roll.chances.win == pytest.approx(box.chances.loss, abs=1e-12)


def test_several_players() -> None:
    """With more than one other player the rule decides; two who are out of reach change nothing."""
    one = told("--card", MINE, "--other", THEIRS, "--goal", "win", "--dice", "22256", "--limit", "0")
    nobody = "aces=0,deuces=0,treys=0,fours=0,fives=0,sixes=0,3k=0,4k=0,yahtzee=0"
    two = told("--card", MINE, "--other", THEIRS, "--other", nobody, "--goal", "win", "--dice", "22256")
    assert (two["source"], len(two["others"])) == ("rule", 2)
    assert two["value"] == pytest.approx(one["value"], abs=0.01)


def test_plans() -> None:
    """What solving takes is told before, for one player and for two, and however long that is."""
    small = json.loads(probe("--card", MINE, "--other", THEIRS, "--goal", "win", "--plan", "--json").stdout)
    assert small["fits"]
    assert 1_000 < small["values"] < 10_000_000
    whole = json.loads(probe("--goal", "win", "--other", "", "--plan", "--json").stdout)
    assert not whole["fits"]
    assert whole["bytes"] > 1e13
    reach = json.loads(probe("--reach", "250", "--plan", "--json").stdout)
    assert reach["fits"]
    assert 40e6 < reach["values"] < 80e6
    assert probe("--plan").stdout == "nothing has to be solved\n"


# --------------------------------------------------------------------------------------------- from the shell


def test_one_answer() -> None:
    """`probe` and `advise` print the same object, which is as the schema says; a card tells all of a state."""
    flags = ["--card", "aces=3,full-house=25,yahtzee=50,bonus=100,chance=25", "--dice", "22256"]
    found = told(*flags)
    assert found == json.loads(command("advise", *flags, "--json").stdout)
    assert (found["score"], found["chip"], found["upper"], found["rolls_left"]) == (203, True, 3, 2)
    state = ["--used", "aces,full-house,yahtzee,chance", "--upper", "3", "--chip", "--score-so-far", "203"]
    assert told(*state, "--dice", "22256") == found | {"card": None}
    assert found["strategy"] is None
    assert set(told(*flags, "--strategy", "greedy")["strategy"]) == {"name", "words", "cost"}
    reached = told(*flags, "--goal", "reach:300", "--distribution")
    assert reached["distribution"]["at_least"][300] == pytest.approx(reached["value"], rel=1e-12)
    assert reached["mean"] == reached["distribution"]["mean"]
    shown = probe(*flags, "--goal", "reach:300").stdout.splitlines()
    assert shown[0] == "goal       at least 300 points"
    assert shown[2].startswith(f"best       {found['moves'][0]['words']}; the turn ends most often in ")


def test_a_stream_of_questions() -> None:
    """Questions and answers are lines of JSON; a line that cannot be answered says why, and the rest goes on."""
    lines = [
        {"id": "a", "card": {"aces": 3}, "dice": "22256"},
        {"card": "aces=3,full-house=24"},
        {
            "id": 2,
            "used": ["aces"],
            "upper": 3,
            "score": 3,
            "dice": [6, 5, 2, 2, 2],
            "rolls_left": 1,
            "goal": "reach:30",
        },
        {"card": {"yahtzee": 50, "bonus": 100}},
        {"dice": [1, 2, 3, 4, 5, 6], "id": "six"},
        {"dice": "12345", "goal": "reach"},
        {"dices": "12345"},
        {"upper": -1},
        {"card": {}, "score": 3},
        {},
    ]
    refused = probe(
        "--lines", said="\n".join([*map(json.dumps, lines), "no JSON", "[1]", '{"distribution": 1}']) + "\n"
    )
    found = [json.loads(line) for line in refused.stdout.splitlines()]
    for one in found:
        VALIDATOR.validate(one)
    assert [("error" in one, one.get("id")) for one in found] == [
        (False, "a"), (True, None), (False, 2), (True, None), (True, "six"), (True, None), (True, None), (True, None),
        (True, None), (False, None), (True, None), (True, None), (True, None),
    ]  # fmt: skip
    complaints = {
        1: "no roll scores 24 there; it can hold 0 or 25",
        3: "bonus",
        4: "dice: expected 5 faces",
        5: "goal: expected",
        6: "no field 'dices'; did you mean dice?",
        7: "upper: expected a whole number",
        8: "card: says all of",
        10: "expected a JSON object: ",
        11: "expected a JSON object, found [1]",
        12: "distribution: expected true or false",
    }
    for number, complaint in complaints.items():
        assert complaint in found[number]["error"]
        assert found[number]["line"] == number + 1
    assert found[0] == {"id": "a"} | told("--card", "aces=3", "--dice", "22256")
    assert (refused.returncode, refused.stderr) == (2, "yahtzee-cluster: lines that could not be answered: 10\n")


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--card", "full-house=24"], "card: full-house: no roll scores 24 there; it can hold 0 or 25"),
        (["--card", "bonus=100"], "bonus"),
        (["--card", "aces=3", "--used", "aces"], "card: tells all that is used"),
        (["--card", "aces=3", "--score-so-far", "3"], "leave out --score-so-far"),
        (["--dice", "123456"], "dice: expected 5 faces"),
        (["--goal", "reach:ten"], "goal: expected reach:N"),
        (["--goal", "win:chance", "--dice", "12345"], "depends on the other players"),
        (["--goal", "reach:250", "--cache", "10MB"], "cache: solving this from here takes"),
        (["--lines", "--dice", "12345"], "lines: every line has its own position; leave out --dice"),
        (["--goal", "reach:5", "--reach", "6"], "not allowed with argument"),
        (["--goal", "win"], "goal: say against whom"),
        (
            ["--goal", "win", "--other", "aces=3,deuces=2"],
            "others: whoever plays before the player to move",
        ),
        (["--goal", "win", "--card", "aces=3", "--other", ""], "others: whoever plays before the player to move"),
        (["--goal", "win", "--other", "aces=6"], "other: aces: no roll scores 6 there"),
        (["--goal", "mean", "--other", ""], "other: only --goal win looks at the other players"),
        (["--goal", "win", "--other", "", "--limit", "soon"], "limit: expected a time such as 30s, 2m or 1h"),
    ],
)
def test_refusals(flags: list[str], complaint: str) -> None:
    """Bad questions are refused in one line, with code 2."""
    refused = probe(*flags)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused.stderr
    assert complaint in refused.stderr
