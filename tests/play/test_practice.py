"""Positions to practise: how they are drawn, how answers are judged, and what a score says."""

import json
from collections import Counter, defaultdict
from functools import cache
from random import Random

import numpy as np
import pytest
from positions import judged as tried_out
from positions import rest_of
from small_games import SMALL, TWO_BOXES

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.notation import find_box, parse_move
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted, decision_of
from yahtzee_cluster.play.judgement import judge
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.practice import Exercise, Marks, draw, judged, people, rated, share_wrong, taken

YAHTZEE = Adviser(load_rules("yahtzee"))
ONE_BOX = """
    name = "one box"
    [[category]]
    name = "twos"
    face = 2
"""
LATE = "deuces=6,treys=9,fours=12,fives=15,sixes=18,3k=20,4k=22,fh=25,ss=30,ls=40,yahtzee=50"


@cache
def adviser_of(name: str) -> Adviser:
    return Adviser(parse_rules(SMALL[name], name) if name in SMALL else load_rules(name))


@cache
def fifty() -> tuple[Exercise, ...]:
    return draw(YAHTZEE, MEAN, 50, 1)


def exercise(card: str, dice: tuple[int, ...], rolls_left: int) -> Exercise:
    return Exercise(parse_scorecard(card, YAHTZEE.rules), dice, rolls_left)


@pytest.mark.parametrize("name", ["yahtzee", *sorted(SMALL)])
def test_drawn_positions(name: str) -> None:
    """They are positions of the game in which somebody goes wrong, all different, and the same for the same seed."""
    adviser = adviser_of(name)
    drawn = draw(adviser, MEAN, 8, 7)
    assert drawn[:4] == draw(adviser, MEAN, 4, 7)
    assert {*drawn[:4]} != {*draw(adviser, MEAN, 4, 8)}
    assert len({one.position for one in drawn}) == 8
    asked = people(adviser)
    for one in drawn:
        adviser.anchors.reachable(one.position.anchor)
        assert Exercise.from_dict(json.loads(json.dumps(one.to_dict())), adviser.rules) == one
        assert share_wrong(adviser, MEAN, one, asked) > 0
    assert not {*drawn} & {*draw(adviser, MEAN, 4, 7, known=drawn)}


def test_all_kinds_are_drawn() -> None:
    """A test of fifty has first keeps, second keeps and boxes, in early turns and late ones."""
    assert min(Counter(one.kind for one in fifty()).values()) >= 8
    turns = [13 - one.position.anchor.free.bit_count() for one in fifty()]
    assert min(turns) < 4
    assert max(turns) > 9


def law(adviser: Adviser, goal: Goal) -> tuple[dict[Position, float], float]:
    """With which probability each position is drawn, and that a game brings one: all games, dice by dice."""
    asked = people(adviser)
    met: dict[Position, float] = defaultdict(float)
    names = [category.name for category in adviser.rules.categories]
    for player in asked:
        cards = {Scorecard.of(adviser.rules, {}): 1.0}
        for _ in names:
            after: dict[Scorecard, float] = defaultdict(float)
            for card, p in cards.items():
                rolls = {roll: p * chance for roll, chance in reference.throws(()).items()}
                for left in (2, 1):
                    then: dict[tuple[int, ...], float] = defaultdict(float)
                    for dice, chance in rolls.items():
                        position = Position.of(card, dice, left)
                        met[position] += chance
                        keep = player.decide(position)
                        assert not isinstance(keep, str)
                        for roll, further in reference.throws(keep).items():
                            then[roll] += chance * further
                    rolls = then
                for dice, chance in rolls.items():
                    position = Position.of(card, dice, 0)
                    met[position] += chance
                    after[card.play(names.index(str(player.decide(position))), dice)] += chance
            cards = after
    assert sum(met.values()) == pytest.approx(len(asked) * 3 * len(names))
    weights = {}
    for position, often in met.items():
        values = {decision_of(one.move): one.value for one in adviser.advise(position, goal)}
        wrong = sum(values[one.decide(position)] < max(values.values()) - 1e-9 for one in asked)
        if wrong:
            weights[position] = often * wrong / len(asked)
    total = sum(weights.values())
    return {position: weight / total for position, weight in weights.items()}, total / sum(met.values())


