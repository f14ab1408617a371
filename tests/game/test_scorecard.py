"""Scorecards as people write them: which ones there are, what they say, and how they go on."""

import doctest
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import SMALL, THREE_ABOVE

import yahtzee_cluster as yc
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference, scorecard
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import ROLLS, Keep
from yahtzee_cluster.game.possible_scores import check_score
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names
from yahtzee_cluster.game.rules import Anchor, Category, Joker, Play, Rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.play.advice import Adviser

# The extra bonus is as much as a box, so that the sum does not tell a bonus from a box that is filled.
ALIKE = """
    name = "alike"
    upper_threshold = 4
    upper_bonus = 5
    extra_bonus = 5
    joker = "free"
    yahtzee = "five"
    [[category]]
    name = "five"
    groups = [5]
    points = "sum"
    [[category]]
    name = "ones"
    face = 1
    [[category]]
    name = "long"
    run = 5
    points = 5
    joker = true
    [[category]]
    name = "low"
    faces = [1, 2]
    points = 5
"""
# Several upper boxes of a face, and a lower box that is worth nothing to a joker.
TWICE = """
    name = "twice"
    upper_threshold = 12
    upper_bonus = 3
    extra_bonus = 2
    joker = "forced"
    yahtzee = "five"
    [[category]]
    name = "five"
    groups = [5]
    points = 1
    [[category]]
    name = "twos"
    face = 2
    [[category]]
    name = "more twos"
    face = 2
    [[category]]
    name = "sixes"
    face = 6
    [[category]]
    name = "long"
    run = 5
    points = 4
"""
GAMES = {**SMALL, "three above": THREE_ABOVE, "alike": ALIKE, "twice": TWICE}

Card = tuple[tuple[int | None, ...], int]
"""The points in every box, and the number of extra bonuses."""


def all_cards(rules: Rules) -> dict[Card, tuple[reference.Anchor, int]]:
    """Every scorecard between turns that some game has, with the state and the score there, by playing all games."""
    found: dict[Card, tuple[reference.Anchor, int]] = {}
    layer: dict[Card, tuple[reference.Anchor, int]] = {
        ((None,) * len(rules.categories), 0): ((rules.all_free, 0, False), 0)
    }
    plays = {}
    while layer:
        found |= layer
        before, layer = layer, {}
        for (held, bonuses), ((free, upper, chip), score) in before.items():
            if (free, chip) not in plays:
                plays[free, chip] = {play for roll in ROLLS for play in rules.plays(free, chip, roll)}
            for play in plays[free, chip]:
                state, points = reference.after(rules, free, upper, play)
                extra = rules.extra_bonus if play.extra else 0
                boxes = (*held[: play.category], play.points - extra, *held[play.category + 1 :])
                card = boxes, bonuses + bool(extra)
                reached = state, score + points
                assert layer.setdefault(card, reached) == reached
    return found


def scorecard_or_none(rules: Rules, points: tuple[int | None, ...], bonuses: int) -> Scorecard | None:
    """The scorecard, if there is one."""
    try:
        return Scorecard(rules, points, bonuses)
    except UsageError:
        return None


def assert_exact(rules: Rules) -> None:
    """Of all points and extra bonuses, those are accepted that some game has, with the state and the score there."""
    cards = all_cards(rules)
    held = [{points[box] for points, _ in cards} for box in range(len(rules.categories))]
    accepted = {}
    for points in product(*held):
        for bonuses in range(-1, len(rules.categories) + 1):
            if card := scorecard_or_none(rules, points, bonuses):
                anchor = card.anchor
                accepted[points, bonuses] = (anchor.free, anchor.upper, anchor.chip), card.score
    assert accepted == cards
    for box, possible in enumerate(held):
        for number in set(range(-1, 40)) - possible:
            alone = tuple(number if other == box else None for other in range(len(held)))
            assert scorecard_or_none(rules, alone, 0) is None


@pytest.mark.parametrize("joker", get_args(Joker))
@pytest.mark.parametrize("name", sorted(GAMES))
def test_all_games_of_small_rule_sets(name: str, joker: Joker) -> None:
    """In every small game, under each joker rule, the scorecards that are accepted are those that some game has."""
    rules = parse_rules(GAMES[name], name)
    assert_exact(replace(rules, joker=joker) if rules.yahtzee else rules)


