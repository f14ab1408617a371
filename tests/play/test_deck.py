"""Decks: when exercises come again, what their files hold, and whole sittings at a terminal and through a pipe."""

import json
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import command
from small_games import SMALL
from terminal import Terminal

from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.deck import INTERVALS_S, MOST_EXERCISES, Deck, read_deck, write_deck
from yahtzee_cluster.play.practice import Exercise, draw
from yahtzee_cluster.play.record import parse_record
from yahtzee_cluster.play.review import review
from yahtzee_cluster.play.sitting import Sitting

YACHT = Adviser(load_rules("yacht"))
NOW = 1_700_000_000.0
GAME = "22256 keep 6, 22236 keep 222, 22266 chance\n12346 keep 6, 11346 keep 11, 11156 aces\n"


@cache
def drawn() -> tuple[Exercise, ...]:
    return draw(YACHT, MEAN, 6, 1)


def deck_of(n: int) -> Deck:
    return Deck(YACHT.rules, MEAN).with_exercises(drawn()[:n], NOW)


def best(exercise: Exercise, adviser: Adviser = YACHT) -> str:
    """The best move as it is typed."""
    move = adviser.advise(exercise.position, MEAN)[0].move
    return move.category or f"k {' '.join(map(str, move.keep or ())) or 'nothing'}"


# --------------------------------------------------------------------------------------------------- intervals


def test_right_answers_rest_longer() -> None:
    """Ten minutes, a day, three, a week, and so on; a wrong one begins anew, after the others that are due."""
    deck, now = deck_of(2), NOW
    first, second = drawn()[:2]
    assert deck.due(now) == (first, second)
    for interval in (*INTERVALS_S, INTERVALS_S[-1]):
        deck = deck.answered(first, True, now)
        assert deck.due(now) == (second,)
        assert deck.due(now + interval - 1) == (second,)
        now += interval
        assert deck.due(now) == (second, first)
    deck = deck.answered(first, False, now)
    assert deck.due(now) == (second, first)
    deck = deck.answered(second, False, now)
    assert deck.due(now) == (first, second)
    deck = deck.answered(first, True, now)
    assert deck.next_due_s() == now
    assert deck.answered(second, True, now).next_due_s() == now + 600
    assert deck.answered(second, True, now).due(now + 599) == ()


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 10**7))))
def test_any_answers(answers: list[tuple[int, bool, int]]) -> None:
    """Each exercise is due after the interval of its right answers in a row, whatever happens to the others."""
    deck, now = deck_of(4), NOW
    in_a_row, due = [0] * 4, [NOW] * 4
    for number, is_right, later in answers:
        now += later
        deck = deck.answered(drawn()[number], is_right, now)
        in_a_row[number] = in_a_row[number] + 1 if is_right else 0
        last = len(INTERVALS_S) - 1
        due[number] = now + INTERVALS_S[min(in_a_row[number] - 1, last)] if is_right else now
        assert {*deck.due(now)} == {drawn()[at] for at in range(4) if due[at] <= now}
    assert {one.exercise: one.due_s for one in deck.scheduled} == dict(zip(drawn(), due, strict=False))
    assert Deck.from_dict(json.loads(json.dumps(deck.to_dict()))) == deck


def test_further_exercises() -> None:
    """Those that the deck has stay as they are; there is a limit, and only its own exercises are answered."""
    deck = deck_of(2).answered(drawn()[0], True, NOW)
    more = deck.with_exercises([*drawn()[:3], drawn()[2]], NOW + 1)
    assert more.exercises == (drawn()[1], drawn()[0], drawn()[2])
    assert more.scheduled[:2] == deck.scheduled
    with pytest.raises(UsageError, match="deck: this position is not in it"):
        deck.answered(drawn()[2], True, NOW)
    many = [
        Exercise(card.play(0, (1, 1, 1, 2, one)), (first, second, third, fourth, 6), left)
        for card in [Scorecard.of(YACHT.rules, {})]
        for one in (1, 2)
        for first in range(1, 7)
        for second in range(first, 7)
        for third in range(second, 7)
        for fourth in range(third, 7)
        for left in range(3)
    ]
    full = Deck(YACHT.rules, MEAN).with_exercises(many, NOW)
    assert len(full.scheduled) == 756
    with pytest.raises(UsageError, match="deck: holds at most 1000 positions; begin another one"):
        full.with_exercises(
            [Exercise(one.card.play(1, (1, 1, 1, 1, 1)), one.dice, one.rolls_left) for one in many], NOW
        )


# ------------------------------------------------------------------------------------------------------- files


def test_file(tmp_path: Path) -> None:
    """It is read back, with the rules that it names or those given."""
    file = str(tmp_path / "deck.json")
    deck = deck_of(3).answered(drawn()[0], True, NOW)
    write_deck(file, deck)
    assert read_deck(file) == read_deck(file, YACHT.rules) == deck


