"""The expected-score table: published numbers, the judge, and an independent solver."""

import hashlib
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.game.rules import Anchor, Category, Rules
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn, instruction_sets
from yahtzee_cluster.objectives.expected import Expected, ExpectedTable, solve_expected

TABLES: dict[str, ExpectedTable] = {}


def table_of(name: str) -> ExpectedTable:
    if name not in TABLES:
        TABLES[name] = solve_expected(load_rules(name))
    return TABLES[name]


def as_printed(value: float, published: str) -> str:
    """A value with as many digits as were published."""
    return f"{value:.{len(published.partition('.')[2])}f}"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("yahtzee", "254.5896", "59.6117"),
        ("forced-joker", "254.5877", None),
        ("kniffel", "245.904728", None),
        ("simple", "245.8708", None),
        ("yaht", "234.6", "31.95"),
        ("yacht", "169.8", None),
        ("yatzy", "248.4400", None),
    ],
)
def test_published_numbers(name: str, mean: str, std: str | None) -> None:
    """The empty scorecard's mean, and its deviation where one was published, agree to the last printed digit."""
    table, rules = table_of(name), load_rules(name)
    assert as_printed(float(table.mean[table.start]), mean) == mean
    assert std is None or as_printed(table.std(table.start), std) == std
    assert (rules.published_mean, rules.published_std) == (mean, std)


def loosened(rules: Rules, name: str) -> Rules:
    """The rules with one category that takes groups of the same face."""
    boxes = (replace(box, distinct=box.name != name) if box.groups else box for box in rules.categories)
    return replace(rules, categories=tuple(boxes))


WITNESSED = {
    "american": load_rules("yahtzee"),
    "american+forced-joker": load_rules("forced-joker"),
    "american+no-joker": load_rules("no-joker"),
    "american+no-bonus": load_rules("simple"),
    "yatzy-scandinavian": load_rules("yatzy"),
    "yatzy-scandinavian+tp4": loosened(load_rules("yatzy"), "two-pairs"),
    "yatzy-scandinavian+fh5": loosened(load_rules("yatzy"), "full-house"),
}


@pytest.mark.witness
@pytest.mark.parametrize("variant", WITNESSED)
def test_independent_witness(variant: str) -> None:
    """A solver written by others, in another language, finds the same mean from two thousand random states."""
    witness = pytest.importorskip("yatzy_solver")
    rules = WITNESSED[variant]
    table = solve_expected(rules)
    names = [category.name.replace("-", "_") for category in rules.categories]
    theirs = [{"five_of_a_kind": "yahtzee"}.get(name, name) for name in witness.Variant(variant).categories]
    if "yahtzee" in names:
        theirs = [{"ones": "aces", "twos": "deuces", "threes": "treys"}.get(name, name) for name in theirs]
    rng = np.random.default_rng(2002)
    states = []
    for free in [rules.all_free, *rng.integers(1, rules.all_free, 2000).tolist()]:
        filled = [c for c in range(len(names)) if not free >> c & 1]
        upper = sum((rules.categories[c].face or 0) * int(rng.integers(6)) for c in filled)
        chip = bool(rules.has_chip and not free & rules.yahtzee_box and rng.integers(2))
        states.append((free, min(upper, 63), chip, sum(1 << theirs.index(names[c]) for c in filled)))
    frees, totals, chips, masks = zip(*states, strict=True)
    ours = [table.mean[table.anchors.index(Anchor(*state))] for state in zip(frees, totals, chips, strict=True)]
    solver = witness.Solver.build(witness.Variant(variant))
    found = solver.state_values(np.array(masks, np.uint32), np.array(totals, np.uint16), np.array(chips))
    np.testing.assert_allclose(ours, found, rtol=1e-12)


@pytest.mark.whole
def test_yatzy_with_looser_two_pairs() -> None:
    """Where four of a kind counts as two pairs, Yatzy's mean is 248.6441 (248.63 is often quoted)."""
    table = solve_expected(loosened(load_rules("yatzy"), "two-pairs"))
    assert as_printed(float(table.mean[table.start]), "248.6441") == "248.6441"


@pytest.mark.whole
def test_small_games_completely(small_rules: Rules) -> None:
    """In the small games, mean and second moment from every anchor are what the judge finds."""
    table = solve_expected(small_rules)
    judge = reference.moments(small_rules)
    for place in np.flatnonzero(table.anchors.exists):
        anchor = table.anchors.anchor(int(place))
        uppers_meant = [anchor.upper] if anchor.upper is not None else closed_totals(table, anchor)
        for upper in uppers_meant:
            judged = judge(anchor.free, upper, anchor.chip)
            assert (table.mean[place], table.second_moment[place]) == pytest.approx(judged, rel=1e-12, abs=1e-12)


