"""The companion at the terminal: keeps, costs, the scorecard, saving and the review."""

import os
import re
from pathlib import Path

import pytest

from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.card_view import in_columns
from yahtzee_cluster.play.conversation import Conversation
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.record import parse_record

YAHTZEE = Adviser(load_rules("yahtzee"))
LATE = "deuces=6,treys=9,fours=12,fives=15,sixes=18,3k=20,4k=22,fh=25,ss=30,ls=40,yahtzee=50,chance=22"


def companion(card: str = "", goal: Goal = MEAN) -> Conversation:
    return Conversation(YAHTZEE, Position.of(parse_scorecard(card, YAHTZEE.rules)), goal, seed=1)


def test_only_the_dice_rolled_again() -> None:
    """What was kept lies there still; all five faces are understood as well."""
    talk = companion()
    talk.hear("22256")
    assert talk.hear("k222") == "keep 2 2 2: 257.7066 expected. That is the best."
    assert talk.prompt == "turn 1, roll 2, 2 dice> "
    talk.hear("3 6")
    assert talk.state.position.roll == (2, 2, 2, 3, 6)
    costs = "keep 2 2: 245.9720 expected. That costs 6.11; best was keep 2 2 2. `undo` takes it back."
    assert talk.hear("keep 2 2") == costs
    talk.hear("11223")
    assert talk.state.position.roll == (1, 1, 2, 2, 3)
    assert talk.hear("k 1").startswith("no roll is left: say where to score the dice")
    talk.hear("undo")
    assert talk.state.kept == (2, 2)
    assert talk.hear("34566").startswith("dice: 2 2 were kept, found 3 4 5 6 6")
    assert talk.hear("12").startswith("dice: expected those rolled, 3 in number, or all 5; found '12'")
    assert talk.hear("12345").startswith("dice: 2 2 were kept, found 1 2 3 4 5")
    assert talk.hear("fh").startswith("say first what the other dice show, or `roll` them")
    assert talk.hear("dist").startswith("say first what the other dice show")
    for _ in range(2):
        talk.hear("undo")
    assert talk.prompt == "turn 1, roll 2, 2 dice> "
    assert talk.hear("k 3").startswith("say first what the other dice show")
    for _ in range(2):
        talk.hear("undo")
    assert talk.hear("k 3").startswith("no dice are on the table yet: say what they show, or `roll` them")
    assert talk.hear("66").startswith("dice: expected 5 faces from 1 to 6, found '66'")


def test_goals_while_dice_are_kept() -> None:
    """Another goal, an empty line and `undo` tell what these dice are worth; `all` still shows all moves."""
    talk = companion(LATE)
    for line in ("11134", "k 111"):
        talk.hear(line)
    assert talk.hear("goal").startswith("goal: say which, as in goal reach 250; now it is the highest expected score")
    kept = talk.hear("goal reach:308")
    found = re.fullmatch(r"keep 1 1 1: (\d+\.\d{4} %) of reaching it\. That is the best\.", kept)
    assert found
    assert talk.hear("") == kept
    assert talk.hear("all").splitlines()[1].endswith(f" {found[1]}")
    assert talk.hear("goal mean") == talk.hear("") != kept
    talk.hear("undo")
    talk.hear("undo")
    talk.hear("undo")
    talk.hear("k 4")
    before = talk.state
    answer = talk.hear("goal reach:308")
    assert answer.startswith("keep 4: ")
    assert "% of reaching it. That costs " in answer
    assert " %; best was keep 1 1 1. `undo` takes it back." in answer
    talk.hear("undo")
    assert talk.state == before


def test_rolling() -> None:
    """The program rolls if asked to: all dice, or those that were not kept, the same for the same seed."""
    talk, same = companion(), companion()
    first = talk.hear("roll").splitlines()[0]
    assert first == same.hear("roll").splitlines()[0]
    assert talk.hear("roll").startswith("roll: say first what you keep")
    dice = first.split()
    talk.hear(f"k {dice[0]}")
    assert talk.hear("roll").split("\n")[0].split().count(dice[0]) >= 1
    talk.hear("k all")
    assert talk.state.position.rolls_left == 0


def test_costs() -> None:
    """A box that is not the best is answered with what it costs, also where rolls were left."""
    talk = companion()
    talk.hear("12346")
    answer = talk.hear("3")
    assert answer.startswith("treys: 3 points. That costs ")
    assert "; best was keep 1 2 3 4. `undo` takes it back.\n" in answer
    talk.hear("undo")
    talk.hear("k 1234")
    talk.hear("6")
    talk.hear("k all")
    assert talk.hear("ss").startswith("small-straight: 30 points.\n")


