"""The scores that games can have by the time they come to a scorecard: small games played out, large ones by lot."""

from dataclasses import replace
from random import Random
from typing import get_args

import numpy as np
import pytest
from small_games import SMALL, THREE_ABOVE

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.possible_scores import check_score, highest_score, leads, scores_so_far
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names
from yahtzee_cluster.game.rules import Anchor, Joker, Rules

GAMES = {**SMALL, "three above": THREE_ABOVE}


def all_games(rules: Rules) -> dict[reference.Anchor, set[int]]:
    """Every state between turns that some game comes to, and the scores that games have there."""
    found: dict[reference.Anchor, set[int]] = {}
    layer: dict[reference.Anchor, set[int]] = {(rules.all_free, 0, False): {0}}
    while layer:
        found |= layer
        before, layer = layer, {}
        for (free, upper, chip), scores in before.items():
            plays = {play for roll in ROLLS for play in rules.plays(free, chip, roll)}
            for after, points in (reference.after(rules, free, upper, play) for play in plays):
                layer.setdefault(after, set()).update(score + points for score in scores)
    return found


@pytest.mark.parametrize("joker", get_args(Joker))
@pytest.mark.parametrize("name", sorted(GAMES))
def test_all_games_of_small_rule_sets(name: str, joker: Joker) -> None:
    """At every scorecard of a small game, under each joker rule, the scores are those that some game has there."""
    rules = parse_rules(GAMES[name], name)
    rules = replace(rules, joker=joker) if rules.yahtzee else rules
    anchors, decided = Anchors(rules), dict[tuple[int, bool], set[int]]()
    for (free, upper, chip), scores in all_games(rules).items():
        assert scores_so_far(anchors, Anchor(free, upper, chip)) == tuple(sorted(scores))
        if anchors.lane(free, upper) == 0:
            decided.setdefault((free, chip), set()).update(scores)
    for (free, chip), scores in decided.items():
        assert scores_so_far(anchors, Anchor(free, None, chip)) == tuple(sorted(scores))
    assert highest_score(anchors) == max(max(scores) for (free, _), scores in decided.items() if not free)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_all_rests_of_small_rule_sets(name: str) -> None:
    """So they are in the rest of a game, where a further Yahtzee pays its bonus from the first turn on."""
    rules = parse_rules(GAMES[name], name)
    anchors = Anchors(rules)
    every = [anchors.anchor(place) for place in np.flatnonzero(anchors.exists).tolist()]
    for begun in every[1 :: max(1, len(every) // 25)]:
        if begun.free:
            rest = Anchors(rest_of(rules, begun))
            for (free, upper, chip), scores in all_games(rest.rules).items():
                if rest.lane(free, upper):
                    assert scores_so_far(rest, Anchor(free, upper, chip)) == tuple(sorted(scores))


def test_highest_scores() -> None:
    """The highest final scores are those that are known."""
    highest = {"yahtzee": 1575, "kniffel": 375, "yatzy": 374, "yacht": 303}
    assert {name: highest_score(Anchors(load_rules(name))) for name in highest} == highest


@pytest.mark.parametrize("name", preset_names())
def test_games_by_lot(name: str) -> None:
    """No score that a game of a built-in rule set has is refused, with many Yahtzees among the dice."""
    rules, random = load_rules(name), Random(name)
    anchors = Anchors(rules)
    for _ in range(12):
        anchor, score = (rules.all_free, 0, False), 0
        while anchor[0]:
            roll = random.choice(ROLLS) if random.random() < 0.5 else (random.randrange(1, 7),) * 5
            anchor, points = reference.after(
                rules, anchor[0], anchor[1], random.choice(rules.plays(anchor[0], anchor[2], roll))
            )
            score += points
            if anchor[0].bit_count() in {0, 1, 5, 9}:
                check_score(anchors, Anchor(*anchor), score)


def test_nearest_scores() -> None:
    """What no game has is refused with the scores around it that some game has."""
    anchors = Anchors(load_rules("yahtzee"))
    aces_and_house = Anchor(8191 ^ 0b1_0000_0001, 3, False)
    assert scores_so_far(anchors, aces_and_house) == (3, 28)
    for score, nearest in ((-1, "least is 3"), (2, "least is 3"), (4, "nearest are 3 and 28"), (29, "most is 28")):
        with pytest.raises(UsageError, match=f"score so far: no game has {score} points here; the {nearest}"):
            check_score(anchors, aces_and_house, score)
    assert leads((anchors, aces_and_house), (anchors, Anchor(8191 ^ 1, 2, False))) == [1, 26]
    with pytest.raises(UsageError, match="cannot bring an upper total of 6"):
        scores_so_far(anchors, Anchor(8191 ^ 1, 6, False))