def closed_totals(table: ExpectedTable, anchor: Anchor) -> list[int]:
    """Two upper totals that a closed anchor stands for: the bonus already won, and out of reach if that can be."""
    anchors = table.anchors
    won = anchors.threshold if anchors.bonus else 0
    lost = anchors.threshold - int(anchors.reserve[anchor.free]) - 1
    return [won, lost] if lost >= 0 else [won]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["yahtzee", "forced-joker", "no-joker", "yatzy", "yacht", "kniffel"])
def test_sampled_anchors_of_the_real_games(name: str) -> None:
    """One turn of the judge, from the table's own values one turn later, gives the table's values back."""
    table, rules = table_of(name), load_rules(name)
    existing = np.flatnonzero(table.anchors.exists)
    for place in np.random.default_rng(11).choice(existing[existing > 10], 8, replace=False):
        anchor = table.anchors.anchor(int(place))
        for upper in [anchor.upper] if anchor.upper is not None else closed_totals(table, anchor):
            judged = reference.best_turn(partial(options, table, rules, anchor, upper))
            assert (table.mean[place], table.second_moment[place]) == pytest.approx(judged, rel=1e-12, abs=0)


def options(
    table: ExpectedTable, rules: Rules, anchor: Anchor, upper: int, roll: tuple[int, ...]
) -> list[tuple[float, float]]:
    found = []
    for play in rules.plays(anchor.free, anchor.chip, roll):
        state, points = reference.after(rules, anchor.free, upper, play)
        place = table.anchors.index(Anchor(*state))
        mean, second = float(table.mean[place]), float(table.second_moment[place])
        found.append((mean + points, second + 2 * points * mean + points**2))
    return found


def test_instruction_sets_agree_to_the_bit() -> None:
    """The whole table has the same bytes on every instruction set."""
    hashes = set()
    for isa in instruction_sets():
        table = solve_expected(load_rules("yahtzee"), isa)
        hashes.add(hashlib.sha256(table.mean.tobytes() + table.second_moment.tobytes()).hexdigest())
    assert len(hashes) == 1


def test_means_do_not_depend_on_what_travels_beside_them() -> None:
    """The means are the same bits whether second moments are worked out or not."""
    table = table_of("yahtzee")
    mean = np.full(table.anchors.n_places, np.nan)
    uppers.moments(Turn(compile_moves(load_rules("yahtzee"))), table.anchors, mean)
    assert np.array_equal(mean, table.mean)


@pytest.mark.parametrize("name", preset_names())
def test_every_value_is_plausible(name: str) -> None:
    """Every anchor has a finite mean and no negative variance; the finished scorecard scores nothing more."""
    table = table_of(name)
    exists = table.anchors.exists
    assert np.isfinite(table.mean[exists]).all()
    assert (table.second_moment[exists] >= table.mean[exists] ** 2 * (1 - 1e-12)).all()
    assert table.mean[0] == table.second_moment[0] == 0.0


categories = st.one_of(
    st.builds(Category, name=st.just(""), points=st.just("matching"), face=st.integers(1, 6)),
    st.builds(Category, name=st.just(""), points=st.integers(0, 40), groups=st.sampled_from([(2,), (3, 2), (4,)])),
    st.builds(Category, name=st.just(""), points=st.just("sum"), groups=st.sampled_from([(), (3,)])),
    st.builds(Category, name=st.just(""), points=st.integers(0, 40), run=st.integers(2, 5)),
)


@settings(max_examples=40)
@given(
    chosen=st.lists(categories, min_size=1, max_size=4),
    bonus=st.integers(0, 30),
    threshold=st.integers(1, 40),
    which=st.integers(0, 3),
    more=st.integers(1, 20),
)
def test_more_points_never_hurt(chosen: list[Category], bonus: int, threshold: int, which: int, more: int) -> None:
    """Raising the upper bonus, or the points of a category, never lowers the expected score."""
    named = tuple(replace(category, name=str(place)) for place, category in enumerate(chosen))
    rules = Rules("g", named, upper_threshold=threshold if bonus else 0, upper_bonus=bonus)
    table = solve_expected(rules)
    category = named[which % len(named)]
    raised = [replace(rules, upper_threshold=threshold, upper_bonus=bonus + more)]
    if isinstance(category.points, int):
        better = replace(category, points=category.points + more)
        raised.append(replace(rules, categories=tuple(better if c is category else c for c in named)))
    for other in map(solve_expected, raised):
        assert other.mean[other.start] >= table.mean[table.start] * (1 - 1e-12)


