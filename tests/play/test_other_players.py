"""Advice at a terminal with other players: their boxes are typed as well, and the goal is to win."""

from dataclasses import replace

import pytest

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import MEAN, WIN
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.conversation import Conversation
from yahtzee_cluster.play.position import Position, Standing
from yahtzee_cluster.play.wording import listing

MINE = "1=2, 2=6, 3=9, 4=12, 5=15, 6=18, 4k=0, fh=23, ls=30, bs=0"
THEIRS = "1=1, 2=4, 3=9, 4=12, 5=20, 6=18, 4k=0, fh=19, ls=30, yacht=0"
SECOND = "1=1, 2=4, 3=9, 4=12, 5=20, 6=18, 4k=0, fh=19, ls=30, bs=30, chance=20"
YACHT = load_rules("yacht")


def position(mine: str, *others: str) -> Position:
    """A position of Yacht before the first roll."""
    cards = tuple(Standing.of(parse_scorecard(card, YACHT)) for card in others)
    return replace(Position.of(parse_scorecard(mine, YACHT)), others=cards)


def test_a_game_of_two() -> None:
    """After a box it is the other player's turn; every answer is that for the position as it is then."""
    adviser = Adviser(YACHT)
    talk = Conversation(adviser, position(MINE, THEIRS), WIN)
    assert "to win" in talk.advice()
    thrown = replace(position(MINE, THEIRS), roll=(1, 5, 5, 5, 6), rolls_left=2)
    assert talk.hear("55516") == listing(adviser.advise(thrown, WIN), WIN, 5)
    talk.hear("55566")
    talk.hear("55566")
    assert talk.prompt == "turn 11, box> "
    assert talk.hear("chance").endswith("The other player is to move: say which box is filled, as in full-house=25.")
    assert talk.prompt == "the other player, box> "
    for wrong, complaint in (
        ("bs=1", "big-straight: no roll scores 1 there; it can hold 0 or 30"),
        ("fh 3", "full-house is named twice"),
        ("bs=30,chance=20", "expected one box and its points, as in full-house=25"),
        ("22256", "expected entries such as chance=20"),
        ("", "The other player is to move"),
        ("all", "The other player is to move"),
    ):
        assert complaint in talk.hear(wrong)
    after = position(f"{MINE}, chance=27", f"{THEIRS}, bs=30")
    best = adviser.advise(after, WIN)[0]
    assert f"{100 * (best.p or 0):.4f} % to win" in talk.hear("bs 30")
    assert talk.state.position == after
    assert "The other player is to move" in talk.hear("undo")
    talk.hear("big-straight = 0")
    assert talk.state.position.others[0].score == 113
    assert not talk.state.is_over
    for line in ("11111", "yacht"):
        talk.hear(line)
    assert not talk.state.is_over
    assert talk.hear("chance=20") == "The game is over: 192 points, the other player has 133."
    assert talk.state.is_over


def test_three_players() -> None:
    """The others move in their order; those who began before have one box less, and no turn at the end."""
    adviser = Adviser(YACHT)
    talk = Conversation(adviser, position(MINE, THEIRS, SECOND), WIN)
    talk.hear("66656")
    assert "Player 2 is to move" in talk.hear("chance")
    assert talk.prompt == "player 2, box> "
    assert "Player 3 is to move" in talk.hear("bs=30")
    last = position(f"{MINE}, chance=29", f"{THEIRS}, bs=30", f"{SECOND}, yacht=0")
    assert f"{100 * (adviser.advise(last, WIN)[0].p or 0):.4f} % to win" in talk.hear("yacht=0")
    assert talk.state.position == last
    talk.hear("66656")
    assert "Player 2 is to move" in talk.hear("yacht")
    assert talk.hear("chance=9") == "The game is over: 144 points, player 2 has 152, player 3 has 163."


def test_other_goals() -> None:
    """Another goal may be played for as well, and the others go on."""
    adviser = Adviser(YACHT)
    talk = Conversation(adviser, position(MINE, THEIRS), MEAN)
    thrown = replace(position(MINE, THEIRS), roll=(5, 6, 6, 6, 6), rolls_left=2)
    assert talk.hear("66656") == listing(adviser.advise(thrown, MEAN), MEAN, 5)
    talk.hear("chance")
    assert "expected" in talk.hear("bs=0")


def test_cards_that_do_not_go_together() -> None:
    """Others with too many free boxes are refused before the first roll."""
    talk = Conversation(Adviser(YACHT), position(MINE, ""), WIN)
    with pytest.raises(UsageError, match="others: whoever plays before the player to move"):
        talk.advice()
