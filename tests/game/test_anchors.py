"""The states between turns: counted, numbered and linked."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.reference import after
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.game.rules import Anchor, Play, Rules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.rows import Rows

ANCHORS = {name: Anchors(load_rules(name)) for name in preset_names()}


def rows(name: str, target: int) -> Rows:
    return Rows(ANCHORS[name], Turn(compile_moves(load_rules(name))), target)


def merged(anchors: Anchors, free: int, upper: int, chip: bool) -> Anchor:
    """The anchor that stands for a state: without its upper total once that cannot matter any more."""
    reserve = sum(
        5 * (category.face or 0)
        for index, category in enumerate(anchors.rules.categories)
        if free >> index & 1 and anchors.bonus
    )
    decided = not anchors.bonus or upper >= anchors.threshold or upper + reserve < anchors.threshold
    return Anchor(free, None if decided else upper, chip)


def reachable(rules: Rules) -> set[tuple[int, int, bool]]:
    """Every (free, upper, chip) that some sequence of rolls and plays leads to, found by trying them all."""
    found = {(rules.all_free, 0, False)}
    frontier = list(found)
    while frontier:
        free, upper, chip = frontier.pop()
        for roll in ROLLS if free else ():
            for play in rules.plays(free, chip, roll):
                state, _ = after(rules, free, upper, play)
                if state not in found:
                    found.add(state)
                    frontier.append(state)
    return found


def test_published_counts() -> None:
    """Verhoeff counts 536,448 reachable anchors of Yahtzee; 355,392 remain when totals that cannot matter merge."""
    assert ANCHORS["yahtzee"].n_unmerged == 536_448
    assert len(ANCHORS["yahtzee"]) == 355_392


def test_row_lengths() -> None:
    """All rows of Yahtzee hold 1.91e8 values up to need 800 and 2.08e8 in all; the longest reaches 1575."""
    assert rows("yahtzee", 800).n_values.sum() == 190_744_210
    everything = rows("yahtzee", 10_000)
    assert everything.n_values.sum() == 207_592_160
    start = ANCHORS["yahtzee"].index(Anchor(0b1_1111_1111_1111, 0, False))
    assert everything.length.max() == everything.length[start] == 1575


def test_small_games_by_brute_force(small_rules: Rules) -> None:
    """Exactly the anchors that some sequence of plays reaches are said to exist."""
    anchors = Anchors(small_rules)
    states = reachable(small_rules)
    expected = {merged(anchors, *state) for state in states}
    existing = {anchors.anchor(int(place)) for place in np.flatnonzero(anchors.exists)}
    assert existing == expected
    assert len(anchors) == len(expected)
    threshold = anchors.threshold if anchors.bonus else 0
    assert anchors.n_unmerged == len({(free, min(upper, threshold), chip) for free, upper, chip in states})


def test_rows_of_small_games(small_rules: Rules) -> None:
    """A row ends with the most that any sequence of rolls and plays can still score."""
    anchors = Anchors(small_rules)
    lengths = Rows(anchors, Turn(compile_moves(small_rules)), 10_000).length

    @cache
    def plays(free: int, chip: bool) -> set[Play]:
        return {play for roll in ROLLS for play in small_rules.plays(free, chip, roll)}

    @cache
    def most(free: int, upper: int, chip: bool) -> int:
        steps = [after(small_rules, free, upper, play) for play in (plays(free, chip) if free else ())]
        return max((points + most(*state) for state, points in steps), default=0)

    for free, upper, chip in reachable(small_rules):
        place = anchors.index(merged(anchors, free, upper, chip))
        assert lengths[place] == most(free, upper, chip)


@given(st.data())
def test_every_successor_exists(data: st.DataObject) -> None:
    """From any anchor of any preset, every play of every roll leads to an anchor that exists."""
    anchors = ANCHORS[data.draw(st.sampled_from(preset_names()))]
    place = data.draw(st.integers(0, len(anchors) - 1))
    anchor = anchors.anchor(int(np.flatnonzero(anchors.exists)[place]))
    roll = data.draw(st.sampled_from(ROLLS))
    upper = anchors.threshold if anchor.upper is None else anchor.upper
    for play in anchors.rules.plays(anchor.free, anchor.chip, roll) if anchor.free else []:
        state, _ = after(anchors.rules, anchor.free, upper, play)
        assert anchors.exists[anchors.index(merged(anchors, *state))]


@given(st.data())
def test_places_and_anchors_are_inverse(data: st.DataObject) -> None:
    """Every existing place names one anchor, and that anchor lies at this place."""
    anchors = ANCHORS[data.draw(st.sampled_from(preset_names()))]
    place = int(np.flatnonzero(anchors.exists)[data.draw(st.integers(0, len(anchors) - 1))])
    assert anchors.index(anchors.anchor(place)) == place


@pytest.mark.parametrize(
    ("anchor", "complaint"),
    [
        (Anchor(1 << 13, 0, False), "no such scorecard: free categories 8192, chip False"),
        (Anchor(-1, 0, False), "no such scorecard"),
        (Anchor(1 << 11, 30, True), "no such scorecard: free categories 2048, chip True"),
        (Anchor(0b1_1111_1111_1110, 6, False), "cannot bring an upper total of 6"),
    ],
)
def test_anchors_that_are_none(anchor: Anchor, complaint: str) -> None:
    """A state that the game does not have is refused, and not taken for another one."""
    with pytest.raises(UsageError, match=complaint):
        ANCHORS["yahtzee"].index(anchor)


@pytest.mark.parametrize(
    ("game", "anchor", "complaint"),
    [
        ("yahtzee", Anchor(0b1_1111_1111_1110, -1, False), "cannot bring an upper total of -1"),
        ("yahtzee", Anchor(0b1_1111_1101_1111, 7, False), "cannot bring an upper total of 7"),
        ("yahtzee", Anchor(0b1_1111_1111_1110, None, False), "cannot have decided the bonus"),
        ("yahtzee", Anchor(0, 0, 2), "no such scorecard: free categories 0, chip 2"),  # type: ignore[arg-type]
        ("yahtzee", Anchor(1, 0.0, False), "upper total 0.0"),  # type: ignore[arg-type]
        ("yahtzee", Anchor("1", 0, False), "free categories 1"),  # type: ignore[arg-type]
        ("yacht", Anchor(0b1111_1111_1110, 6, False), "cannot bring an upper total of 6"),
        ("yacht", Anchor(0b1111_1111_1111, 1, False), "cannot bring an upper total of 1"),
    ],
)
def test_anchors_that_no_play_reaches(game: str, anchor: Anchor, complaint: str) -> None:
    """An upper total that no dice bring is refused, in a game without a bonus too, and so is what is no anchor."""
    with pytest.raises(UsageError, match=complaint):
        ANCHORS[game].reachable(anchor)


@pytest.mark.parametrize("name", preset_names())
def test_rows_lie_end_to_end(name: str) -> None:
    """The rows of one set of free categories follow each other without gap or overlap."""
    anchors, table = ANCHORS[name], rows(name, 100)
    for free in np.random.default_rng(1).integers(1, len(anchors.n_lanes), 200):
        places = np.concatenate(
            [np.arange(anchors.n_lanes[free]) + start for start in anchors.place[free] if start >= 0]
        )
        ends = table.offset[places] + table.length[places]
        assert table.offset[places[0]] == 0
        assert (table.offset[places[1:]] == ends[:-1]).all()
        assert ends[-1] == table.n_values[free]


def test_bonus_out_of_reach() -> None:
    """A threshold that no game reaches leaves one anchor for each scorecard, as if there were no bonus."""
    rules = replace(load_rules("simple"), upper_threshold=106)
    assert len(Anchors(rules)) == len(Anchors(replace(rules, upper_threshold=0, upper_bonus=0))) == 2**13
    assert len(Anchors(replace(rules, upper_threshold=105))) > 2**13
