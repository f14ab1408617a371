"""Advice: what every legal move of a position is worth, at a terminal, in one shot, and line by line."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from in_process import command
from launch import computed
from positions import judged, rest_of, somewhere
from small_games import SMALL

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import KEEPS, ROLLS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.notation import find_box, parse_dice
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.kernels.policies import ForTheMean
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.conversation import HELP, Conversation, goal_said
from yahtzee_cluster.play.lines import answer
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.wording import listing


@cache
def adviser(name: str) -> Adviser:
    return Adviser(load_rules(name))


def run(*arguments: object, said: str = "") -> subprocess.CompletedProcess[str]:
    return command("advise", *arguments, said=said)


def agrees(adviser: Adviser, position: Position, reach: int | None) -> None:
    advice = adviser.advise(position, reach)
    expected = judged(
        adviser.rules, position, rest_of(adviser.rules, None if reach is None else reach - position.score)
    )
    moves = [one.move.category or one.move.keep or () for one in advice]
    assert set(moves) == set(expected)
    for move, one in zip(moves, advice, strict=True):
        *p, mean, _ = expected[move]
        assert ([] if one.p is None else [one.p]) == pytest.approx(p, rel=1e-11, abs=1e-300)
        if one.expected is not None:
            assert one.expected - position.score == pytest.approx(mean, rel=1e-11)
    worths = [one.expected if one.p is None else one.p for one in advice]
    costs = [(worths[0] or 0) - (worth or 0) for worth in worths]
    assert [one.cost for one in advice] == pytest.approx(costs, abs=1e-9)
    assert all(one.cost <= other.cost * (1 + 1e-9) + 1e-12 for one, other in pairwise(advice))
    if advice[0].expected is not None:  # all criteria are known, and the first move is best by them
        assert expected[moves[0]] == pytest.approx(reference.pick(list(expected.values())), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("name", preset_names())
def test_every_rule_set_agrees_with_the_judge(name: str) -> None:
    """In sampled positions of every rule set, all legal moves are listed, each at what trying out everything finds."""
    random = Random(name)
    rules = load_rules(name)
    for rolls_left in (0, 1, 2):
        anchor, score = somewhere(rules, 1, random)
        agrees(adviser(name), Position(anchor, random.choice(ROLLS), rolls_left, score), None)


@pytest.mark.parametrize("name", ["forced-joker", "yahtzee"])
def test_two_boxes_agree_with_the_judge(name: str) -> None:
    """With two boxes left, one of them the reason for jokers, the judge finds the same."""
    rules = load_rules(name)
    names = [category.name for category in rules.categories]
    free = 1 << names.index("fours") | 1 << names.index("large-straight")
    for roll, rolls_left in (((2, 2, 2, 2, 2), 0), ((3, 4, 4, 5, 6), 1)):
        agrees(adviser(name), Position(Anchor(free, 55, True), roll, rolls_left, 300), None)


@pytest.mark.parametrize("objective", ["maxprob", "scores"])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_reaching_a_score_agrees_with_the_judge(name: str, objective: str, tmp_path: Path) -> None:
    """To reach a score, every move is worth what trying out everything finds, ties included if the table knows them."""
    table = computed(SMALL[name], tmp_path / "table", objective)
    small = Adviser(table.rules, table)
    random = Random(name)
    for rolls_left in (0, 1, 2):
        anchor, score = somewhere(table.rules, 2, random)
        reach = score + random.randrange(1, 25)
        position = Position(anchor, random.choice(ROLLS), rolls_left, score)
        agrees(small, position, reach)
        assert (small.advise(position, reach)[0].expected is None) == (objective == "maxprob")
        if score:  # reached already: what is left is the expected score
            reached = small.advise(Position(anchor, (1, 2, 3, 4, 6), rolls_left, score), score)
            assert {one.p for one in reached} == {1.0}
            expected = small.advise(Position(anchor, (1, 2, 3, 4, 6), rolls_left, score))
            assert [one.move for one in reached] == [one.move for one in expected]


def test_best_advice_is_what_the_strategy_decides() -> None:
    """The first move of a list is the one that the strategy behind the tables takes."""
    rules = load_rules("yahtzee")
    known = adviser("yahtzee").expected
    decider = ForTheMean(Turn(compile_moves(rules)), known.anchors, known.mean, known.second_moment)
    random = Random(5)
    for _ in range(20):
        anchor, _ = somewhere(rules, random.randrange(1, 14), random)
        lane = known.anchors.lane(anchor.free, anchor.upper or 0)
        decisions = decider.decisions(anchor.free, anchor.chip)[:, :, lane]
        roll = random.choice(ROLLS)
        for stage in range(3):
            move = adviser("yahtzee").advise(Position(anchor, roll, 2 - stage))[0].move
            decided = decisions[stage, ROLLS.index(roll)]
            if stage == 2:
                assert move.category == rules.categories[decided].name
            else:
                assert move.keep == KEEPS[decided]


def test_start_of_the_game() -> None:
    """Before the first roll there is one thing to do, and it is worth what the table says."""
    advice = adviser("yahtzee").advise(Position(Anchor(8191, 0, False)))
    assert [one.move.words for one in advice] == ["roll all dice"]
    assert advice[0].expected == pytest.approx(254.58960948196, rel=1e-12)


def test_a_decision_takes_milliseconds(tmp_path: Path) -> None:
    """Once a game is known, a list of all moves takes a few hundredths of a second, with a table on disk too."""
    table = computed(SMALL["free"], tmp_path / "table")
    for known, position, reach in (
        (adviser("yahtzee"), Position(Anchor(8191, 0, False), (2, 2, 2, 5, 6), 2), None),
        (Adviser(table.rules, table), Position(Anchor(0b1111, 0, False), (2, 2, 2, 5, 6), 2), 20),
    ):
        began = time.thread_time()
        known.advise(position, reach)
        assert time.thread_time() - began < 0.1


# ----------------------------------------------------------------------------------------------- as one speaks


@pytest.mark.parametrize("text", ["22256", "2,2,2,5,6", "6 5 2 2 2", " 2, 2 ,2 5 6\n"])
def test_dice(text: str) -> None:
    """Dice are understood in any order, with or without something in between."""
    assert parse_dice(text) == (2, 2, 2, 5, 6)


@pytest.mark.parametrize("text", ["222566", "2225", "22257", "2225x", "", "2225٦", "0,1,2,3,4"])
def test_bad_dice(text: str) -> None:
    """Anything but five faces is refused."""
    with pytest.raises(UsageError, match="dice: expected 5 faces from 1 to 6, found"):
        parse_dice(text)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("fh", "full-house"), ("Full House", "full-house"), ("3k", "three-of-a-kind"), ("4k", "four-of-a-kind"),
        ("ss", "small-straight"), ("large", "large-straight"), ("6", "sixes"), ("1s", "aces"), ("YAHTZEE", "yahtzee"),
        ("ch", "chance"), ("tr", "treys"), ("four-of-a-kind", "four-of-a-kind"), ("fours", "fours"),
    ],
)  # fmt: skip
def test_boxes(text: str, box: str) -> None:
    """A box is understood by its name, the beginning of it, its initials or its face."""
    rules = load_rules("yahtzee")
    assert rules.categories[find_box(text, rules)].name == box


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("f", "box: 'f' may be any of fours, fives, four-of-a-kind, full-house"), ("kings", "box: no box 'kings'; there"),
     ("-", "box: no box '-'")],
)  # fmt: skip
def test_bad_boxes(text: str, complaint: str) -> None:
    """What may mean several boxes, or none, is refused with the choice."""
    with pytest.raises(UsageError, match=re.escape(complaint)):
        find_box(text, load_rules("yahtzee"))


def conversation(known: Adviser, goal: Goal = MEAN) -> Conversation:
    return Conversation(known, Position(Anchor(known.rules.all_free, 0, False)), goal)


def talk(*lines: str, known: Adviser | None = None) -> list[str]:
    talking = conversation(known or adviser("yahtzee"))
    return [talking.hear(line) for line in lines]


def test_a_whole_game() -> None:
    """Turn by turn to the end: the score is the sum of what was scored, bonuses included, and undo takes back."""
    plays = [("11111", "yahtzee", 50), ("33344", "fh", 25), ("11111", "aces", 105), ("22222", "2", 110)]
    plays += [("33333", "3s", 115), ("44444", "4", 120), ("55555", "5", 125 + 35), ("66666", "6", 130)]
    plays += [("12345", "ls", 40), ("12346", "ss", 30), ("66655", "3k", 28), ("66661", "4k", 25), ("66666", "ch", 130)]
    conversation = Conversation(adviser("yahtzee"), Position(Anchor(8191, 0, False)), MEAN)
    total = 0
    for number, (dice, box, points) in enumerate(plays, start=1):
        assert conversation.prompt == f"turn {number}, roll 1> "
        conversation.hear(dice)
        assert conversation.prompt == f"turn {number}, roll 2> "
        conversation.hear(dice)
        conversation.hear(dice)
        assert conversation.prompt == f"turn {number}, box> "
        assert "that was the last roll" in conversation.hear(dice)
        total += points
        answered = conversation.hear(box)
        for bonus, why in ((35 if box == "5" else 0, "upper bonus"), (100 * (points > 100), "for a further yahtzee")):
            assert (f", and {bonus} {why}" in answered) == (bonus > 0)
        extras = sum(bonus for bonus in (35, 100) if f", and {bonus} " in answered)
        assert f": {points - extras} points" in answered
        assert conversation.state.position.score == total
    assert f"The game is over: {total} points." in answered
    assert "the game is over" in conversation.hear("12345")
    conversation.hear("undo")
    assert conversation.state.position.score == total - 130
    for _ in range(4 * 13 - 1):
        conversation.hear("u")
    assert "nothing to take back" in conversation.hear("undo")
    assert conversation.state.position == Position(Anchor(8191, 0, False))


def test_what_makes_no_sense_changes_nothing() -> None:
    """Every word that cannot be followed is answered with a reason, and the game stands as before."""
    answers = talk("fh", "goal win", "goal reach x", "goal table", "222222", "zz", "66666", "undo", "?", "card", "")
    for said, expected in zip(
        answers,
        ["no dice are on the table yet", "goal: say against", "goal: expected reach:N", "goal: there is",
         "dice: expected 5 faces", "box: no box 'zz'", "keep all dice", "Playing for the highest", "undo",
         "upper boxes", "254.5896 expected"],
        strict=True,
    ):  # fmt: skip
        assert expected in said


def test_forced_boxes() -> None:
    """A box that the joker rule closes is refused with the reason; a used one too."""
    answers = talk("44444", "yahtzee", "44444", "fh", "4", "11111", "yahtzee", known=adviser("forced-joker"))
    assert "full-house is not open to this roll while another box has to take it" in answers[3]
    assert "fours: 20 points, and 100 for a further yahtzee." in answers[4]
    assert "yahtzee is used" in answers[6]


def test_goals(tmp_path: Path) -> None:
    """To beat a score is to reach one more; a goal beyond the table is solved from the position."""
    assert [*map(str, map(goal_said, ("beat 250", "reach 250", "expected")))] == ["above:250", "reach:250", "mean"]
    table = computed(SMALL["plain"], tmp_path / "table")
    answers = talk("goal beat 20", "22256", "goal reach 61", known=Adviser(table.rules, table))
    value = table.value(Anchor(table.rules.all_free, 0, False), 21)
    assert f"Playing for more than 20 points: {100 * value:.4f} % of reaching it" in answers[0]
    assert answers[1].splitlines()[0].split() == ["goal", "cost"]
    assert answers[2].splitlines()[0].split() == ["goal", "cost"]


# --------------------------------------------------------------------------------------------- from the shell


def test_one_shot() -> None:
    """One position: every legal move, best first, as a list and as JSON."""
    flags = ["--used", "aces,full-house", "--upper", "3", "--dice", "2,2,2,5,6", "--rolls-left", "2"]
    found = json.loads(run(*flags, "--json", "--score-so-far", "28").stdout)
    assert (found["used"], found["dice"], found["rolls_left"]) == (["aces", "full-house"], [2, 2, 2, 5, 6], 2)
    keeps = [tuple(move["keep"]) for move in found["moves"]]
    assert set(keeps) == set(reference.keeps((2, 2, 2, 5, 6)))
    assert keeps[0] == (2, 2, 2)
    expected = adviser("yahtzee").advise(Position(Anchor(8191 ^ 1 ^ 256, 3, False), (2, 2, 2, 5, 6), 2, 28))
    assert [move["mean"] for move in found["moves"]] == [one.expected for one in expected]
    assert run(*flags, "--score-so-far", "28").stdout == listing(expected) + "\n"
    boxes = json.loads(run("--dice", "22256", "--rolls-left", "0", "--json").stdout)["moves"]
    assert {move["category"] for move in boxes} == {box.name for box in load_rules("yahtzee").categories}


def test_beat(tmp_path: Path) -> None:
    """With a table, the best move to beat a score, and what it costs in points."""
    table = computed(SMALL["free"], tmp_path / "table")
    flags = ["--store", table.path, "--dice", "11256", "--rolls-left", "1", "--score-so-far", "0", "--json"]
    found = json.loads(run(*flags, "--beat", "10").stdout)
    assert (found["goal"], found["source"]) == ("above:10", "table")
    assert found == json.loads(run(*flags, "--reach", "11").stdout) | {"goal": "above:10"}
    assert 1 >= found["moves"][0]["value"] > found["moves"][-1]["value"]
    assert found["moves"][0]["mean"] is None  # a table of probabilities does not know it
    assert json.loads(run(*flags).stdout)["moves"][0]["mean"] > 1


def test_expected_score_of_who_plays_for_a_score(tmp_path: Path) -> None:
    """With a table of scores, the expected score is that of continuing to play for the goal."""
    table = computed(SMALL["free"], tmp_path / "table", "scores")
    start = Adviser(table.rules, table).advise(Position(Anchor(table.rules.all_free, 0, False)), 17)[0]
    assert start.expected == pytest.approx(table.moments(Anchor(table.rules.all_free, 0, False), 17)[0], rel=1e-12)
    highest = Adviser(table.rules).advise(Position(Anchor(table.rules.all_free, 0, False)))[0].expected
    assert start.expected is not None
    assert highest is not None
    assert start.expected < highest


def test_names_that_look_like_something_else() -> None:
    """A box may be called like a command, or begin with a digit."""
    boxes = "".join(f'[[category]]\nname = "{name}"\npoints = "sum"\n' for name in ("all", "quit", "2-pairs"))
    known = Adviser(parse_rules('name = "named"\n' + boxes, "test"))
    talking = conversation(known)
    assert not talking.leaves("quit")
    assert conversation(adviser("yacht")).leaves(" Quit ")
    answers = talk("12345", "12345", "12345", "all", "12345", "12345", "12345", "2-pairs", "help", known=known)
    assert answers[3].startswith("all: 15 points.\n")
    assert answers[7].startswith("2-pairs: 15 points.\n")
    assert answers[8] == HELP


def test_a_damaged_table_changes_nothing(tmp_path: Path) -> None:
    """Where the table cannot be read, nothing that was said has happened."""
    table = computed(SMALL["free"], tmp_path / "table")
    talking = conversation(Adviser(table.rules, table), Goal("reach", 20))
    for roll in ("11223", "11223", "11223"):
        talking.hear(roll)
    for cls in table.store.partition.classes:
        if len(table.store.partition.members(cls)) and int(table.store.partition.members(cls)[0]).bit_count() < 3:
            (table.store.place(cls) / "c.0").write_bytes(b"")
    before = talking.state
    assert "run its job again, and it is computed anew" in talking.hear("twos")
    assert talking.state == before


@pytest.mark.parametrize("lines", [[], ["--lines"]])
def test_nobody_listens(lines: list[str]) -> None:
    """A reader that closes the pipe ends it quietly; a full disk, or streams that are closed, take one line."""
    said = "all\n" * 20
    program = f"{sys.executable} -m yahtzee_cluster advise --rules yacht {' '.join(lines)}"
    for redirected, code, complaint in (
        ("| head -1 >/dev/null; exit ${PIPESTATUS[1]}", (0, 2), "could not be answered"),
        (">/dev/full", (1,), "yahtzee-cluster: the result cannot be written: No space left on device\n"),
        ("<&- >/dev/null", (0,), ""),
        (">&-", (0, 2), "could not be answered"),
    ):
        shell = f"printf '{said}' | {program} {redirected}"
        result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode in code, (redirected, result.stderr)
        assert result.stderr.count("\n") <= 1
        assert not result.stderr or complaint in result.stderr


def test_talk_at_the_shell() -> None:
    """Lines on stdin are a conversation; its end is the end of the program."""
    result = run("--rules", "yacht", said="22256\n22266\n22266\nfh\nquit\n")
    assert result.returncode == 0
    assert result.stdout.endswith("\n18 points.\n")
    assert run("--rules", "yacht").stdout.endswith("\n0 points.\n")


LINES = [
    ("- x x x x x x x x x x - x 62 False 2 1 2 2 2 6", ("keep", (2, 2, 2))),
    ("- x x x x x x x x x x - x 62 False 3 9 9 9 9 9", ("roll", None)),
    ("- - - - - - - - - - - - - 0 False 1 4 4 4 1 2", ("keep", (4, 4, 4))),
    ("x x x x x x x x x x x x - 63 True 0 3 3 3 3 3", ("score", None)),
]
REFUSED = [
    ("nonsense", "expected 13 marks, upper total, True or False, rerolls left and five dice: 21 words, found 1"),
    ("- x x x x x x x x x x - x 62 False 2 1 2 2 2 7", "dice: expected 5 faces"),
    ("- x x x x x x x x x x - x 62 Maybe 2 1 2 2 2 6", "bonus active: expected True or False, found 'Maybe'"),
    ("- x x x x x x x x x x - x 62 True 2 1 2 2 2 6", "chip: the Yahtzee box is not used"),
    ("- x x x x x x x x x x - x 101 False 2 1 2 2 2 6", "cannot bring an upper total of 101"),
    (
        "- x x x x x x x x x x - x -1 False 2 1 2 2 2 6",
        "upper total: expected a whole number of at most 9 digits, found '-1'",
    ),
    ("- x x x x x x x x x x - o 62 False 2 1 2 2 2 6", "marks: expected x for a used box and - for a free one"),
    ("- x x x x x x x x x x - x 62 False 4 1 2 2 2 6", "rerolls left: expected 0, 1, 2 or 3, found '4'"),
    ("x x x x x x x x x x x x x 62 False 2 1 2 2 2 6", "no box is free: the game is over"),
]


def test_lines() -> None:
    """Lines of the Haskell solver's protocol are answered one by one, bad ones with a reason; nothing crashes."""
    known = adviser("no-joker")
    for line, (verb, keep) in LINES:
        value, words = answer(line, known).split(" ", 1)
        assert words.startswith(verb)
        assert float(value) > 0
        assert keep is None or words == f"keep {' '.join(map(str, keep))}"
    extra_yahtzee = answer(LINES[-1][0], known)
    assert extra_yahtzee == "115.000000 score chance for 115"
    result = run("--lines", said="\n".join([line for line, _ in LINES + REFUSED]) + "\n")
    answers = result.stdout.splitlines()
    assert answers[: len(LINES)] == [answer(line, known) for line, _ in LINES]
    for number, (said, (_, reason)) in enumerate(zip(answers[len(LINES) :], REFUSED, strict=True), len(LINES) + 1):
        assert said.startswith(f"error: line {number}: ")
        assert reason in said
    assert (result.returncode, result.stderr) == (
        2,
        f"yahtzee-cluster: lines that could not be answered: {len(REFUSED)}\n",
    )
    assert run("--lines", said=LINES[0][0] + "\n").stdout == answers[0] + "\n"


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--dice", "222566", "--rolls-left", "1"], "dice: expected 5 faces from 1 to 6, found '222566'"),
        (["--used", "aces,aces", "--upper", "3"], "used: aces is named twice"),
        (["--used", "aces", "--upper", "6"], "cannot bring an upper total of 6"),
        (["--used", "aces"], "upper: say how many points the used upper categories hold"),
        (["--chip"], "chip: the Yahtzee box is not used"),
        (["--dice", "12345", "--rolls-left", "3"], "--rolls-left: invalid choice: 3"),
        (
            ["--used", "aces", "--upper", "3", "--score-so-far", "2"],
            "score so far: no game has 2 points here; the least is 3",
        ),
        (
            ["--used", "aces,deuces,treys,fours,fives,sixes", "--upper", "63", "--score-so-far", "63"],
            "score so far: no game has 63 points here; the least is 98",
        ),
        (["--used", "yahtzee", "--chip"], "score so far: no game has 0 points here; the least is 50"),
        (["--rolls-left", "2"], "dice: say which are on the table, with --dice"),
        (["--lines", "--beat", "250"], "lines: every line says its position"),
        (["--lines", "--json"], "leave out --json"),
        (["--lines", "--beat", "0"], "leave out --beat"),
        (["--lines", "--upper", "0"], "leave out --upper"),
        (["--lines", "--score-so-far", "0"], "leave out --score-so-far"),
        (["--lines", "--rolls-left", "0"], "leave out --rolls-left"),
        (["--lines", "--used", ""], "leave out --used"),
        (["--used", "aces,,deuces", "--upper", "3"], "used: no category ''; there are aces"),
        (["--used", "full-house", "--score-so-far", "3"], "score so far: no game has 3 points here; the nearest are 0"),
        (["--beat", "200", "--dice", "12345", "--cache", "1MB"], "cache: solving this from here takes"),
        (["--beat", "200", "--dice", "12345", "--threads", "0"], "threads: expected 1 to 1024, found 0"),
        (["--goal", "win", "--dice", "12345"], "goal: say against whom"),
        (["--beat", "200", "--goal", "expected"], "not allowed with argument"),
        (["--store", "nowhere"], "nowhere: holds no table"),
        (["--rules", "poker"], "no such rule set or file"),
    ],
)
def test_refusals(flags: list[str], complaint: str) -> None:
    """Positions that do not exist, and goals that cannot be judged, are refused in one line."""
    result = run(*flags)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1


