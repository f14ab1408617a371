import tomllib

import numpy as np
import pytest
from small_games import SMALL

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import scores_so_far
from yahtzee_cluster.game.rest import rest_of, to_rest, to_whole
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names, rules_of
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.expected import solve_expected


def some_anchors(rules: Rules, most: int) -> list[Anchor]:
    """Some anchors of a game at which a category is free, always the same."""
    anchors = Anchors(rules)
    places = np.flatnonzero(anchors.exists)
    some = np.random.default_rng(len(places)).permutation(places)[:most]
    return [anchor for place in some.tolist() if (anchor := anchors.anchor(place)).free]


@pytest.mark.parametrize("name", preset_names())
def test_same_bits_as_the_whole_game(name: str) -> None:
    """Mean and second moment of the rest of a game are those of the whole game's table, to the last bit."""
    rules = load_rules(name)
    whole = solve_expected(rules)
    for anchor in some_anchors(rules, 60):
        rest = rest_of(rules, anchor)
        table = solve_expected(rest)
        assert table.moments(table.start) == whole.moments(whole.anchors.index(anchor))
        for place in np.flatnonzero(table.anchors.exists)[:20].tolist():
            there = whole.anchors.index(to_whole(rest, table.anchors.anchor(place)))
            assert table.moments(place) == whole.moments(there)


def test_the_reference_sees_no_difference(small_rules: Rules) -> None:
    """The reference finds the same probabilities in the rest of a small game as in the whole game from there."""
    whole = reference.maxprob(small_rules)
    for begun in some_anchors(small_rules, 6):
        rest = rest_of(small_rules, begun)
        part = reference.maxprob(rest)
        upper = small_rules.upper_threshold if begun.upper is None else begun.upper
        for need in (1, 7, 20, 45):
            from_whole = whole(begun.free, upper, begun.chip, need)
            assert part(rest.all_free, 0, False, need) == pytest.approx(from_whole, abs=1e-14)


def test_there_and_back(small_rules: Rules) -> None:
    """Every anchor of the rest stands for one of the whole game, and is found again."""
    whole = Anchors(small_rules)
    for begun in some_anchors(small_rules, 20):
        rest = rest_of(small_rules, begun)
        anchors = Anchors(rest)
        for place in np.flatnonzero(anchors.exists).tolist():
            there = to_whole(rest, anchors.anchor(place))
            whole.reachable(there)
            assert anchors.index(to_rest(rest, there)) == place


def test_possible_scores(small_rules: Rules) -> None:
    """A score that is possible in the rest, added to one from before, is possible in the whole game."""
    whole = Anchors(small_rules)
    for begun in some_anchors(small_rules, 12):
        rest = rest_of(small_rules, begun)
        anchors, before = Anchors(rest), scores_so_far(whole, begun)
        for place in np.flatnonzero(anchors.exists)[:12].tolist():
            there = anchors.anchor(place)
            possible = set(scores_so_far(whole, to_whole(rest, there)))
            assert {a + b for a in before for b in scores_so_far(anchors, there)} <= possible


def test_the_rest_of_the_rest() -> None:
    """The rest of the rest of a game is the rest of the game, and the rest from the start is the game itself."""
    rules = load_rules("yahtzee")
    assert rest_of(rules, Anchor(rules.all_free, 0)) is rules
    first = rest_of(rules, Anchor(0b1110000000111, 20))
    later = Anchor(0b001011, 3, chip=True)
    second = rest_of(first, later)
    assert second == rest_of(rules, to_whole(first, later))
    assert second.chip
    assert [category.name for category in second.categories] == ["aces", "deuces", "large-straight"]


def test_as_a_rule_file() -> None:
    """The rest of a game is read back from its own description."""
    for rules in map(parse_rules, SMALL.values(), SMALL):
        for begun in some_anchors(rules, 5):
            rest = rest_of(rules, begun)
            assert rules_of(rest.table, "test").table == rest.table
            assert Anchors(rules_of(rest.table, "test")).n_places == Anchors(rest).n_places


@pytest.mark.parametrize(
    ("begun", "complaint"),
    [
        ('used = ["poker"]', "used: expected the names of some categories, but not of all"),
        ('used = "aces"', "used: expected the names of some categories"),
        ('used = ["aces", "aces"]', "used: expected the names of some categories"),
        ("chip = true", "chip: expected only with a used Yahtzee box"),
        ("upper = -1", "upper: expected a whole number"),
        ("score = 3", "score: expected no such field"),
    ],
)
def test_refused_beginnings(begun: str, complaint: str) -> None:
    """A rule file that begins where no game can begin is refused."""
    with pytest.raises(FileError, match=complaint):
        rules_of({**load_rules("yahtzee").table, "from": tomllib.loads(begun)}, "test")


def test_refused_anchors() -> None:
    """An anchor that does not lie ahead is refused, and so is the rest of a game that is over."""
    rules = load_rules("yahtzee")
    rest = rest_of(rules, Anchor(0b111, 30, chip=True))
    for anchor in (Anchor(0b1111, 30, chip=True), Anchor(0b11, 30, chip=False), Anchor(0b11, 29, chip=True)):
        with pytest.raises(UsageError):
            to_rest(rest, anchor)
    with pytest.raises(UsageError, match="game is over"):
        rest_of(rules, Anchor(0, None))