def test_bonuses_are_told_apart() -> None:
    """What the box holds, a further Yahtzee, and the upper bonus."""
    talk = companion(LATE.replace("treys=9,", "aces=3,"))
    talk.hear("33333")
    answer = talk.hear("3")
    assert answer.startswith("treys: 15 points, and 100 for a further yahtzee, and 35 upper bonus.")


def test_all_dice() -> None:
    """Keeping all dice is said to be the same as scoring them."""
    assert "To keep all dice comes to the same as to score yahtzee at once." in companion().hear("66666")
    assert "comes to the same" not in companion().hear("22256")


def test_the_end(tmp_path: Path) -> None:
    """Scorecard and review are shown, the last box can be taken back, and the game is written and read."""
    talk = companion(LATE)
    talk.hear("11134")
    talk.hear("k 111")
    talk.hear("25")
    talk.hear("k 111")
    talk.hear("22")
    answer = talk.hear("aces")
    assert "The game is over: 307 points." in answer
    assert "upper bonus         35" in answer
    assert "total              307" in answer
    assert "\nloss                0.0000\n" in f"{answer}\n"
    assert talk.prompt == "game over> "
    file = tmp_path / "game.txt"
    assert talk.hear(f"save {file}") == f"{file} has 1 turn."
    record = parse_record(file.read_text())
    assert record.text.endswith("\n\n11134 keep 111, 11125 keep 111, 11122 aces\n")
    talk.hear("undo")
    assert talk.prompt == "turn 13, box> "
    assert "The game is over: 307 points." in talk.hear(f"load {file}")
    talk.hear("undo")
    assert talk.hear(f"load {tmp_path}").startswith(f"{tmp_path}: cannot be read")
    assert talk.hear("load").startswith("load: name a file")
    assert talk.hear("save").startswith("save: name a file")
    os.mkfifo(tmp_path / "pipe")
    assert talk.hear(f"save {tmp_path / 'pipe'}").startswith(
        f"save: {tmp_path / 'pipe'} cannot be written: it is no file"
    )
    assert talk.hear("save /nowhere/x").startswith("save: /nowhere/x cannot be written: No such")
    file.write_text("rules: yatzy\n")
    assert talk.hear(f"load {file}").startswith(f"load: {file} is a game of yatzy")


def test_review_and_distribution() -> None:
    """At any moment of a game."""
    talk = companion(LATE)
    shown = talk.hear("dist").splitlines()
    assert shown[0].split() == ["percentile", "score"]
    assert talk.hear("review").startswith("review: no turn is over yet")
    talk.hear("12345")
    talk.hear("1")
    reviewed = talk.hear("review")
    assert "luck" in reviewed
    assert re.search(r"turn 13, 1 2 3 4 5, .*; best was keep 1", reviewed)
    assert "the game is over" in talk.hear("dist")


def test_where_boxes_are_not_known() -> None:
    """Nothing is reviewed or written there, but advice goes on."""
    talk = Conversation(YAHTZEE, Position(Anchor(0b11, 30, False), score=130), MEAN)
    assert talk.hear("review").startswith("review: only of a game whose boxes are all known")
    assert talk.hear("save x").startswith("save: nothing tells what is in the boxes")
    assert "free: aces, deuces" in talk.hear("card")
    talk.hear("11122")
    assert talk.hear("1").startswith("aces: 3 points.")


@pytest.mark.parametrize(
    ("game", "card", "rows"),
    [
        ("yahtzee", "aces=3,yahtzee=50,bonus=100,sixes=30", [
            "aces                 3                  three-of-a-kind      .",
            "upper bonus          .  (30 missing)    extra bonuses      100",
            "total              183",
        ]),
        ("yacht", "1=2,yacht=50", [
            "aces                 2    four-of-a-kind       .",
            "sixes                .    chance               .",
            "total               52",
        ]),
    ],
)  # fmt: skip
def test_scorecard(game: str, card: str, rows: list[str]) -> None:
    """In two columns, with what is missing for the bonus."""
    shown = in_columns(parse_scorecard(card, load_rules(game)))
    for row in rows:
        assert row in shown
    assert all(len(line) <= 64 for line in shown)
