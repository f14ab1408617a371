"""A scorecard on the command line: it says what the flags for the state and the score would say."""

import json
from pathlib import Path
from typing import Any

import pytest
from in_process import command
from launch import compute, computed
from small_games import SMALL, utility

from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives.race import Race

FULL = ["--dice", "22256", "--rolls-left", "2", "--json"]
STATE = ["--used", "sixes,full-house,yahtzee", "--upper", "30", "--chip", "--score-so-far", "205"]
CARD = {"sixes": 30, "full-house": 25, "yahtzee": 50, "bonus": 100}


def answer(*arguments: object) -> dict[str, Any]:
    """What a command prints as JSON."""
    result = command(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return dict(json.loads(result.stdout))


def refusal(*arguments: object) -> str:
    """The one line of a refusal."""
    result = command(*arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
    return result.stderr.removeprefix("yahtzee-cluster: ").rstrip("\n")


@pytest.fixture(scope="module")
def rules_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small game as a rule file."""
    path = tmp_path_factory.mktemp("rules") / "free.toml"
    path.write_text(SMALL["free"])
    return path


def test_advise() -> None:
    """A card gives the advice that free boxes, upper total, chip and score so far give."""
    by_card = answer("advise", "--card", "fh=25,bonus=100, sixes=30,yahtzee=50", *FULL)
    assert by_card["card"] == CARD
    assert by_card | {"card": None} == answer("advise", *STATE, *FULL)
    assert by_card["score"] == 205


def test_a_game_goes_on() -> None:
    """At a terminal, a game goes on from a card."""
    result = command("advise", "--card", "fh=25,sixes=30,yahtzee=50,bonus=100", said="quit\n")
    assert result.stdout.startswith("205 points, 30 of them in upper boxes; free: aces, deuces, treys, fours, fives, ")
    assert result.stdout.endswith("\n205 points.\n")
    assert command("advise", *STATE, said="quit\n").stdout == result.stdout


def test_value(tmp_path: Path) -> None:
    """A table is asked by a card for what it has from the state on; a table of a utility takes the score from it."""
    table = computed(SMALL["free"], tmp_path / "maxprob")
    by_card = answer("value", "--store", table.path, "--card", "ones=5,five=11,house=0,bonus=18", "--need", 9, "--json")
    assert by_card.pop("card") == {"ones": 5, "house": 0, "five": 11, "bonus": 18}
    assert by_card.pop("score") == 34
    state = ["--used", "ones,house,five", "--upper", 5, "--chip"]
    assert by_card == answer("value", "--store", table.path, *state, "--need", 9, "--json")
    shown = command("value", "--store", table.path, "--card", "ones=5,five=11", "--need", 9).stdout
    assert shown.startswith("card           ones=5, five=11\nused           ones, five\n")

    compute(tmp_path / "utility", utility(table.rules, "power:2"), 0b11)
    by_card = answer("value", "--store", tmp_path / "utility", "--card", "ones=5,five=11,house=0,bonus=18", "--json")
    asked = answer("value", "--store", tmp_path / "utility", *state, "--score", 34, "--json")
    assert (by_card["worth"], by_card["score"]) == (asked["worth"], 34)
    asked = answer("value", "--store", tmp_path / "utility", *state, "--score", 25, "--json")
    assert by_card["worth"] != asked["worth"]


def test_value_of_two_players(tmp_path: Path) -> None:
    """Two cards tell the lead; one card and the state of the other player do not."""
    compute(tmp_path / "race", Race(parse_rules(SMALL["plain"], "plain")), 0b11)
    asked = ["value", "--json", "--store", tmp_path / "race"]
    by_cards = answer(*asked, "--card", "any=20", "--other-card", "low=3")
    assert (by_cards["other_card"], by_cards["other_score"], by_cards["lead"]) == ({"low": 3}, 3, 17)
    by_states = answer(*asked, "--used", "any", "--other-used", "low", "--lead", 17)
    assert by_cards["value"] == by_states["value"]
    assert by_cards["value"] != answer(*asked, "--used", "low", "--other-used", "any", "--lead", -17)["value"]
    begun = answer(*asked, "--card", "any=20")  # the second player has not begun
    assert (begun["lead"], begun["value"]) == (20, answer(*asked, "--used", "any", "--lead", 20)["value"])
    half = [*asked, "--card", "any=20", "--other-used", "low"]
    assert refusal(*half) == "lead: say how many points the first player is ahead, with --lead; behind is below 0"
    assert answer(*half, "--lead", 17)["value"] == by_cards["value"]
    for flags, reason in (
        (["--card", "any=20", "--other-card", "low=3", "--lead", 17], "card: tells the lead; leave out --lead"),
        (["--other-card", "low=4"], "other-card: low: no roll scores 4 there; it can hold 0 or 3"),
        (
            ["--other-card", "low=3", "--other-used", "low"],
            "other-card: tells all that is used; leave out --other-used",
        ),
        (["--card", "any=20,low=3"], "the second player has used as many boxes as the first, or one less"),
    ):
        assert reason in refusal(*asked, *flags)


def test_statistics(rules_file: Path) -> None:
    """The statistics from a card on are those from its state on."""
    asked = ["statistics", "--rules", rules_file, "--json"]
    state = ["--used", "ones,five", "--upper", 5, "--chip"]
    assert answer(*asked, "--card", "ones=5,five=11,bonus=9") == answer(*asked, *state)
    assert answer(*asked, "--card", "ones=5,five=0") != answer(*asked, *state)


def test_the_rest_of_a_game(rules_file: Path, tmp_path: Path) -> None:
    """The rules of the rest of a game take the scorecards of the whole game that play leads to, and no others."""
    rest = tmp_path / "rest.toml"
    rest.write_text(rules_file.read_text() + '[from]\nused = ["ones"]\nupper = 5\n')
    by_card = answer("advise", "--rules", rest, "--card", "ones=5,five=11,house=5,bonus=9", *FULL)
    state = ["--used", "ones,house,five", "--upper", 5, "--chip", "--score-so-far", 30]
    by_state = answer("advise", "--rules", rules_file, *state, *FULL)
    assert (by_card["score"], by_card["moves"]) == (30, by_state["moves"])
    assert by_card["card"] == {"ones": 5, "house": 5, "five": 11, "bonus": 9}
    asked = ["advise", "--rules", rest, *FULL, "--card"]
    assert refusal(*asked, "five=11").startswith("card: the scorecard is none that play can lead to")
    assert refusal(*asked, "ones=3,twos=4").startswith("card: upper: this table begins with other points")

    rest.write_text(rules_file.read_text() + '[from]\nused = ["ones", "five"]\nupper = 5\nchip = true\n')
    assert answer(*asked, "ones=5,five=11,house=5,bonus=9")["score"] == 30
    assert refusal("advise", "--rules", rest, *FULL).startswith("card: these are the rules of the rest of a game")


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--card", "fh=24"], "card: full-house: no roll scores 24 there; it can hold 0 or 25"),
        (["--card", "aces"], "card: expected entries such as chance=20, separated by commas, found 'aces'"),
        (["--card", "fulhouse=25"], "card: box: no box 'fulhouse'; did you mean full-house?"),
        (["--card", "", "--used", ""], "card: tells all that is used; leave out --used"),
        (["--card", "aces=3", "--upper", "3"], "card: tells all that is used; leave out --upper"),
        (["--card", "aces=3", "--chip"], "card: tells all that is used; leave out --chip"),
        (["--card", "aces=3", "--score-so-far", "3"], "card: tells the score; leave out --score-so-far"),
        (["--card", "aces=3", "--lines"], "lines: every line says its position, and all are played for the same"),
    ],
)
def test_refused_cards(flags: list[str], reason: str) -> None:
    """A card that no game has is refused with the reason, and so is one beside flags that say the same again."""
    assert refusal("advise", *flags).startswith(reason)


def test_flags_of_other_tables(rules_file: Path, tmp_path: Path) -> None:
    """A card beside a number that it tells, and a second card in a table of one player, are refused."""
    compute(tmp_path / "utility", utility(parse_rules(rules_file.read_text(), "free"), "power:2"), 0b11)
    asked = ["value", "--store", tmp_path / "utility"]
    assert refusal(*asked, "--card", "ones=3", "--score", 3) == "card: tells the score; leave out --score"
    assert refusal(*asked, "--other-card", "ones=3").endswith("utility: holds utility; leave out --other-card")
