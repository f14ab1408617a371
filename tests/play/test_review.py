"""Records of games, and their reviews: luck and losses explain the result."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from in_process import command
from small_games import SMALL

from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import is_text
from yahtzee_cluster.game.dice import N_DICE, Keep
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.record import Record, Roll, Turn, parse_record
from yahtzee_cluster.play.review import review
from yahtzee_cluster.play.self_play import played_by

YAHTZEE = Adviser(load_rules("yahtzee"))
ADVISERS = {name: Adviser(parse_rules(text, source=name)) for name, text in SMALL.items()}
GAME = """\
rules: yahtzee
player: A
# a remark
1. 22256 keep 222, 22235 k 222, 22266 fh
2) 12345 large-straight   # at once
3: 11356 keep nothing, 4 4 4 6 6 keep 444, 44456 4
... 66654 six
11356, 11146 keep 111, 11116 aces
chance=22
yahtzee=50
"""


def random_game(rules: Rules, random: Random) -> Record:
    """A game of somebody who knows nothing."""
    record, card = Record(rules), Scorecard.of(rules, {})
    while card.anchor.free:
        rolls: list[Roll] = []
        kept: Keep = ()
        for stage in range(3):
            dice = tuple(sorted([*kept, *random.choices(range(1, 7), k=N_DICE - len(kept))]))
            plays = rules.plays(card.anchor.free, card.anchor.chip, dice)
            if stage == 2 or random.random() < 0.2:
                break
            kept = tuple(die for die in dice if random.random() < 0.5)
            rolls.append(Roll(dice, kept))
            if len(kept) == N_DICE:
                rolls.pop()
                break
        record = record.with_turn(Turn((*rolls, Roll(dice)), random.choice(plays).category))
        card = record.cards[-1]
    return record


def forgotten(record: Record, random: Random) -> Record:
    """The same record with some things unknown."""
    turns = []
    for whole, before, after in zip(record.turns, record.cards, record.cards[1:], strict=False):
        turn, kind = whole, random.randrange(4)
        if kind == 1:
            turn = replace(turn, rolls=tuple(replace(roll, kept=None) for roll in turn.rolls))
        elif kind == 2:
            turn = replace(turn, rolls=turn.rolls[-1:], is_whole=False)
        elif kind == 3:
            turn = Turn((), turn.box, after.points[turn.box], after.bonuses > before.bonuses, is_whole=False)
        turns.append(turn)
    return replace(record, turns=tuple(turns))


@cache
def by_mean(adviser: Adviser) -> Sequence[float]:
    """The probability of at least 0, 1, 2, … points when playing for the highest mean; the last one is 0."""
    start = Position.of(Scorecard.of(adviser.rules, {}))
    found = adviser.answer(start, MEAN, with_distribution=True).distribution
    assert found
    return [*found.curve.tolist(), 0.0]


def beaten(score: int, curve: Sequence[float]) -> tuple[float, float]:
    """The probabilities that who plays for the mean has less than a score, and no more."""
    less, no_more = (1 - curve[min(least, len(curve) - 1)] for least in (score, score + 1))
    return less, no_more


WORTH: dict[str, Callable[[int, Sequence[float]], float]] = {
    "mean": lambda score, _: score,
    "reach:9": lambda score, _: score >= 9,
    "above:8": lambda score, _: score > 8,
    "quantile:0.5": lambda score, _: score,
    "power:2": lambda score, _: score**2,
    "best-of:2": lambda score, curve: score + sum(curve[score + 1 :]),
    "win:8": lambda score, _: (score > 8) + 0.5 * (score == 8),
    "win:expected+8": lambda score, curve: (
        (score > 8) * sum(beaten(score, curve)) / 2 + (score == 8) * beaten(score, curve)[1] / 2
    ),
    "win-outright:expected": lambda score, curve: beaten(score, curve)[0],
}
"""By goal, what a final score is worth; for those with opponents, or others, who play for the highest mean."""


def check(record: Record, adviser: Adviser, goal: str) -> float:
    """Luck and losses explain the result, which is what the final score is worth; the loss of the game."""
    found = review(record, adviser, parse_goal(goal))
    assert found.start + found.luck - found.loss + found.unknown == pytest.approx(found.result, abs=1e-9)
    assert found.result == pytest.approx(float(WORTH[goal](record.cards[-1].score, by_mean(adviser))), abs=1e-9)
    assert min((one.loss for one in found.decisions), default=0) >= 0
    assert sum(found.by_kind.values()) == pytest.approx(found.loss, abs=1e-9)
    assert sum(found.by_box.values()) == pytest.approx(found.loss, abs=1e-9)
    return found.loss


@pytest.mark.parametrize("name", sorted(SMALL))
@pytest.mark.parametrize("goal", WORTH)
def test_luck_and_losses_explain_the_result(name: str, goal: str) -> None:
    """For every game and kind of goal, also where much of the record is missing."""
    random, adviser = Random(f"{name} {goal}"), ADVISERS[name]
    for _ in range(20):
        record = random_game(adviser.rules, random)
        check(record, adviser, goal)
        check(forgotten(record, random), adviser, goal)


def test_yahtzee() -> None:
    """The same with the real game."""
    random = Random(1)
    for _ in range(20):
        record = random_game(YAHTZEE.rules, random)
        assert check(record, YAHTZEE, "mean") > 10
        assert review(record, YAHTZEE, MEAN).unknown == 0
        check(forgotten(record, random), YAHTZEE, "mean")


def test_optimal_play_loses_nothing() -> None:
    """And the luck of its games has mean 0, give or take."""
    consulted = Consulted("expected", YAHTZEE)
    found = [review(played_by(consulted, YAHTZEE, seed), YAHTZEE, MEAN) for seed in range(60)]
    assert {one.loss for one in found} == {0.0}
    luck = np.array([one.luck for one in found])
    assert abs(luck.mean()) < 4 * 59.61 / math.sqrt(len(luck))


@pytest.mark.parametrize(("name", "loss"), [("greedy", 37.212356), ("glenn-rules", 28.543938)])
def test_strategies_lose_what_they_are_expected_to_lose(name: str, loss: float) -> None:
    """On average over games with dice, within four standard errors."""
    consulted = Consulted(name, YAHTZEE)
    losses = np.array([review(played_by(consulted, YAHTZEE, seed), YAHTZEE, MEAN).loss for seed in range(80)])
    assert losses.mean() == pytest.approx(loss, abs=4 * losses.std() / math.sqrt(len(losses)))


def test_luck_of_a_first_roll_has_mean_zero() -> None:
    """Each roll's luck, weighed with its probability, and the loss of the best keep."""
    rules, total = YAHTZEE.rules, 0.0
    for dice in np.ndindex(*(6,) * N_DICE):
        if tuple(sorted(dice)) == dice:
            faces = tuple(die + 1 for die in dice)
            n_ways = math.factorial(N_DICE) // math.prod(math.factorial(faces.count(face)) for face in set(faces))
            record = Record(rules, (Turn((Roll(faces, ()), Roll(faces)), 12),))
            found = review(record, YAHTZEE, MEAN)
            assert found.rolls[0].dice == faces
            total += n_ways * found.rolls[0].luck
    assert total == pytest.approx(0, abs=1e-8)