@pytest.mark.parametrize("goal", ["mean", "reach:9"])
def test_how_often_each_position_is_drawn(goal: str) -> None:
    """As often as a count over all games of a small game says: how often it occurs times how often people go wrong."""
    adviser = Adviser(parse_rules(TWO_BOXES, "two boxes"))
    chances, rate = law(adviser, parse_goal(goal))
    games = taken(adviser, parse_goal(goal), people(adviser), np.random.default_rng(1))
    n = 3000
    drawn = [next(games) for _ in range(n)]
    found = Counter(one.position for one in drawn if one)
    n_taken = found.total()
    assert n_taken == pytest.approx(n * rate, abs=4 * (n * rate * (1 - rate)) ** 0.5)
    assert {*found} <= {*chances}
    bins, expected, seen = [], 0.0, 0
    for position in sorted(chances, key=lambda one: (one.rolls_left, one.anchor.free, one.dice, one.score)):
        expected, seen = expected + chances[position] * n_taken, seen + found[position]
        if expected >= 5:
            bins.append((seen - expected) ** 2 / expected)
            expected, seen = 0.0, 0
    assert len(bins) > 15
    assert abs(sum(bins) - len(bins)) < 4 * (2 * len(bins)) ** 0.5


@pytest.mark.parametrize("name", sorted(SMALL))
def test_losses(name: str) -> None:
    """What every move costs is what the slow reference says, which tries out everything."""
    adviser, random = adviser_of(name), Random(name)
    rest = rest_of(adviser.rules, None)
    for one in random.sample(draw(adviser, MEAN, 12, 1), 3):
        values = {move: row[0] for move, row in tried_out(adviser.rules, one.position, rest).items()}
        for move, value in values.items():
            text = move if isinstance(move, str) else f"k {' '.join(map(str, move)) or 'nothing'}"
            answer = judged(adviser, MEAN, one, text)
            assert answer.loss == pytest.approx(max(values.values()) - value, abs=1e-9)
            assert answer.is_right == (answer.loss < 1e-9)


def test_best_moves_are_right() -> None:
    """All fifty, in words as they are printed; and what costs something is wrong."""
    answers, worst = [], []
    for one in fifty():
        advice = YAHTZEE.advise(one.position, MEAN)
        answers.append(judged(YAHTZEE, MEAN, one, advice[0].move.category or advice[0].move.words.replace(" dice", "")))
        worst.append(judge(YAHTZEE, one.position, MEAN, decision_of(advice[-1].move)).loss)
    marks = Marks(tuple(answers))
    assert (marks.n_right, marks.loss, marks.costliest) == (50, 0.0, [])
    assert min(worst) > 0
    assert sum(len(part.answers) for part in marks.by_kind.values()) == 50


def test_score() -> None:
    """Mean, number right, the kinds and the costliest mistakes."""
    answers = tuple(judged(YAHTZEE, MEAN, one, "k nothing") for one in fifty() if one.rolls_left)
    marks = Marks(answers)
    losses = sorted((one.loss for one in answers), reverse=True)
    assert marks.loss == pytest.approx(sum(losses) / len(losses))
    assert [one.loss for one in marks.costliest] == losses[:5]
    told = json.loads(json.dumps(marks.to_dict()))
    assert {*told["by_kind"]} == {"first keep", "second keep"}
    parts = [(part["positions"], part["loss"]) for part in told["by_kind"].values()]
    assert sum(n * loss for n, loss in parts) == pytest.approx(sum(losses))
    assert Marks(()).to_dict() == {"positions": 0, "right": 0, "loss": None, "by_kind": {}, "costliest": []}


