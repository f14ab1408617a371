"""The kernel that decides by lists of rules, on lists that nobody would write, judged by the plainest Python."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from small_games import SMALL

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import INDEX, KEEPS, ROLLS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.rule_lists import NO_KEEP, ByRules
from yahtzee_cluster.kernels.turn import Turn, instruction_sets

N_RULES = 7


def by_rules(turn: Turn, anchors: Anchors, lists: dict[str, Any]) -> ByRules:
    names = ("keep", "keep_applies", "box", "rows", "applies", "for_bonus")
    return ByRules(turn, anchors, *(lists[name] for name in names))


def random_lists(rules: Rules, seed: int) -> dict[str, Any]:
    """Rules that match at random, and at the end one without conditions for every box."""
    rng = np.random.default_rng(seed)
    n_boxes = len(rules.categories)
    shape, n = (rules.all_free + 1, 2), N_RULES + n_boxes
    inside = [[INDEX[keep] for keep in reference.keeps(roll)] for roll in ROLLS]
    keep = np.array([[[rng.choice(keeps) for keeps in inside] for _ in range(2)] for _ in range(N_RULES)], np.uint16)
    keep[rng.random(keep.shape) < 0.7] = NO_KEEP
    last = np.arange(n) >= N_RULES
    return {
        "keep": keep,
        "keep_applies": rng.random((N_RULES, *shape)) < 0.6,
        "box": np.append(rng.integers(n_boxes, size=N_RULES), rng.permutation(n_boxes)).astype(np.uint8),
        "rows": (rng.random((n, 270)) < 0.4) | last[:, None],
        "applies": (rng.random((n, *shape)) < 0.6) | last[:, None, None],
        "for_bonus": (rng.random(n) < 0.4) & ~last,
    }


def expected_decisions(rules: Rules, lists: dict[str, Any], free: int, chip: bool, lane: int) -> Any:
    """[first keep, second keep, category] × roll, from the text of the kernel's class."""
    moves, anchors = compile_moves(rules), Anchors(rules)
    rows = moves.rows(free, chip)
    decided = np.zeros((3, len(ROLLS)), int)
    for roll in range(len(ROLLS)):
        for stage in range(2):
            keeps = [lists["keep"][r, stage, roll] for r in range(N_RULES) if lists["keep_applies"][r, free, int(chip)]]
            decided[stage, roll] = next((keep for keep in keeps if keep != NO_KEEP), 0)
        able = {moves.outcomes[o].category: o for o in moves.open_to(free, chip, roll)}
        for rule, box in enumerate(lists["box"].tolist()):
            if box not in able or not lists["rows"][rule, rows[roll]] or not lists["applies"][rule, free, int(chip)]:
                continue
            *_, points = anchors.lead(np.array([free]), chip, np.array([lane]), moves, np.array([able[box]]))
            if lists["for_bonus"][rule] and points[0] == moves.outcomes[able[box]].points:
                continue
            decided[2, roll] = box
            break
    return decided


@pytest.mark.parametrize("name", ["free", "forced", "two-sixes"])
def test_the_first_rule_that_matches_decides(name: str) -> None:
    """On every scorecard, in every lane, the decisions are those of the first rules that match; forced jokers too."""
    rules = parse_rules(SMALL[name], source="test")
    anchors, turn = Anchors(rules), Turn(compile_moves(rules))
    lists = random_lists(rules, seed=2)
    decider = by_rules(turn, anchors, lists)
    assert decider.value is None
    n_won = 0
    for free, chip in np.argwhere(anchors.place >= 0).tolist():
        if not free:
            continue
        found = decider.decisions(free, bool(chip))
        for lane in range(anchors.n_lanes[free]):
            expected = expected_decisions(rules, lists, free, bool(chip), lane)
            assert np.array_equal(found[:, :, lane], expected), (free, chip, lane)
        n_won += int((found[2] != found[2, :, :1]).any())
    assert n_won > 0 or name == "two-sixes"  # where nothing reaches the bonus


def options(scored: dict[reference.Roll, float], roll: reference.Roll) -> list[reference.Row]:
    return [(scored[roll],)]