def random_rules(random: Random) -> Rules:
    """A game of a Yahtzee box and two or three others, under any joker rule."""
    kinds = [
        Category("", "matching", face=random.choice((1, 2, 6))),
        Category("", "matching", face=random.choice((1, 2, 6))),
        Category("", random.choice((0, 3, 5)), run=5, joker=random.random() < 0.7),
        Category("", 4, faces=(1, 2, 3), joker=True),
        Category("", random.choice((2, "matching")), groups=random.choice(((5,), (3, 2))), distinct=False),
    ]
    boxes = [Category("", random.choice((0, 1, 5, "sum")), groups=(5,)), *random.sample(kinds, random.randrange(2, 4))]
    boxes = [replace(box, name=f"box {number}") for number, box in enumerate(boxes)]
    threshold = random.randrange(5 * sum(box.face or 0 for box in boxes) + 1)
    return Rules(
        name="random",
        categories=tuple(random.sample(boxes, len(boxes))),
        upper_threshold=threshold,
        upper_bonus=5 if threshold else 0,
        extra_bonus=random.choice((0, 1, 5, 5)),
        joker=random.choice(get_args(Joker)),
        yahtzee="box 0",
    )


@pytest.mark.parametrize("seed", range(40))
def test_all_games_of_random_rule_sets(seed: int) -> None:
    """In a random game, too, the scorecards that are accepted are those that some game has."""
    assert_exact(random_rules(Random(seed)))


class Turn(NamedTuple):
    """A turn of a game: what was played, and the judge's state and score afterwards."""

    card: Scorecard
    anchor: reference.Anchor
    score: int
    play: Play
    roll: Keep


def turns(rules: Rules, random: Random) -> Iterator[Turn]:
    """A game by lot, with many Yahtzees."""
    card, anchor, score = parse_scorecard("", rules), (rules.all_free, 0, False), 0
    while anchor[0]:
        roll = random.choice(ROLLS) if random.random() < 0.4 else (random.randrange(1, 7),) * 5
        play = random.choice(rules.plays(anchor[0], anchor[2], roll))
        anchor, points = reference.after(rules, anchor[0], anchor[1], play)
        card, score = card.play(play.category, roll), score + points
        yield Turn(card, anchor, score, play, roll)


@pytest.mark.parametrize("name", preset_names())
def test_games_by_lot(name: str) -> None:
    """After every turn of a game the scorecard says what the judge counts, and is read from its text and its dict."""
    rules, random = load_rules(name), Random(name)
    anchors = Anchors(rules)
    for _ in range(12):
        for card, anchor, score, _, _ in turns(rules, random):
            assert (card.anchor, card.score) == (Anchor(*anchor), score)
            anchors.reachable(card.anchor)
            check_score(anchors, card.anchor, card.score)
            assert parse_scorecard(card.text, rules) == card
            assert Scorecard.of(rules, json.loads(json.dumps(card.as_dict()))) == card


def test_refused_plays() -> None:
    """What the adviser refuses to score, a scorecard refuses with the same words."""
    rules = load_rules("forced-joker")
    card, adviser = parse_scorecard("yahtzee=50,aces=3", rules), Adviser(rules)
    boxes = [category.name for category in rules.categories]
    for category, roll, reason in (
        (boxes.index("full-house"), (4, 4, 4, 4, 4), "full-house is not open to this roll while another box"),
        (0, (1, 2, 3, 4, 5), "aces is used"),
        (13, (1, 2, 3, 4, 5), "expected 0 to 12, found 13"),
        (-1, (1, 2, 3, 4, 5), "expected 0 to 12, found -1"),
        (1, (1, 2, 3, 4), "expected 5 faces from 1 to 6"),
    ):
        with pytest.raises(UsageError, match=reason) as refusal:
            card.play(category, roll)
        with pytest.raises(UsageError, match=re.escape(str(refusal.value))):
            adviser.score(card.anchor, roll, category)
    assert card.play(boxes.index("full-house"), (1, 1, 1, 1, 1)).text == "aces=3,full-house=25,yahtzee=50,bonus=100"


@pytest.mark.parametrize("name", ["yahtzee", "forced-joker", "kniffel", "yacht"])
def test_the_rest_of_a_game(name: str) -> None:
    """Later in a game, a scorecard has the anchor and the score in the rest of it that the rest alone comes to.

    Where extra bonuses may have been paid before, it does not tell the score.
    """
    rules, random = load_rules(name), Random(name)
    told = []
    for _ in range(40):
        begins, game = random.randrange(1, len(rules.categories)), list(turns(rules, random))
        begun = game[begins - 1].card
        rest, state, score = rest_of(rules, begun.anchor), (0, 0, False), 0
        names = [category.name for category in rest.categories]
        state = (rest.all_free, 0, False)
        for turn in game[begins:]:
            category = names.index(rules.categories[turn.play.category].name)
            (play,) = (play for play in rest.plays(state[0], state[2], turn.roll) if play.category == category)
            state, points = reference.after(rest, state[0], state[1], play)
            score += points
            anchor, since = turn.card.since(rest)
            assert anchor == Anchor(*state)
            assert since == (None if begun.anchor.chip and turn.card.bonuses else score)
            assert parse_scorecard(turn.card.text, rest) == turn.card
            told.append(since is not None)
    assert any(told)
    assert all(told) == (name in {"kniffel", "yacht"})