# ------------------------------------------------------------------------------------------------- records


def test_record() -> None:
    """What people write is read, and written in one form."""
    record = parse_record(GAME)
    assert record.text == (
        "rules: yahtzee\nplayer: A\n\n"
        "22256 keep 222, 22235 keep 222, 22266 full-house\n"
        "12345 large-straight\n"
        "11356 keep nothing, 44466 keep 444, 44456 fours\n"
        "... 45666 sixes\n"
        "11356, 11146 keep 111, 11116 aces\n"
        "chance=22\n"
        "yahtzee=50\n"
    )
    assert parse_record(record.text) == record
    assert record.cards[-1].as_dict() == {
        "aces": 4,
        "fours": 12,
        "sixes": 18,
        "full-house": 25,
        "large-straight": 40,
        "yahtzee": 50,
        "chance": 22,
    }
    told = record.to_dict()
    assert json.loads(json.dumps(told))["turns"][1] == {
        "rolls": [{"dice": [1, 2, 3, 4, 5], "kept": None}],
        "box": "large-straight",
        "points": None,
        "extra": False,
        "whole": True,
    }


def test_any_record_is_read_back() -> None:
    """Random games, and what is left of them."""
    random = Random(3)
    for name in sorted(SMALL):
        for _ in range(30):
            record = random_game(ADVISERS[name].rules, random)
            for one in (record, forgotten(record, random)):
                text = one.text.partition("\n")[2]  # the name of the game is no rule set that comes with the program
                assert parse_record(text, rules=one.rules) == one
                assert parse_record(one.text, rules=one.rules) == one


HOSTILE = st.text(st.sampled_from("""ab ,=#":.;)'+1206keqd\\"""), min_size=1, max_size=6) | st.text(
    st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6
)