@pytest.mark.parametrize("name", ["free", "forced"])
def test_keeps_are_the_best_for_the_boxes(name: str) -> None:
    """Without rules for keeping, a turn is worth what trying every keep finds; following the decisions brings it."""
    rules = parse_rules(SMALL[name], source="test")
    anchors, turn = Anchors(rules), Turn(compile_moves(rules))
    lists = random_lists(rules, seed=2) | {"keep": None, "keep_applies": None}
    decider = by_rules(turn, anchors, lists)
    value = decider.value
    assert value is not None
    pays = np.array([[float(outcome.points) for outcome in turn.moves.outcomes]])
    followed = np.empty((1, anchors.n_places))
    policies.worth(decider, pays, np.array([float(anchors.bonus)]), followed)
    assert followed[0] == pytest.approx(value, rel=1e-13, abs=1e-13)
    for place in np.flatnonzero(anchors.exists)[::3].tolist():
        anchor = anchors.anchor(place)
        if anchor.free:
            lane = place - int(anchors.place[anchor.free, int(anchor.chip)])
            box = decider.decisions(anchor.free, anchor.chip)[2, :, lane]
            scored = {}
            for roll, category in zip(ROLLS, box, strict=True):
                number = ROLLS.index(roll)
                able = turn.moves.open_to(anchor.free, anchor.chip, number)
                outcome = next(turn.moves.outcomes[o] for o in able if turn.moves.outcomes[o].category == category)
                to, points = anchors.after(anchor, outcome)
                scored[roll] = points + value[anchors.index(to)]
            assert value[place] == pytest.approx(reference.best_turn(partial(options, scored))[0], rel=1e-13)


def test_instruction_sets_agree_to_the_bit() -> None:
    """Values and decisions are the same on every instruction set; ties go to the keep with the greatest index."""
    rules = parse_rules(SMALL["free"], source="test")
    anchors, lists = Anchors(rules), random_lists(rules, seed=3) | {"keep": None, "keep_applies": None}
    lists["box"][:] = np.where(np.arange(len(lists["box"])) < N_RULES, 3, lists["box"])  # much is tied at zero
    deciders = [by_rules(Turn(compile_moves(rules), isa), anchors, lists) for isa in instruction_sets()]
    decided = [decider.decisions(0b1000, chip=False) for decider in deciders]
    for decider, decisions in zip(deciders, decided, strict=True):
        assert np.array_equal(np.asarray(decider.value), np.asarray(deciders[0].value))
        assert np.array_equal(decisions, decided[0])
    all_equal = ROLLS.index((1, 1, 1, 1, 1))
    assert KEEPS[decided[0][1, all_equal, 0]] == (1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"box": np.array([0, 1, 2, 3], np.int64)}, "box: expected a C-contiguous array of uint8"),
        ({"rows": np.ones((4, 252), bool)}, r"rows: expected shape \(4, 270\)"),
        ({"rows": np.zeros((4, 270), bool)}, "box: expected a rule without conditions for every category"),
        ({"for_bonus": np.ones(4, bool)}, "box: expected a rule without conditions for every category"),
        ({"applies": np.zeros((4, 16, 2), bool)}, "box: expected a rule without conditions for every category"),
        ({"box": np.array([0, 1, 2, 9], np.uint8)}, "box: expected categories of the rules"),
        ({"keep": np.full((1, 2, 252), 463, np.uint16)}, "keep: expected keeps that are part of their roll"),
        ({"keep": np.full((1, 2, 252), 6, np.uint16)}, "keep: expected keeps that are part of their roll"),
        ({"keep_applies": np.ones((2, 16, 2), bool)}, r"keep_applies: expected shape \(1, 16, 2\)"),
    ],
)
def test_bad_lists(changed: dict[str, Any], complaint: str) -> None:
    """Lists that would lead the kernel astray are refused when they are handed over."""
    rules = parse_rules(SMALL["free"], source="test")
    lists: dict[str, Any] = {
        "keep": np.zeros((1, 2, 252), np.uint16),
        "keep_applies": np.ones((1, 16, 2), bool),
        "box": np.arange(4, dtype=np.uint8),
        "rows": np.ones((4, 270), bool),
        "applies": np.ones((4, 16, 2), bool),
        "for_bonus": np.zeros(4, bool),
    }
    turn, anchors = Turn(compile_moves(rules)), Anchors(rules)
    by_rules(turn, anchors, lists)
    with pytest.raises(KernelArgumentError, match=complaint):
        by_rules(turn, anchors, lists | changed)


def test_lists_are_copied() -> None:
    """Changing an array afterwards changes no decision."""
    rules = load_rules("yahtzee")
    lists = random_lists(rules, seed=4)
    decider = by_rules(Turn(compile_moves(rules)), Anchors(rules), lists)
    before = decider.decisions(0b1_0111_0000_0110, chip=True)
    for array in lists.values():
        array[:] = 0
    assert np.array_equal(decider.decisions(0b1_0111_0000_0110, chip=True), before)