@pytest.mark.parametrize(("name", "goal", "n"), [("yahtzee", "mean", 12), ("kniffel", "mean", 2), ("free", "win:8", 2)])
def test_strategies_score_what_they_lose(name: str, goal: str, n: int) -> None:
    """The score of each named strategy is made of the losses of its own moves; in a game it loses as evaluated."""
    adviser, aim = adviser_of(name), parse_goal(goal)
    drawn = draw(adviser, aim, 12, 3)
    found = rated(adviser, aim, drawn)
    assert len(found) == n
    assert [one.marks.loss for one in found] == sorted(one.marks.loss for one in found)
    own = {asked.words: asked for asked in people(adviser)}
    own |= {one: Consulted(one, adviser) for one in ("best-13", "upper-lower") if name == "yahtzee"}
    for one in found:
        if one.name in own:
            losses = [judge(adviser, at.position, aim, own[one.name].decide(at.position)).loss for at in drawn]
            assert one.marks.loss == pytest.approx(sum(losses) / 12)
            assert one.marks.n_right == losses.count(0.0)
    known: dict[str, dict[str, float | None]] = {
        "yahtzee": {"greedy": 37.212356, "ecker-additive": 17.877744},
        "kniffel": {"greedy": 34.219947, "ecker-additive": 16.206032},
        "free": {"greedy": None, "ecker-additive": None},
    }
    in_a_game = {one.name: one.in_a_game for one in found if one.name in known[name]}
    assert in_a_game == pytest.approx(known[name], abs=1e-4)


@pytest.mark.parametrize("goal", ["reach:9", "power:2", "quantile:0.5", "win:8"])
def test_other_goals(goal: str) -> None:
    """Positions are drawn where people go wrong by that goal, and its best moves are right."""
    adviser, aim = adviser_of("free"), parse_goal(goal)
    for one in draw(adviser, aim, 10, 2):
        assert share_wrong(adviser, aim, one, people(adviser)) > 0
        best = adviser.advise(one.position, aim)[0].move
        answer = judged(adviser, aim, one, best.category or f"k {' '.join(map(str, best.keep or ())) or 'nothing'}")
        assert answer.is_right


# -------------------------------------------------------------------------------------------------- what is typed


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("k 2 2 2", (2, 2, 2)),
        ("keep 6,2", (2, 6)),
        ("K 22", (2, 2)),
        ("k all", (2, 2, 2, 5, 6)),
        ("keep all dice", (2, 2, 2, 5, 6)),
        ("k nothing", ()),
        ("roll all dice again", ()),
        ("fh", 8),
        ("3k", 6),
        (" 2 ", 1),
    ],
)
def test_moves_as_they_are_typed(text: str, move: tuple[int, ...] | int) -> None:
    """Keeps and boxes, as with advice."""
    assert parse_move(text, (2, 2, 2, 5, 6), YAHTZEE.rules) == move


def test_boxes_called_like_commands() -> None:
    """The name of a box is that box, also where it begins like a keep."""
    rules = parse_rules(TWO_BOXES.replace('"house"', '"keep 1"'), "test")
    assert parse_move("keep 1", (1, 2, 3, 4, 5), rules) == find_box("keep 1", rules) == 1


def test_scoring_at_once() -> None:
    """With rolls left, a box means that no more is rolled; where that is as good as keeping all, it is right."""
    at = exercise("", (2, 2, 3, 3, 3), 1)
    assert judged(YAHTZEE, MEAN, at, "fh").is_right
    assert judged(YAHTZEE, MEAN, at, "k all").is_right
    answer = judged(YAHTZEE, MEAN, at, "3")
    assert answer.judgement.made.words == "score treys for 9"
    best = YAHTZEE.advise(at.position, MEAN)[0].value
    treys = next(one for one in YAHTZEE.advise(Position.of(at.card, at.dice, 0), MEAN) if one.move.category == "treys")
    assert answer.loss == pytest.approx(best - treys.value)