def test_cards_of_other_games() -> None:
    """A scorecard that the rest of a game cannot come to is refused, whether its bonus was decided before or not."""
    rules = load_rules("yahtzee")
    begun = parse_scorecard("aces=3,deuces=4,yahtzee=0", rules)
    rest = rest_of(rules, begun.anchor)
    assert parse_scorecard("aces=1,deuces=6,yahtzee=0,chance=9", rules).since(rest) == (Anchor(0b0111111111, 0), 9)
    for text, reason in (
        ("aces=3,deuces=4", "none that play can lead to"),
        ("aces=3,deuces=4,yahtzee=50", "none that play can lead to"),
        ("aces=3,deuces=2,yahtzee=0,treys=3", "begins with other points in the upper boxes"),
    ):
        with pytest.raises(UsageError, match=reason):
            parse_scorecard(text, rules).since(rest)
    upper = "aces=0,deuces=0,treys=0,fours=0,fives=0"
    lost = rest_of(rules, Anchor(parse_scorecard(upper, rules).anchor.free, None))
    assert parse_scorecard(f"{upper},sixes=30,chance=9", rules).since(lost) == (Anchor(0b01111110, None), 39)
    with pytest.raises(UsageError, match="begins with other points"):
        parse_scorecard("aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=30", rules).since(lost)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", ""),
        (" ", ""),
        ("aces=3,full-house=25", "aces=3,full-house=25"),
        (" FH = 25 , 1=3,\tbonus = 0\n", "aces=3,full-house=25"),
        ("3k=0,ss=30,y=50,6s=30,Bonus=100", "sixes=30,three-of-a-kind=0,small-straight=30,yahtzee=50,bonus=100"),
        ("aces=003", "aces=3"),
    ],
)
def test_reading(text: str, meant: str) -> None:
    """Boxes are found by any of their names, in any order; blanks do not count, and nothing is an empty scorecard."""
    assert parse_scorecard(text, load_rules("yahtzee")).text == meant


REFUSED = {
    "aces": "expected entries such as chance=20, separated by commas, found 'aces'",
    "aces=3,": "expected entries such as chance=20, separated by commas, found ''",
    '"aces=3': "expected entries such as chance=20, separated by commas, found '\"aces=3'",
    "aces=3\n\ndeuces=4": "expected entries such as chance=20, separated by commas, found",
    "aces=": "aces: expected a whole number from 0 to 1000000, found ''",
    "aces=-1": "aces: expected a whole number from 0 to 1000000, found '-1'",
    "aces=2.0": "aces: expected a whole number from 0 to 1000000, found '2.0'",
    "aces=\u0663": "aces: expected a whole number from 0 to 1000000, found '\u0663'",
    "aces=" + "9" * 5000: "aces: expected a whole number from 0 to 1000000, found '9999",
    "aces=3,1=3": "aces is named twice",
    "bonus=0,bonus=0": "bonus is named twice",
    "=3": "box: no box ''; there are aces",
    "fulhouse=25": "box: no box 'fulhouse'; did you mean full-house?",
    "bouns=100": "box: no box 'bouns'; did you mean bonus?",
    "f=4": "box: 'f' may be any of fours, fives, four-of-a-kind, full-house",
    "full-house=24": "full-house: no roll scores 24 there; it can hold 0 or 25",
    "aces=6": "aces: no roll scores 6 there; it can hold 0 to 5",
    "deuces=3": "deuces: no roll scores 3 there; it can hold 0, 2, 4, 6, 8 or 10",
    "3k=4": "three-of-a-kind: no roll scores 4 there; it can hold 0 or 5 to 30",
    "chance=0": "chance: no roll scores 0 there; it can hold 5 to 30",
    "yahtzee=150": "yahtzee: no roll scores 150 there; it can hold 0 or 50",
    "bonus=100": "bonus: it is paid only after yahtzee has brought points, and yahtzee is free",
    "aces=5,yahtzee=0,bonus=100": "bonus: it is paid only after yahtzee has brought points, and yahtzee holds 0",
    "yahtzee=50,bonus=100": "bonus: expected at most 0, because further Yahtzees can have filled no other box; found",
    "aces=5,deuces=4,chance=20,yahtzee=50,bonus=300": "bonus: expected at most 200, because further Yahtzees can "
    "have filled only aces, chance; found 300",
    "yahtzee=50,aces=5,bonus=50": "bonus: expected a multiple of 100, found 50",
    "yahtzee=50,aces=5,bonus=135": "bonus: expected a multiple of 100, found 135; the upper bonus of 35 is not "
    "written, because it follows from the upper boxes",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused_cards(text: str) -> None:
    """What no game has is refused with the reason, and what cannot be read with what was expected, in one line."""
    with pytest.raises(UsageError) as refusal:
        parse_scorecard(text, load_rules("yahtzee"))
    message = str(refusal.value)
    assert message.startswith(REFUSED[text])
    assert len(message) < 250
    assert "\n" not in message
    assert ("upper bonus" in message) == ("135" in text)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("kniffel", "yahtzee=50,bonus=35", "this game pays no extra bonus; the upper bonus of 35 is not written"),
        ("yacht", "yacht=50,bonus=50", "bonus: this game pays no extra bonus$"),
        ("forced-joker", "full-house=0,yahtzee=50,bonus=100", "can have filled no other box; found 100"),
        ("forced-joker", "full-house=25,aces=0,yahtzee=50,bonus=200", "can have filled only full-house; found 200"),
        ("no-joker", "full-house=25,yahtzee=50,bonus=100", "can have filled no other box; found 100"),
    ],
)
def test_rules_decide(name: str, text: str, reason: str) -> None:
    """Which extra bonuses there can be depends on the joker rule, and the upper bonus is none of them in any game."""
    with pytest.raises(UsageError, match=reason):
        parse_scorecard(text, load_rules(name))