def test_bad_arguments() -> None:
    """Arrays of the wrong size never reach the kernel."""
    table = table_of("yacht")
    turn = Turn(compile_moves(load_rules("yacht")))
    with pytest.raises(KernelArgumentError, match="value: expected shape"):
        uppers.moments(turn, table.anchors, table.mean[1:])
    with pytest.raises(KernelArgumentError, match="second: expected shape"):
        uppers.moments(turn, table.anchors, table.mean.copy(), table.mean[1:])
    with pytest.raises(KernelArgumentError, match="second: expected memory of its own"):
        uppers.moments(turn, table.anchors, table.mean, table.mean)
    fixed = table.mean.copy()
    fixed.flags.writeable = False
    with pytest.raises(KernelArgumentError, match="value: expected an array that can be written to"):
        uppers.moments(turn, table.anchors, fixed)


def test_foreign_anchors() -> None:
    """A turn refuses the anchors of other rules, even where every shape is the same."""
    turn, mean = Turn(compile_moves(load_rules("yahtzee"))), table_of("simple").mean.copy()
    with pytest.raises(KernelArgumentError, match="anchors: expected those of the rules that the turn was made for"):
        uppers.moments(turn, table_of("simple").anchors, mean)


@pytest.mark.parametrize(
    ("table", "at", "value"), [("place", (5, 0), 10**9), ("n_lanes", 8191, 10**8), ("place", (0, 1), -1)]
)
def test_damaged_layout(table: str, at: tuple[int, int], value: int) -> None:
    """A layout that would lead a kernel astray is refused, whatever is wrong with it."""
    rules = load_rules("yahtzee")
    anchors = Anchors(rules)
    getattr(anchors, table)[at] = value
    with pytest.raises(KernelArgumentError, match="place: expected"):
        uppers.moments(Turn(compile_moves(rules)), anchors, np.zeros(anchors.n_places))


def test_certain_games_have_no_deviation() -> None:
    """Where every play scores the same, the deviation is 0 and not what rounding leaves of it."""
    boxes = tuple(Category(name=str(i), points=997) for i in range(8))
    table = solve_expected(Rules("certain", boxes))
    assert (table.mean[table.start], table.std(table.start)) == (pytest.approx(8 * 997), 0.0)


def test_one_set_at_a_time(small_rules: Rules) -> None:
    """Solved one set of free categories at a time, as a job does, the table has the same bits."""
    whole = solve_expected(small_rules)
    problem = Expected(small_rules)
    layers, solve = problem.partition(0), problem.solver()
    below: Block | None = None
    for layer in layers.classes:
        starts = layers.starts(layer)
        block = Block(layers.members(layer), starts, np.full(starts[-1], np.nan))
        solve(block, [below] * len(small_rules.categories))
        assert problem.complaint(block) is None
        for free in block.subsets.tolist():
            mean, second_moment = np.split(block[free], 2)
            assert np.array_equal(mean, whole.mean[problem.anchors.places(free)])
            assert np.array_equal(second_moment, whole.second_moment[problem.anchors.places(free)])
        below = block


def test_bad_sets() -> None:
    """The kernel for single sets refuses wrong sets, and arrays of another type or length."""
    problem = Expected(load_rules("yacht"))
    moments = uppers.Moments(problem.new_turn(), problem.anchors)
    nothing, out = np.zeros(2), np.empty(2)
    moments.solve(1, [nothing] * 12, out)
    with pytest.raises(KernelArgumentError, match="free: expected 1 to 4095, found 0"):
        moments.solve(0, [nothing] * 12, out)
    with pytest.raises(KernelArgumentError, match=r"successors\[0\]: expected shape \(2\), found \(3,\)"):
        moments.solve(1, [np.zeros(3)] * 12, out)
    with pytest.raises(KernelArgumentError, match=r"out: expected shape \(2\), found \(1,\)"):
        moments.solve(1, [nothing] * 12, np.empty(1))
    with pytest.raises(KernelArgumentError, match=r"successors\[0\]: expected an array"):
        moments.solve(1, [None] * 12, out)