@pytest.mark.parametrize(
    ("rolls_left", "text", "message"),
    [
        (2, "k 1", "keep: expected some of 2 2 2 5 6"),
        (2, "k 7", "keep: expected faces from 1 to 6"),
        (2, "keep", "keep: expected faces from 1 to 6"),
        (2, "22256", "box: no box '22256'"),
        (2, "fh", "box: full-house is used"),
        (0, "k 2 2 2", "no roll is left: say where to score the dice"),
        (0, "", "box: no box ''"),
    ],
)
def test_refused_moves(rolls_left: int, text: str, message: str) -> None:
    """In one line."""
    with pytest.raises(UsageError, match=message) as refusal:
        judged(YAHTZEE, MEAN, exercise(LATE, (2, 2, 2, 5, 6), rolls_left), text)
    assert "\n" not in str(refusal.value)


def test_forced_box() -> None:
    """A joker that has to go to another box is refused like any illegal play."""
    adviser = adviser_of("forced-joker")
    at = Exercise(parse_scorecard("yahtzee=50", adviser.rules), (1, 1, 1, 1, 1), 0)
    with pytest.raises(UsageError, match="full-house is not open to this roll"):
        judged(adviser, MEAN, at, "fh")


# ------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "expected an object with card, dice and rolls_left"),
        ({}, "card: expected points by the names of boxes, found nothing"),
        ({"card": {}, "dice": [1, 2, 3, 4], "rolls_left": 2}, "dice: expected 5 faces"),
        ({"card": {}, "dice": [1, 2, 3, 4, 7], "rolls_left": 2}, "dice: expected a list of one or more whole numbers"),
        ({"card": {}, "dice": "12345", "rolls_left": 2}, "dice: expected a list"),
        ({"card": {}, "rolls_left": 2}, "dice: expected 5 faces"),
        ({"card": {}, "dice": [1, 2, 3, 4, 5]}, "rolls_left: expected a whole number from 0 to 2, found nothing"),
        ({"card": {}, "dice": [1, 2, 3, 4, 5], "rolls_left": 3}, "rolls_left: expected a whole number from 0 to 2"),
        ({"card": {"aces": 9}, "dice": [1, 2, 3, 4, 5], "rolls_left": 2}, "aces: no roll scores 9 there"),
        ({"card": {"axes": 3}, "dice": [1, 2, 3, 4, 5], "rolls_left": 2}, "did you mean aces"),
        ({"card": {}, "dice": [1, 2, 3, 4, 5], "rolls_left": 2, "goal": 1}, "goal: expected no such field here"),
        (
            {"card": {**parse_scorecard(f"{LATE},aces=1,chance=5", YAHTZEE.rules).as_dict()}, "dice": [1] * 5},
            "rolls_left: expected",
        ),
        (
            {
                "card": parse_scorecard(f"{LATE},aces=1,chance=5", YAHTZEE.rules).as_dict(),
                "dice": [1] * 5,
                "rolls_left": 0,
            },
            "card: expected a free box",
        ),
    ],
)
def test_refused_exercises(table: object, message: str) -> None:
    """Whatever does not describe a position of the game is refused in one line."""
    with pytest.raises(FileError) as refusal:
        Exercise.from_dict(table, YAHTZEE.rules, "sent")
    assert str(refusal.value).startswith("sent: ")
    assert message in str(refusal.value)


def test_few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where people hardly go wrong, fewer positions are found than asked for, or none."""
    two_boxes, one_box = (Adviser(parse_rules(text, "test")) for text in (TWO_BOXES, ONE_BOX))
    assert draw(one_box, MEAN, 1, 1) == ()
    monkeypatch.setattr("yahtzee_cluster.play.practice.PATIENCE", 10)
    some = draw(two_boxes, MEAN, 500, 1)
    assert 0 < len({*some}) == len(some) < 500
    for n in (0, 501, -1):
        with pytest.raises(UsageError, match="count: expected a whole number from 1 to 500"):
            draw(two_boxes, MEAN, n, 1)
    with pytest.raises(UsageError, match="goal: say against whom"):
        draw(two_boxes, parse_goal("win"), 1, 1)