def test_zeros_of_jokers() -> None:
    """With a free joker, a zero in the full house may be five of a kind whose own box was free, paid its bonus."""
    assert parse_scorecard("full-house=0,yahtzee=50,bonus=100", load_rules("yahtzee")).score == 150


@pytest.mark.parametrize("points", [{"aces": True}, {"aces": 3.0}, {"aces": None}, {"aces": "3"}, {3: 3}, {"": 1}])
def test_refused_mappings(points: dict[str, int]) -> None:
    """From Python, too, points are whole numbers and boxes have names."""
    with pytest.raises(UsageError, match=r"expected a whole number|expected a name|no box"):
        Scorecard.of(load_rules("yahtzee"), points)


def test_names_of_all_kinds() -> None:
    """Boxes may be called like the bonus, like each other but for signs, or with the signs that divide a text."""
    names = ["bonus", "two, three", 'a "b"', "x=1", "x-1", "x1", " blank", "blank", "+", "-"]
    boxes = tuple(Category(name, "sum") for name in names)
    rules = Rules("odd", (*boxes, Category("five", 50, groups=(5,))), extra_bonus=10, yahtzee="five")
    card = Scorecard(rules, (*range(5, 15), 50), 2)
    assert card.text == (
        'bonus=5,"two, three=6","a ""b""=7",x=1=8,x-1=9,x1=10," blank=11",blank=12,+=13,-=14,five=50,extra-bonus=20'
    )
    assert parse_scorecard(card.text, rules) == Scorecard.of(rules, card.as_dict()) == card
    assert card.score == sum(range(5, 15)) + 50 + 20


def card_or_refusal(text: str) -> Scorecard | str:
    """The scorecard, or the one line that refuses it; anything else that is raised fails the test."""
    try:
        return parse_scorecard(text, load_rules("yahtzee"))
    except UsageError as error:
        return str(error)


@given(st.text(st.sampled_from('acesfh=," 0123456789\n\x00')) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text fails in any other way than by being refused in one line."""
    card = card_or_refusal(text)
    assert "\n" not in card if isinstance(card, str) else parse_scorecard(card.text, card.rules) == card


def test_reading_is_fast() -> None:
    """Reading and checking the scorecards of a stream of positions takes less than 0.2 ms each, once warm."""
    rules, random = load_rules("yahtzee"), Random(1)
    texts = [turn.card.text for _ in range(50) for turn in turns(rules, random)]
    assert sum("bonus" in text for text in texts) > 100
    for text in texts:
        parse_scorecard(text, rules)
    began = time.process_time()
    for text in texts:
        card = parse_scorecard(text, rules)
        assert card.score >= (card.anchor.upper or 0)
    assert time.process_time() - began < 0.0002 * len(texts)


def test_examples() -> None:
    """The examples in the docstrings print what they show."""
    tried = doctest.testmod(scorecard, extraglobs={"yc": yc})
    assert tried.attempted > 5
    assert tried.failed == 0
