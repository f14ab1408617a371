"""Lists of rules, judged position by position: what each rule says is written a second time, as a plain function."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from small_games import SMALL

from yahtzee_cluster.analysis.statistics import Currencies
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import read_toml
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Play, Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.play.rule_lists import FIELDS, RuleList

Roll = tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """What a player sees who decides."""

    rules: Rules
    roll: Roll
    free: frozenset[str]
    chip: bool
    left: int
    plays: tuple[Play, ...] = ()
    upper: int = 0

    def own(self, face: int) -> bool:
        """Whether the upper box of a face is free."""
        return any(box.face == face and box.name in self.free for box in self.rules.categories)

    def n_free(self, upper: bool) -> int:
        """How many upper or lower boxes are free."""
        return sum(box.name in self.free and bool(box.face) == upper for box in self.rules.categories)


KeepRule = Callable[[Seen], Roll | None]


def equal(n: int, met: Callable[[Seen, int], bool], low: bool = False, exactly: bool = False) -> KeepRule:
    def keep(seen: Seen) -> Roll | None:
        for face in sorted(set(seen.roll), reverse=not low):
            count = seen.roll.count(face)
            if (count == n if exactly else count >= n) and met(seen, face):
                return (face,) * count
        return None

    return keep


def named(wanted: list[Roll], met: Callable[[Seen], bool] = lambda _: True) -> KeepRule:
    def keep(seen: Seen) -> Roll | None:
        for faces in wanted:
            if met(seen) and all(seen.roll.count(face) >= faces.count(face) for face in faces):
                return faces
        return None

    return keep


def house(seen: Seen) -> Roll | None:
    return seen.roll if sorted(map(seen.roll.count, seen.roll)) == [2, 2, 3, 3, 3] else None


def two_pairs(seen: Seen) -> Roll | None:
    paired = [face for face in range(1, 7) if seen.roll.count(face) > 1]
    return (*[paired[0]] * 2, *[paired[1]] * 2) if len(paired) == 2 else None


def joker(seen: Seen, face: int) -> bool:
    return "five" not in seen.free and not seen.own(face) and seen.rules.joker != "none"


RUNS4: list[Roll] = [(3, 4, 5, 6), (2, 3, 4, 5), (1, 2, 3, 4)]
KEEPS: dict[str, KeepRule] = {
    "five of a kind if five free or five scored": equal(5, lambda s, _: "five" in s.free or s.chip),
    "five of a kind if joker applies": equal(5, joker),
    "four of a kind if its box used": equal(4, lambda s, f: not s.own(f)),
    "a triple if its box is free": equal(3, lambda s, f: s.own(f)),
    "exactly a triple, low first": equal(3, lambda *_: True, low=True, exactly=True),
    "pair, low first, if its box free": equal(2, lambda s, f: s.own(f), low=True),
    "pair of 2 4 6 unless five used": equal(2, lambda s, f: f in {2, 4, 6} and "five" in s.free),
    "single, low first, if its box free unless more than 1 upper boxes free": equal(
        1, lambda s, f: s.own(f) and s.n_free(upper=True) <= 1, low=True
    ),
    "small straight if fewer than 2 lower boxes free": named(RUNS4, lambda s: s.n_free(upper=False) < 2),
    "large straight": named([(2, 3, 4, 5, 6), (1, 2, 3, 4, 5)]),
    "run of 3 if two rolls left": named([(4, 5, 6), (3, 4, 5), (2, 3, 4), (1, 2, 3)], lambda s: s.left == 2),
    "1 1 or 2 if not (five free and 1 boxes used)": named(
        [(1, 1), (2,)], lambda s: not ("five" in s.free and len(s.free) == len(s.rules.categories) - 1)
    ),
    "full house": house,
    "two pairs if one roll left": lambda s: two_pairs(s) if s.left == 1 else None,
    "dice from 5 up": lambda s: tuple(face for face in s.roll if face > 4) or None,
    "all dice scoring at least 3 in ones": lambda s: s.roll if s.roll.count(1) >= 3 else None,
    "nothing if none of ones, five free": lambda s: None if s.free & {"ones", "five"} else (),
}


ScoreRule = Callable[[Seen], str | None]


def box(*names: str, met: Callable[[Seen, int, Play], bool] = lambda *_: True, zero: bool = False) -> ScoreRule:
    """The first of some boxes that may be filled, brings points (or none, for `zero`) and meets a condition."""

    def score(seen: Seen) -> str | None:
        for name in names:
            for play in seen.plays:
                points = play.points - play.extra
                found = seen.rules.categories[play.category]
                if found.name == name and (points == 0) == zero and met(seen, points, play):
                    return name
        return None

    return score


def wins(seen: Seen, _: int, play: Play) -> bool:
    return seen.rules.upper_bonus_for(seen.upper, play.upper) > 0


def most_points(seen: Seen) -> str | None:
    best = max(play.points - play.extra for play in seen.plays)
    found = [play for play in seen.plays if play.points - play.extra == best]
    return seen.rules.categories[found[0].category].name if best else None


SCORES: dict[str, dict[str, ScoreRule]] = {
    "free": {
        "upper box with at least 2 dice, winning the upper bonus": box("twos", "ones", met=lambda s, p, y: wins(s, p, y)
        and p >= 2 * (s.rules.categories[y.category].face or 0)),
        "five": box("five"),
        "house if five free": box("house", met=lambda s, *_: "five" in s.free),
        "upper box, low first, with exactly 2 dice": box(
            "ones", "twos", met=lambda s, p, y: p == 2 * (s.rules.categories[y.category].face or 0)
        ),
        "twos, ones with more than 3 points": box("twos", "ones", met=lambda _, p, __: p > 3),
        "five with 0 points if at most 2 boxes free": box("five", zero=True, met=lambda s, *_: len(s.free) <= 2),
        "most points if five scored": lambda s: most_points(s) if s.chip else None,
    },
    "forced": {
        "upper box winning the upper bonus if five used": box(
            "threes", "ones", met=lambda s, p, y: wins(s, p, y) and "five" not in s.free
        ),
        "long": box("long"),
        "ones with at most 2 points": box("ones", met=lambda _, p, __: p <= 2),
        "threes with fewer than 3 dice unless long used": box(
            "threes", met=lambda s, p, _: p < 9 and "long" in s.free
        ),
        "five": box("five"),
        "long with 0 points": box("long", zero=True),
    },
}  # fmt: skip


class Judge:
    """The mean of the rest of the score, by asking every rule in turn at every position."""

    def __init__(self, rules: Rules, keeps: list[KeepRule] | None, scores: list[ScoreRule], order: list[str]) -> None:
        self.rules, self.keeps, self.scores, self.order = rules, keeps, scores, order
        self.worth: dict[reference.Anchor, float] = {}

    def from_anchor(self, free: int, upper: int, chip: bool) -> float:
        """The mean of the rest of the score from here on."""
        if (free, upper, chip) not in self.worth:
            self.worth[free, upper, chip] = self._turn(free, upper, chip) if free else 0.0
        return self.worth[free, upper, chip]

    def _turn(self, free: int, upper: int, chip: bool) -> float:
        names = [category.name for category in self.rules.categories]
        left = frozenset(name for c, name in enumerate(names) if free >> c & 1)
        scored = {}
        for roll in reference.ROLLS:
            plays = self.rules.plays(free, chip, roll)
            seen = Seen(self.rules, roll, left, chip, 0, tuple(plays), upper)
            able = {names[play.category]: play for play in plays}
            found = next((name for rule in self.scores if (name := rule(seen))), None)
            play = able[found or next(name for name in self.order if name in able)]
            anchor, points = reference.after(self.rules, free, upper, play)
            scored[roll] = points + self.from_anchor(*anchor)
        if self.keeps is None:
            return reference.best_turn(lambda roll: [(scored[roll],)])[0]
        first, second = (
            {roll: self._kept(Seen(self.rules, roll, left, chip, rolls_left)) for roll in reference.ROLLS}
            for rolls_left in (2, 1)
        )
        return reference.decided_turn(scored, second, first)

    def _kept(self, seen: Seen) -> Roll:
        assert self.keeps is not None
        return next((keep for rule in self.keeps if (keep := rule(seen)) is not None), ())


def worth_of(strategy: RuleList, rules: Rules) -> tuple[Any, Anchors]:
    """The mean of the rest of the score at every place."""
    anchors, turn = Anchors(rules), Turn(compile_moves(rules))
    currencies = Currencies.of(turn.moves, anchors.bonus)
    out = np.empty((1, anchors.n_places))
    decider = strategy.kernel(turn, anchors)
    total = currencies.payoffs.sum(axis=0, keepdims=True), currencies.crossing.sum(keepdims=True)
    policies.worth(decider, *total, out)
    if decider.value is not None:
        assert out[0] == pytest.approx(decider.value, rel=1e-12, abs=1e-12)
    return out[0], anchors


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", sorted(SCORES))
def test_rules_mean_what_they_say(name: str, seed: int) -> None:
    """In small games, rules in any order bring what the judge finds who asks each of them at every position."""
    rng = random.Random(f"{name} {seed}")
    rules = parse_rules(SMALL[name], source="test")
    scoring = rng.sample(sorted(SCORES[name]), 5)
    order = [category.name for category in rules.categories]
    rng.shuffle(order)
    table: dict[str, Any] = {"score": scoring, "otherwise": order}
    keeping = None if seed % 3 == 2 else rng.sample(sorted(KEEPS), 9)
    table |= {"rolls": "optimal"} if keeping is None else {"keep": keeping}
    worth, anchors = worth_of(RuleList.parse(table, "test", rules), rules)
    functions = None if keeping is None else [KEEPS[said] for said in keeping]
    judged = Judge(rules, functions, [SCORES[name][text] for text in scoring], order)
    judged.from_anchor(rules.all_free, 0, False)
    assert len(judged.worth) > 40
    for anchor, mean in judged.worth.items():
        assert worth[anchors.index(Anchor(*anchor))] == pytest.approx(mean, rel=1e-12, abs=1e-14), anchor


ALL = [category.name for category in load_rules("yahtzee").categories]


def parsed(**changed: Any) -> RuleList:
    table = {"keep": ["pair"], "score": ["yahtzee"], "otherwise": ALL, **changed}
    return RuleList.parse(
        {key: value for key, value in table.items() if value is not None}, "mine.toml", load_rules("yahtzee")
    )


SUMS = (3, 4, 4, 4, 4), (4, 4, 4, 4, 4), (4, 4, 4, 4, 6), (4, 4, 4, 5, 6)
"""Rolls of 19, 20, 22 and 23 points."""


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"keep": ["pair", "a pear"]}, "keep 2: expected what to keep: .*, found 'pear'; did you mean pair?"),
        ({"keep": ["pair if sixs free"]}, "keep 1: box: no box 'sixs'; did you mean sixes?"),
        ({"keep": ["pair if sixes"]}, "keep 1: expected `free` or `used`, found the end"),
        ({"keep": ["pair if more than 3 uper boxes free"]}, "keep 1: .*'uper boxes free'; did you mean upper boxes?"),
        ({"keep": ["pair if (sixes free"]}, r"keep 1: expected `\)`, `and` or `or`, found the end"),
        ({"keep": ["pair if " + "(" * 60 + "sixes free"]}, "keep 1: expected at most 20 conditions, one inside"),
        ({"keep": ["two pairs if its box free"]}, "keep 1: expected `its box` only where equal dice are kept"),
        (
            {"keep": ["pair iff sixes free"]},
            "keep 1: expected the end of the rule, .*, found 'iff sixes free'; did you",
        ),
        ({"keep": ["pair of 2 7"]}, "keep 1: expected at most six faces from 1 to 6"),
        ({"keep": ["pair if sixes scored"]}, "keep 1: expected `scored` only of a box that brings a bonus"),
        ({"keep": ["pair if"]}, "keep 1: expected a condition: .*, found the end"),
        ({"keep": ["run of many"]}, "keep 1: expected a number of dice, found 'many'"),
        ({"keep": ["run of 0"]}, "keep 1: run of: expected 2 to 5 dice, found 0"),
        ({"keep": ["2 3 4 or 3 4 5, high first"]}, "keep 1: `high first` goes with equal dice and runs, not after '2'"),
        ({"keep": ["full house low first"]}, "keep 1: `low first` goes with equal dice and runs, not after 'full'"),
        ({"keep": "pair"}, "keep: expected a list of 1 to 100 rules, each a text, found 'pair'"),
        ({"keep": ["pair"] * 101}, "keep: expected a list of 1 to 100 rules, each a text, found '101 rules'"),
        ({"keep": [3]}, "keep 1: expected a text on one line, of at most 200 characters, found 3"),
        ({"keep": ["pair\nsingle"]}, "keep 1: expected a text on one line"),
        ({"keep": []}, "keep: expected a list of 1 to 100 rules, each a text, found '0 rules'"),
        ({"rolls": "optimal"}, "keep: expected no such list where rolls are optimal"),
        ({"keep": None, "rolls": "best"}, "rolls: expected one of optimal, found 'best'"),
        ({"score": ["yatzee"]}, "score 1: box: no box 'yatzee'; did you mean yahtzee?"),
        ({"score": ["with 3 dice"]}, "score 1: expected the name of a box, found 'with 3 dice'"),
        ({"score": ["chance with 3 dice"]}, "score 1: expected dice counted in upper boxes only, before this"),
        ({"score": ["chance with at least 3 pints"]}, "score 1: expected `points` or `dice`, found 'pints'; did you"),
        ({"score": ["chance if one roll left"]}, "score 1: expected no rolls left where a roll is scored"),
        ({"score": ["chance with 1e400 points"]}, "score 1: expected a number of points or dice, found '1e400 points'"),
        ({"otherwise": ALL[1:]}, "otherwise: expected all boxes, found none of aces"),
        ({"otherwise": [*ALL, "ones"]}, "otherwise: box: no box 'ones'"),
        ({"otherwise": [*ALL, "aces"]}, "otherwise: expected every box once, found 'aces' twice"),
        ({"otherwise": 5}, "otherwise: expected all boxes in the order in which they are sacrificed, found 5"),
        ({"scores": ["chance"]}, "scores: expected no such field here, only keep, score, .*did you mean score?"),
    ],
)
def test_bad_input_in_one_line(changed: dict[str, Any], complaint: str) -> None:
    """A mistake is answered in one line that names the file, the rule and what was expected there."""
    with pytest.raises(UsageError, match=f"^mine.toml: {complaint}") as error:
        parsed(**changed)
    assert "\n" not in str(error.value)


def test_two_amounts() -> None:
    """Both have to hold."""
    both = parsed(score=["chance with at least 20 points with at most 22 points"])
    decider = both.kernel(Turn(compile_moves(both.game)), Anchors(both.game))
    boxes = decider.decisions(1 << 12 | 1, False)[2, [ROLLS.index(roll) for roll in SUMS], 0]
    assert boxes.tolist() == [0, 12, 12, 0]


def test_every_prefix_is_refused_or_read() -> None:
    """Wherever a rule is cut, and whichever character is put in, it is read or refused as a mistake."""
    rules = [
        *("a pair of 2 3, low first, if its box free and not (chance used or more than 2 upper boxes free)",),
        "'full-house' with at least 5 points if any of aces, 1s or y free unless yahtzee scored",
    ]
    for key, text in zip(("keep", "score"), rules, strict=True):
        parsed(**{key: [text.replace("1s", "sixes")]})
        for end in range(len(text)):
            for said in (text[:end], text[:end] + "(" + text[end:], text[:end] + "'" + text[end:]):
                try:
                    parsed(**{key: [said]})
                except UsageError as error:
                    assert "\n" not in str(error)  # noqa: PT017


def test_warnings() -> None:
    """A rule that never gets to decide is named; those that decide sometimes are not."""
    found = parsed(
        keep=["pair", "three of a kind if sixes free", "3 3 3 3 3 3", "single if aces free", "6 if aces free", "6"],
        score=["chance", "chance with at least 9 points", "yahtzee if yahtzee used", "yahtzee"],
    )
    assert [line.partition(":")[0] for line in found.warnings()] == ["keep 2", "keep 3", "keep 5", "score 2", "score 3"]


def test_number_of_rules_and_words() -> None:
    """The rules of both lists are counted, the order of sacrifice is not."""
    assert parsed().n_parameters == 2
    assert parsed().words == "play by a list of 2 rules"
    assert parsed(keep=None, rolls="optimal").words == "boxes by a list of 1 rule"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "n_rules", "mean"),
    [
        ("glenn-rules", 26, "226.0457"),
        ("yahtzee-bonus", 4, "165.0190"),
        ("boxes-by-rules", 17, "251.9148"),
        ("all-by-rules", 31, "242.0571"),
    ],
)
def test_lists_that_come_with_the_program(name: str, n_rules: int, mean: str) -> None:
    """Each has the mean that is said of it, and no rule that never decides."""
    rules = load_rules("yahtzee")
    path = f"strategies/{name}.toml"
    table = {key: value for key, value in read_toml(path).items() if key in FIELDS}
    strategy = RuleList.parse(table, path, rules)
    assert strategy.n_parameters == n_rules
    assert strategy.warnings() == []
    worth, anchors = worth_of(strategy, rules)
    assert f"{worth[anchors.index(Anchor(rules.all_free, 0))]:.4f}" == mean