@given(
    st.lists(HOSTILE.filter(lambda name: not name.isspace()), min_size=5, max_size=5, unique=True),
    st.sampled_from(sorted(SMALL)),
    st.randoms(use_true_random=False),
)
def test_any_record_of_own_rules_is_read_back(names: list[str], game: str, random: Random) -> None:
    """Whatever rules and boxes are called, and where the game had begun: with the files of its goal, too."""
    assume(all(is_text(name) for name in names))
    rules = ADVISERS[game].rules
    called = dict(zip([category.name for category in rules.categories], names[1:], strict=False))
    rules = replace(
        rules,
        name=names[0],
        categories=tuple(replace(category, name=called[category.name]) for category in rules.categories),
        yahtzee=called.get(rules.yahtzee or ""),
    )
    played = random_game(rules, random)
    first = random.randrange(len(played.turns))
    begun = (("card", played.cards[first].text),) if first else ()
    record = replace(played, turns=played.turns[first:], headers=(("goal", f"worth:{names[0].strip()}"), *begun))
    for one in (record, forgotten(record, random)):
        assert parse_record(one.text, rules=rules) == one


@pytest.mark.parametrize(
    "name", ["odd, or even", "#1", 'the "ones"', "a = b", "1. a", "2) a", "... a", "rules: a", " a", "a ", "a+1=2"]
)
def test_names_in_quotes(name: str) -> None:
    """A name that a line could not hold stands in double quotes, and so does its entry where no roll is known."""
    first, second, *others = ADVISERS["free"].rules.categories
    boxes = (replace(first, name=name), replace(second, name="a"), *others)
    empty = Record(replace(ADVISERS["free"].rules, categories=boxes))
    quoted = name.replace('"', '""')
    for turn, line in (
        (Turn((Roll((1, 1, 1, 3, 4), (1, 1, 1)), Roll((1, 1, 1, 2, 3))), 0), f'11134 keep 111, 11123 "{quoted}"'),
        (Turn((), 0, 3, is_whole=False), f'"{quoted}=3"'),
    ):
        record = empty.with_turn(turn)
        assert record.text.splitlines()[2] == line
        assert parse_record(f"{record.text.strip()}  # a remark", rules=empty.rules) == record


def test_own_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A game by rules of one's own is reviewed with these rules named, though its record has their name alone."""
    (tmp_path / "mine.toml").write_text(SMALL["free"])
    flags = ["--rules", str(tmp_path / "mine.toml")]
    file = str(tmp_path / "game.txt")
    assert cli.main(["play", "--strategy", "expected", "--seed", "1", "--record", file, *flags]) == 0
    assert cli.main(["review", file, *flags]) == 0
    assert "loss                0.0000" in capsys.readouterr().out
    assert cli.main(["review", file]) == 2
    assert "free: no such rule set or file" in capsys.readouterr().err