def test_at_a_terminal() -> None:
    """On a narrow terminal lines are broken between words alone, and Ctrl-C at the prompt ends the line."""
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "yahtzee_cluster", "advise", "--rules", "yacht"]
    variables = os.environ | {"COLUMNS": "40", "TERM": "dumb"}
    with subprocess.Popen(
        line, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True
    ) as it:
        os.close(theirs)
        seen = b""
        while b"roll 1> " not in seen:
            seen += os.read(ours, 65536)
        end = b""
        for _ in range(60):  # readline does not notice a signal between its prompt and its first look at the keyboard
            it.send_signal(signal.SIGINT)
            if select.select([ours], [], [], 1)[0]:
                end = os.read(ours, 65536)
                break
        assert it.wait(60) == 130
    os.close(ours)
    assert b"\n" in end
    lines = seen.decode().partition("Playing for")[0].splitlines()
    assert max(map(len, lines)) <= 40
    free = " ".join(" ".join(lines).split()).partition("free: ")[2]
    assert free.split(", ") == [category.name for category in load_rules("yacht").categories]


def test_help() -> None:
    """The help has an example for each way to ask."""
    shown = " ".join(run("--help").stdout.split())
    for flag in ("--beat 250", "--dice 2,2,2,5,6", "--lines", "--json"):
        assert flag in shown


def test_small_rules_parse() -> None:
    """A game without upper bonus or chip can be advised on, too."""
    rules = parse_rules(SMALL["plain"], "plain")
    advice = Adviser(rules).advise(Position(Anchor(rules.all_free, 0, False), (1, 1, 3, 3, 6), 0))
    assert {one.move.category: one.move.points for one in advice} == {"any": 14, "pairs": 8, "low": 0}