def damaged(**changes: Any) -> dict[str, Any]:
    """A deck of one exercise with something else in its place; `exercise` stands for fields of the exercise."""
    table = deck_of(1).to_dict()
    table["exercises"][0] |= changes.pop("exercise", {})
    return {key: value for key, value in (table | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not valid JSON"),
        ('{"rules": "yacht", "goal"', "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("9" * 10_000, "is not valid JSON"),
        (" " * 10_000_001, "is too long: more than 10000000 bytes"),
        ("[]", "expected an object with rules, goal and exercises"),
        (damaged(rules="yahtzee"), "is a deck of yahtzee, and this game is yacht"),
        (damaged(rules=None), "rules: expected a text, found nothing"),
        (damaged(goal="raech:250"), "did you mean reach?"),
        (damaged(goal=None), "goal: expected a text, found nothing"),
        (damaged(more=1), "more: expected no such field here"),
        (damaged(exercises=None), "exercises: expected a list of at most 1000 positions, found nothing"),
        (damaged(exercises=[{}] * (MOST_EXERCISES + 1)), "exercises: expected a list of at most 1000 positions"),
        (damaged(exercises=[*deck_of(1).to_dict()["exercises"]] * 2), "exercises: expected each position once"),
        (damaged(exercises=[3]), "exercise 1: expected an object, found 3"),
        (damaged(exercise={"box": 99}), "exercise 1: box: expected a whole number from 0 to 7, found 99"),
        (damaged(exercise={"box": None}), "exercise 1: box: expected a whole number from 0 to 7, found nothing"),
        (damaged(exercise={"due": "soon"}), "exercise 1: due: expected seconds from 0 to 1e+11, found 'soon'"),
        (damaged(exercise={"due": float("nan")}), "exercise 1: due: expected seconds"),
        (damaged(exercise={"due": True}), "exercise 1: due: expected seconds"),
        (damaged(exercise={"due": 1e12}), "exercise 1: due: expected seconds"),
        (damaged(exercise={"dice": [1, 2, 3]}), "exercise 1: dice: expected 5 faces"),
        (damaged(exercise={"card": {"aces": 9}}), "exercise 1: aces: no roll scores 9 there"),
        (damaged(exercise={"why": 1}), "exercise 1: why: expected no such field here"),
    ],
)
def test_damaged_files(content: object, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused in one line, and left as they are."""
    file = tmp_path / "deck.json"
    file.write_text(text := content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FileError) as refusal:
        read_deck(str(file), load_rules("yacht"))
    assert message in str(refusal.value)
    assert cli.main(["practice", "--deck", str(file), "--rules", "yacht"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert file.read_text() == text


def test_a_deck_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """Where the new one finds no room, the one before stays, and nothing is left beside it."""
    file = tmp_path / "deck.json"
    write_deck(str(file), deck_of(1))
    before = file.read_text()
    line = f"ulimit -f 1; exec {sys.executable} -m yahtzee_cluster practice --rules yacht --deck {file}"
    result = subprocess.run(["bash", "-c", line], input="", capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (
        1 + 1,
        f"yahtzee-cluster: {file}: cannot be written: File too large\n",
    )
    assert file.read_text() == before
    assert [*tmp_path.iterdir()] == [file]


def test_a_link_and_its_permissions_stay(tmp_path: Path) -> None:
    """A file is replaced where it is, and may be read by the same people as before."""
    file, link = tmp_path / "deck.json", tmp_path / "link.json"
    write_deck(str(file), deck_of(1))
    file.chmod(0o640)
    link.symlink_to(file)
    write_deck(str(link), deck_of(2))
    assert link.is_symlink()
    assert read_deck(str(file)) == deck_of(2)
    assert file.stat().st_mode & 0o777 == 0o640
    write_deck("/dev/null", deck_of(1))


# ---------------------------------------------------------------------------------------------------- sittings


def test_wrong_ones_come_again() -> None:
    """In practice, until they are right; the first answers count, and all are passed on."""
    heard: list[tuple[Exercise, bool]] = []
    sitting = Sitting(YACHT, MEAN, drawn()[:2], heard=lambda one: heard.append((one.exercise, one.is_right)))
    first, second = drawn()[:2]
    assert sitting.prompt.startswith("1 of 2, ")
    told = sitting.hear("nonsense")
    assert "(`?` lists what can be said)" in told
    assert "quit" in sitting.hear("?")
    assert sitting.hear("").startswith("1 of 2:\n")
    wrong = YACHT.advise(first.position, MEAN)[-1].move
    said = sitting.hear(wrong.category or f"k {' '.join(map(str, wrong.keep or ())) or 'nothing'}")
    assert said.startswith("That costs ")
    assert "\n\n2 of 2:\n" in said
    assert sitting.hear(best(second)).startswith("Right.\n\nonce more:\n")
    assert sitting.prompt.startswith("once more, ")
    assert sitting.hear(best(first)) == "Right."
    assert sitting.is_over
    assert heard == [(first, False), (second, True), (first, True)]
    assert (len(sitting.marks.answers), sitting.marks.n_right) == (2, 1)


def test_a_box_called_quit() -> None:
    """Is filled, or refused like any box, and does not end the sitting."""
    adviser = Adviser(parse_rules(SMALL["plain"].replace('"any"', '"quit"'), "test"))
    sitting = Sitting(adviser, MEAN, [Exercise(Scorecard.of(adviser.rules, {}), (1, 2, 3, 4, 5), 0)])
    assert not sitting.leaves("quit")
    assert sitting.leaves(" Q")
    assert "`?` lists" not in sitting.hear("quit")


def test_sitting_with_a_deck(tmp_path: Path) -> None:
    """New positions are asked, what was wrong once more; later those that are due, and new ones for the rest."""
    file = tmp_path / "deck.json"
    flags = ["practice", "--rules", "yacht", "--deck", file, "--count", 3, "--seed", 1]
    result = command(*flags, said="quit\n")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith(f"No position was answered.\n{file}: 3 of 3 positions are due\n")
    assert read_deck(str(file)).exercises == drawn()[:3]
    moves = [best(one) for one in drawn()[:3]]
    result = command(*flags, said=f"?\n{moves[0]}\n{moves[1]}\n")
    assert result.stdout.count("Right.") == 2
    assert result.stdout.endswith(f"{file}: 1 of 3 positions are due\n")
    deck = read_deck(str(file))
    assert deck.exercises == (drawn()[2], *drawn()[:2])
    assert deck.next_due_s() is not None
    assert 590 < deck.scheduled[1].due_s - time.time() <= 600
    asked = json.loads(command(*flags, "--json").stdout)
    assert [Exercise.from_dict(one, YACHT.rules) for one in asked["exercises"]] == [drawn()[2], *drawn()[3:5]]
    assert read_deck(str(file)) == deck
    file.write_text(json.dumps(deck.answered(drawn()[2], True, time.time()).to_dict()))
    game = tmp_path / "game.txt"
    game.write_text(f"rules: yacht\n{GAME}")
    result = command("practice", "--deck", file, "--from", game, "--count", 1, said="quit\n")
    adviser = YACHT
    costly = review(parse_record(game.read_text()), adviser, MEAN).costliest
    assert len(costly) > 2
    assert result.stdout.endswith(f"{file}: {len(costly)} of {len(costly) + 3} positions are due\n")
    result = command("practice", "--deck", file, "--goal", "reach:200")
    assert (result.returncode, result.stdout) == (2, "")
    assert f"goal: {file} is a deck for mean; name another deck" in result.stderr


def test_nothing_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A full deck says when the next position is due."""
    deck = deck_of(2)
    for one in deck.exercises:
        deck = deck.answered(one, True, time.time())
    file = tmp_path / "deck.json"
    write_deck(str(file), deck)
    monkeypatch.setattr("yahtzee_cluster.commands.practice.MOST_EXERCISES", 2)
    assert cli.main(["practice", "--deck", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: nothing is due; the next position is in 0.2 hours\n"


def test_killed_sitting(tmp_path: Path) -> None:
    """What was answered until then is in the deck."""
    file = tmp_path / "deck.json"
    write_deck(str(file), deck_of(3))
    line = [sys.executable, "-m", "yahtzee_cluster", "practice", "--deck", str(file), "--count", "3"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{best(drawn()[0])}\n")
        process.stdin.flush()
        assert "Right.\n" in iter(process.stdout.readline, "")
        process.kill()
    assert read_deck(str(file)).due(time.time()) == drawn()[1:3]


def test_at_a_terminal(tmp_path: Path) -> None:
    """A whole sitting: the card, a prompt for each position, the verdicts and the score."""
    file = tmp_path / "deck.json"
    write_deck(str(file), deck_of(2))
    line = [sys.executable, "-m", "yahtzee_cluster", "practice", "--deck", file, "--count", 2]
    kind = ["box" if not one.rolls_left else "keep" for one in drawn()]
    with Terminal(100) as terminal, terminal.start(line) as job:
        terminal.wait_for(lambda lines: lines[-1].startswith(f"1 of 2, {kind[0]}>"))
        assert any(row.startswith("total ") for row in terminal.lines)
        terminal.press(f"{best(drawn()[0])}\n")
        terminal.wait_for(lambda lines: lines[-1].startswith(f"2 of 2, {kind[1]}>"))
        assert "Right." in terminal.lines
        terminal.press("zz\n")
        terminal.wait_for(lambda lines: "(`?` lists what can be said)" in "".join(lines[-3:]))
        terminal.press(f"{best(drawn()[1])}\n")
        terminal.wait_for(lambda lines: lines[-1] == f"{file}: 0 of 2 positions are due")
        assert job.wait(30) == 0
        assert any(row.split() == ["all", "2", "2", "0.0000"] for row in terminal.lines)


def test_test_through_a_pipe() -> None:
    """Nothing is said in between; the score has the kinds, the strategies and the costliest mistakes."""
    flags = ["practice", "--test", "--rules", "yacht", "--seed", 1, "--count", 4]
    moves = [best(one) for one in drawn()[:3]]
    wrong = "k nothing" if drawn()[3].rolls_left else YACHT.advise(drawn()[3].position, MEAN)[-1].move.category
    result = command(*flags, said="\n".join([*moves, str(wrong), "never read"]))
    assert (result.returncode, result.stderr) == (0, "")
    assert "Right" not in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    (total,) = [row for row in rows if row[:1] == ["all"]]
    assert total[1:3] == ["4", "3"]
    names = [row[0] for row in rows if row[:1] in (["you"], ["greedy"], ["ecker-additive"])]
    assert sorted(names) == ["ecker-additive", "greedy", "you"]
    assert "costliest mistakes:" in result.stdout
    assert result.stdout.endswith("seed: 1 asks the same positions again\n")
    told = json.loads(command(*flags, "--json", said="\n".join([*moves, str(wrong)])).stdout)
    assert (told["positions"], told["right"], f"{told['loss']:.4f}") == (4, 3, total[3])
    assert [one["right"] for one in told["answers"]] == [True, True, True, False]
    assert {one["name"] for one in told["strategies"]} == {"greedy", "ecker-additive"}
    part = command(*flags, said="\n".join([*moves[:2], "quit"]))
    assert [line.split()[1:3] for line in part.stdout.splitlines() if line.startswith("all ")] == [["2", "2"]]


def test_games_through_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The costliest decisions of one's own games, by the goal that the record names."""
    game = tmp_path / "game.txt"
    game.write_text(f"rules: yacht\ngoal: reach:150\n{GAME}")
    assert cli.main(["practice", "--from", str(game), "--json", "--count", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["goal"], told["seed"]) == ("reach:150", None)
    costly = review(parse_record(game.read_text()), YACHT, parse_goal("reach:150")).costliest
    assert [one["dice"] for one in told["exercises"]] == [[*(one.position.dice or ())] for one in costly[:2]]


def test_own_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A game of one's own is practised like any other; its deck is read with its rules named."""
    (tmp_path / "mine.toml").write_text(SMALL["free"])
    flags = ["practice", "--rules", str(tmp_path / "mine.toml"), "--json", "--count", "3"]
    assert cli.main(flags) == 0
    assert len(json.loads(capsys.readouterr().out)["exercises"]) == 3


FILES = {"BEST": "best.txt", "OTHER": "other.txt", "ONE": "one.toml"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--count", "0"], "count: expected 1 to 500, found 0"),
        (["--count", "501"], "count: expected 1 to 500, found 501"),
        (["--test", "--deck", "x.json"], "test: draws positions of its own; leave out --deck"),
        (["--test", "--from", "x.txt"], "test: draws positions of its own; leave out --from"),
        (["--from", "-"], "from: standard input is for the moves; name files"),
        (["--from", "nothing.txt"], "nothing.txt: cannot be read: No such file"),
        (["--deck", "/nowhere/deck.json"], "/nowhere/deck.json: cannot be written: No such directory"),
        (["--goal", "win"], "goal: say against whom"),
        (["--cache", "much"], "'much'"),
        (["--rules", "ONE"], "goal: people hardly go wrong in this game; name another goal, or another game"),
        (["--from", "BEST"], "from: no decision of these games could be better"),
        (["--from", "BEST", "OTHER"], "goal: these games were played for several goals; say which is meant"),
    ],
)
def test_refused_commands(flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2."""
    (tmp_path / "best.txt").write_text("rules: yacht\n66666 yacht\n")
    (tmp_path / "other.txt").write_text("rules: yacht\ngoal: reach:9\n66666 yacht\n")
    (tmp_path / "one.toml").write_text('name = "one"\n[[category]]\nname = "twos"\nface = 2\n')
    named = {name: str(tmp_path / file) for name, file in FILES.items()}
    assert cli.main(["practice", *(named.get(flag, flag) for flag in flags)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_wrong_line_of_a_test() -> None:
    """With --json the line is named, for all further moves would be those of other positions."""
    result = command("practice", "--test", "--json", "--rules", "yacht", "--count", 2, said="\nk 1\n")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "yahtzee-cluster: line 1: box: no box ''; there are " + result.stderr.partition("are ")[2]