def test_extra_bonus() -> None:
    """Points alone may say that a further Yahtzee was paid."""
    record = parse_record("yahtzee=50\nsixes=30+100\n")
    assert record.cards[-1].score == 180
    assert "sixes=30+100" in record.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("22256", "line 1: expected a box after the last roll, found '22256'"),
        ("2225 fh", "line 1: expected a roll such as 22256, found '2225 fh'"),
        ("22257 fh", "line 1: expected a roll such as 22256, found '22257 fh'"),
        ("22256 keep 3, 22255 fh", "line 1: keep: expected some of 2 2 2 5 6, found 3"),
        ("22256 keep 222, 22355 fh", "line 1: 222 were kept, and the next roll is 22355"),
        ("22256 hold 222, 22255 fh", "line 1: expected `keep` and dice after 22256, found 'hold 222'"),
        ("22256 keep x, 22255 fh", "line 1: keep: expected faces from 1 to 6, `all` or `nothing`, found 'x'"),
        ("1: 22255 fh\n2: 33366 fh", "line 2: box: full-house is used"),
        ("chance=4", "line 1: chance: no roll scores 4 there"),
        ("chance=22\nchance=22", "line 2: box: chance is used"),
        ("aces=3+100", "line 1: bonus: it is paid only after yahtzee"),
        ("yahtzee=50\naces=3+50", "line 2: expected an extra bonus of 100, found 50"),
        ("11111 k 1, 11111 k 1, 11111 k 1, 11111 aces", "line 1: expected at most 3 rolls, found 4"),
        ("rules: yahtze", "yahtze"),
        ("goal: mean\ngoal: mean\n12345 ls", "line 2: expected goal once"),
        ("rules: forced-joker\nyahtzee=50\n11111 fh", "line 3: box: full-house is not open to this roll"),
        ("12345 nothing", "line 1: box: no box 'nothing'"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    """One line, with the number of the line."""
    with pytest.raises(UsageError) as refusal:  # of which that of a file is one
        parse_record(text, "game.txt")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    if message.startswith("line"):
        assert isinstance(refusal.value, FileError)


# ------------------------------------------------------------------------------------------------- at the shell


def test_at_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Games are played, written, and reviewed one by one and together."""
    files = [tmp_path / f"{seed}.txt" for seed in (3, 4)]
    for seed, file in zip((3, 4), files, strict=True):
        assert cli.main(["play", "--strategy", "greedy", "--seed", str(seed), "--record", str(file)]) == 0
        assert capsys.readouterr().out == f"{file}\n"
    assert cli.main(["review", str(files[0]), "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert {"start", "luck", "loss", "result"} <= {*one}
    assert one["start"] + one["luck"] - one["loss"] == pytest.approx(one["result"], abs=1e-9)
    assert one["result"] == one["score"] == parse_record(files[0].read_text()).cards[-1].score
    assert one["level"] == {"below": "category-means", "above": "glenn-rules"}
    assert len(one["costliest"]) == 10
    assert cli.main(["review", *map(str, files), "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert both["games"][0]["loss"] == one["loss"]
    assert both["all"]["loss"] == pytest.approx(sum(game["loss"] for game in both["games"]) / 2)
    assert cli.main(["review", str(files[0])]) == 0
    shown = capsys.readouterr().out
    assert f"loss            {one['loss']:10.4f}" in shown
    assert "   7  four-of-a-kind       17" in shown
    assert shown.splitlines()[-1] == "That is more than category-means loses on average, and less than glenn-rules."


def test_own_game(tmp_path: Path) -> None:
    """At the prompt, dice are rolled for the player, and the record is written in the end."""
    file = tmp_path / "game.txt"
    said = "".join(f"roll\nk all\nk all\n{box}\n" for box in ("1", "2", "ch"))
    result = command("play", "--seed", 5, "--record", file, said=said)
    assert result.returncode == 0, result.stderr
    record = parse_record(file.read_text())
    assert len(record.turns) == 3
    assert result.stdout.endswith(f"{record.cards[-1].score} points.\n{file}\n")
    again = command("play", "--seed", 5, said=said)
    assert result.stdout == f"{again.stdout}{file}\n"


def test_goal_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record may say what it was played for; a flag overrides it."""
    file = tmp_path / "game.txt"
    card = "aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18,3k=20,4k=22,fh=25,ss=30,ls=40"
    file.write_text(f"goal: reach:250\ncard: {card}\nyahtzee=0\n66654 keep 666, 66661 keep 6666, 56666 chance\n")
    assert cli.main(["review", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["goal"], found["result"], found["score"]) == ("reach:250", 1.0, 264)
    assert cli.main(["review", str(file), "--goal", "mean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == 264
    file.write_text(f"card: {card},yahtzee=0\n66654 keep 666, 66661 keep 6666, 56666 chance\n")
    assert cli.main(["review", str(file), "--goal", "mean", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["result"], found["unknown"]) == (264, 0)
    assert found["level"] is None  # the loss of a turn is not compared with those of whole games


@pytest.mark.parametrize(
    ("verb", "flags", "message"),
    [
        ("review", ["nothing.txt"], "nothing.txt: cannot be read: No such file"),
        ("review", ["EMPTY"], "expected a line for each turn, found none"),
        ("review", ["GAME", "--goal", "win"], "goal: say against whom"),
        ("play", ["--strategy", "chance"], "depends on the other players"),
        (
            "play",
            ["--strategy", "expected", "--record", "/nowhere/game.txt"],
            "/nowhere/game.txt: cannot be written: No such directory",
        ),
        ("play", ["--strategy", "ecker-greedy", "--rules", "yatzy"], "all have to play the same game"),
        ("play", ["--strategy", "greedy", "--goal", "mean"], "strategy: has a goal of its own; leave out --goal"),
    ],
)
def test_refused_commands(
    verb: str, flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line and exit code 2."""
    (tmp_path / "empty.txt").write_text("rules: yahtzee\n")
    (tmp_path / "game.txt").write_text(GAME)
    named = {"EMPTY": str(tmp_path / "empty.txt"), "GAME": str(tmp_path / "game.txt")}
    assert cli.main([verb, *(named.get(flag, flag) for flag in flags)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
