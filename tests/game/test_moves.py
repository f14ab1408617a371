"""The compiled tables say what the rules say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yahtzee_cluster.game.dice import FIVES, ROLLS
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.game.rules import Rules

PRESETS = {name: load_rules(name) for name in preset_names()}
COMPILED = {name: compile_moves(rules) for name, rules in PRESETS.items()}


def looked_up(rules: Rules, moves: Moves, free: int, chip: bool, place: int) -> set[tuple[int, int, int, bool]]:
    """The plays of a roll as the kernels find them: by its row, and by what is legal for five of a kind."""
    row, legal = place, free
    if place in FIVES:
        face = FIVES.index(place)
        legal = int(moves.legal[free, face])
        variant = 2 * int(moves.joker[free, face]) + int(chip)
        if variant:
            row = len(ROLLS) + 3 * face + variant - 1
    outcomes = [moves.outcomes[moves.outcome_of[row, c]] for c in range(len(rules.categories)) if legal >> c & 1]
    return {(o.category, o.points, o.upper, rules.has_chip and (chip or o.chip)) for o in outcomes}


def expected(rules: Rules, free: int, chip: bool, place: int) -> set[tuple[int, int, int, bool]]:
    return {(p.category, p.points, p.upper, p.chip) for p in rules.plays(free, chip, ROLLS[place])}


def agree(rules: Rules, moves: Moves, free: int, chip: bool, place: int) -> bool:
    chip = chip and rules.has_chip and not free & rules.yahtzee_box
    return looked_up(rules, moves, free, chip, place) == expected(rules, free, chip, place)


def test_small_games_completely(small_rules: Rules) -> None:
    """In the small games, every roll in every state has the plays that the rules list."""
    moves = compile_moves(small_rules)
    for free in range(1, small_rules.all_free + 1):
        for chip in (False, True):
            assert all(agree(small_rules, moves, free, chip, place) for place in range(len(ROLLS)))


@given(
    name=st.sampled_from(preset_names()),
    free=st.integers(1, 2**15 - 1),
    chip=st.booleans(),
    place=st.sampled_from(FIVES) | st.integers(0, len(ROLLS) - 1),
)
def test_presets(name: str, free: int, chip: bool, place: int) -> None:
    """In every preset, any roll in any state has the plays that the rules list."""
    rules = PRESETS[name]
    free = free & rules.all_free or rules.all_free
    assert agree(rules, COMPILED[name], free, chip, place)


@pytest.mark.parametrize("name", preset_names())
def test_zeros_and_scores(name: str) -> None:
    """The tables know for every row which categories score, and for every category what a zero is."""
    moves, rules = COMPILED[name], PRESETS[name]
    points = np.array([outcome.points for outcome in moves.outcomes])
    for category in range(len(rules.categories)):
        scoring = points[moves.outcome_of[:, category]] > 0
        assert ((moves.scoring >> category & 1) == scoring).all()
        zero = moves.zero_of[category]
        assert (zero >= 0) == (not scoring.all())
        assert zero < 0 or (moves.outcomes[zero].category, moves.outcomes[zero].points) == (category, 0)
