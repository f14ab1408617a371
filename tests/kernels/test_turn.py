"""The turn's operators, judged by the plainest Python."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from yahtzee_cluster.errors import KernelArgumentError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import FIVES, INDEX, KEEPS, ROLLS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.turn import ISA_VARIABLE, Turn, instruction_sets

NAMES = ("yahtzee", "forced-joker", "yatzy")
Values = NDArray[np.float64]


@cache
def turn_of(name: str, isa: str | None = None) -> Turn:
    return Turn(compile_moves(load_rules(name)), isa)


def random_values(turn: Turn, n: int, seed: int, distinct: int | None = None) -> Values:
    """A value for every outcome in every lane; few distinct ones make many ties."""
    rng = np.random.default_rng(seed)
    shape = (turn.n_outcomes, n)
    return rng.integers(-distinct, distinct, shape).astype(float) if distinct else rng.random(shape) - 0.4


def state(rules: Rules, free: int, chip: bool) -> tuple[int, bool]:
    free = free & rules.all_free or rules.all_free
    return free, chip and rules.has_chip and not free & rules.yahtzee_box


def outcome(turn: Turn, rules: Rules, free: int, chip: bool, roll: tuple[int, ...]) -> dict[int, int]:
    """For every legal category, the outcome that the rules (not the tables) say scoring the roll there has."""
    found = {}
    for play in rules.plays(free, chip, roll):
        gains_chip = play.chip and not chip
        for index, known in enumerate(turn.moves.outcomes):
            if (known.category, known.points, known.upper, known.chip) == (
                play.category, play.points, play.upper, gains_chip,
            ):  # fmt: skip
                found[play.category] = index
    return found


states = st.tuples(st.sampled_from(NAMES), st.integers(1, 2**15 - 1), st.booleans(), st.integers(0, 2**32 - 1))


@pytest.mark.parametrize("isa", instruction_sets())
@pytest.mark.parametrize(
    ("name", "free", "chip"),
    [
        ("yahtzee", 0b1_1111_1111_1111, False),
        ("yahtzee", 0b1_0111_1000_1001, True),
        ("forced-joker", 0b0_0111_0010_0110, True),
        ("forced-joker", 0b0_0000_0010_0110, False),
        ("yatzy", 0b101_0110_1100_1011, False),
    ],
)
def test_best_agrees_with_the_judge(isa: str, name: str, free: int, chip: bool) -> None:
    """A turn played best is worth what trying every keep and every category finds, in every lane."""
    turn, rules = turn_of(name, isa), load_rules(name)
    values, second = random_values(turn, 3, seed=1, distinct=3), random_values(turn, 3, seed=2)
    best, beside = turn.best(free, chip, values, second)
    outcomes = {roll: outcome(turn, rules, free, chip, roll) for roll in ROLLS}
    for lane in range(3):
        pairs = {roll: [(values[o, lane], second[o, lane]) for o in able.values()] for roll, able in outcomes.items()}
        judged = reference.best_turn(pairs.__getitem__)
        assert (best[lane], beside[lane]) == pytest.approx(judged, rel=1e-13, abs=0)


@given(states)
def test_instruction_sets_agree_to_the_bit(drawn: tuple[str, int, bool, int]) -> None:
    """Every operator gives the same bits on every instruction set, whatever the number of lanes."""
    name, free, chip, seed = drawn
    free, chip = state(load_rules(name), free, chip)
    n = 1 + seed % 19
    turns = [turn_of(name, isa) for isa in instruction_sets()]
    values, second, third = (random_values(turns[0], n, seed + i, distinct=(seed % 3) * 5 or None) for i in (0, 1, 2))
    decisions = turns[0].choose(free, chip, values)
    answers: list[list[NDArray[Any]]] = [
        [
            turn.best(free, chip, values),
            *turn.best(free, chip, values, second),
            *turn.best(free, chip, values, second, third),
            turn.keep_values(free, chip, values, second),
            turn.choose(free, chip, values),
            turn.choose(free, chip, values, second),
            turn.choose(free, chip, values, second, third),
            turn.spread(free, chip, decisions, third[0] + 1),
            *turn.follow(free, chip, decisions, values, second),
            turn.most(free, chip, values),
        ]
        for turn in turns
    ]
    for answer in answers[1:]:
        assert all(np.array_equal(mine, first) for mine, first in zip(answer, answers[0], strict=True))


def test_several_instruction_sets_run_here() -> None:
    """Portable C runs everywhere, so that there is always something to compare with."""
    assert instruction_sets()[-1] == "portable"
    assert [turn_of("yahtzee", isa).isa for isa in instruction_sets()] == instruction_sets()


@given(states)
def test_what_is_certain_stays_certain(drawn: tuple[str, int, bool, int]) -> None:
    """The probabilities of a turn sum to one: where every outcome is worth the same, so is the turn."""
    name, free, chip, seed = drawn
    turn = turn_of(name)
    free, chip = state(load_rules(name), free, chip)
    worth = np.full((turn.n_outcomes, 2), 1.0 + seed % 9)
    assert turn.best(free, chip, worth) == pytest.approx(worth[0], rel=1e-15, abs=0)
    assert turn.follow(free, chip, turn.choose(free, chip, worth), worth) == pytest.approx(worth[0], rel=1e-15, abs=0)


@given(states)
def test_following_the_best_choice_is_best(drawn: tuple[str, int, bool, int]) -> None:
    """Playing as `choose` decides is worth as much as `best` says."""
    name, free, chip, seed = drawn
    turn = turn_of(name)
    free, chip = state(load_rules(name), free, chip)
    values = random_values(turn, 1 + seed % 11, seed, distinct=(seed % 2) * 9 or None)
    followed = turn.follow(free, chip, turn.choose(free, chip, values), values)
    assert followed == pytest.approx(turn.best(free, chip, values), rel=1e-11, abs=0)


def random_decisions(rules: Rules, free: int, chip: bool, n: int, seed: int) -> NDArray[np.uint16]:
    """Some legal strategy, as good or bad as it may be."""
    rng = np.random.default_rng(seed)
    decisions = np.zeros((3, len(ROLLS), n), np.uint16)
    for place, roll in enumerate(ROLLS):
        inside = [INDEX[keep] for keep in reference.keeps(roll)]
        decisions[:2, place] = rng.choice(inside, (2, n))
        decisions[2, place] = rng.choice([play.category for play in rules.plays(free, chip, roll)], n)
    return decisions


@given(states)
def test_no_strategy_beats_the_best(drawn: tuple[str, int, bool, int]) -> None:
    """Whatever a strategy decides, it is worth at most what `best` says."""
    name, free, chip, seed = drawn
    turn, rules = turn_of(name), load_rules(name)
    free, chip = state(rules, free, chip)
    values = random_values(turn, 4, seed)
    followed = turn.follow(free, chip, random_decisions(rules, free, chip, 4, seed), values)
    assert (followed <= turn.best(free, chip, values) + 1e-13).all()


@pytest.mark.parametrize("n_decided", [1, 9])
def test_follow_agrees_with_the_judge(n_decided: int) -> None:
    """A strategy is worth what the judge finds, with decisions for every lane or one set for all."""
    turn, rules = turn_of("yahtzee"), load_rules("yahtzee")
    free, chip = 0b1_0111_0000_0110, True
    values, second = random_values(turn, 9, seed=3), random_values(turn, 9, seed=4)
    decisions = random_decisions(rules, free, chip, n_decided, seed=5)
    followed = turn.follow(free, chip, decisions, values, second)
    outcomes = {roll: outcome(turn, rules, free, chip, roll) for roll in ROLLS}
    for lane in (0, 7, 8):
        decided = decisions[:, :, lane % n_decided]
        first, later = ({roll: KEEPS[decided[s, i]] for i, roll in enumerate(ROLLS)} for s in (0, 1))
        for table, answer in zip((values, second), followed, strict=True):
            scored = {roll: float(table[outcomes[roll][int(decided[2, i])], lane]) for i, roll in enumerate(ROLLS)}
            assert answer[lane] == pytest.approx(reference.decided_turn(scored, later, first), rel=1e-13, abs=0)


@pytest.mark.parametrize("merge_zeros", [False, True])
def test_three_criteria_agree_with_the_judge(merge_zeros: bool) -> None:
    """Each criterion decides among the plays that tie in all before it, within the turn as at its end."""
    turn, rules = turn_of("yahtzee"), load_rules("yahtzee")
    free, chip = 0b1_0111_1000_1001, True
    points = np.array([[known.points] for known in turn.moves.outcomes])
    coarse = [points // 25, points // 10, points]  # few distinct values, so that much is tied; points never hurt
    values = [np.repeat(criterion, 2, axis=1).astype(float) for criterion in coarse]
    values[2][:, 1] += random_values(turn, 1, seed=9)[:, 0] if not merge_zeros else 0
    found = turn.best(free, chip, *values, merge_zeros=merge_zeros)
    outcomes = {roll: outcome(turn, rules, free, chip, roll) for roll in ROLLS}
    for lane in range(2):

        def worth(roll: tuple[int, ...], lane: int = lane) -> list[reference.Row]:
            return [tuple(criterion[o, lane] for criterion in values) for o in outcomes[roll].values()]

        judged = reference.best_turn(worth)
        assert [criterion[lane] for criterion in found] == pytest.approx(judged, rel=1e-13, abs=0)


@given(states)
def test_following_the_choice_by_three_criteria(drawn: tuple[str, int, bool, int]) -> None:
    """What `choose` decides by three criteria is worth by each of them what `best` says."""
    name, free, chip, seed = drawn
    turn = turn_of(name)
    free, chip = state(load_rules(name), free, chip)
    values = [random_values(turn, 1 + seed % 11, seed + i, distinct=2 + seed % 3) for i in range(3)]
    followed = turn.follow(free, chip, turn.choose(free, chip, *values), *values)
    for mine, best in zip(followed, turn.best(free, chip, *values), strict=True):
        assert mine == pytest.approx(best, rel=1e-10, abs=1e-11)


@given(states)
def test_keep_values_show_what_is_chosen(drawn: tuple[str, int, bool, int]) -> None:
    """The keep that is chosen is worth most of all that are part of a roll, and the first keeps are worth the turn."""
    name, free, chip, seed = drawn
    turn = turn_of(name)
    free, chip = state(load_rules(name), free, chip)
    values = random_values(turn, 3, seed)
    weighed, chosen = turn.keep_values(free, chip, values)[0], turn.choose(free, chip, values)
    roll = reference.ROLLS[seed % len(reference.ROLLS)]
    inside = [INDEX[keep] for keep in reference.keeps(roll)]
    for stage in range(2):
        best = weighed[stage, inside].max(axis=0)
        picked = weighed[stage, chosen[stage, ROLLS.index(roll)], np.arange(3)]
        assert picked == pytest.approx(best, rel=1e-12)  # of equal keeps, rounding makes one the best
    throws = reference.throws(()).items()
    worth = sum(chance * weighed[0, [INDEX[keep] for keep in reference.keeps(r)]].max(axis=0) for r, chance in throws)
    assert worth == pytest.approx(turn.best(free, chip, values), rel=1e-12, abs=1e-14)


@given(states, st.booleans())
def test_spread_is_follow_the_other_way_round(drawn: tuple[str, int, bool, int], shared: bool) -> None:
    """What arrives at the outcomes, each at its worth, is what the lanes hold, each at the worth of playing on."""
    name, free, chip, seed = drawn
    turn, rules = turn_of(name), load_rules(name)
    free, chip = state(rules, free, chip)
    n = 1 + seed % 11
    values, weights = random_values(turn, n, seed), np.random.default_rng(seed).random(n)
    decisions = random_decisions(rules, free, chip, 1 if shared else n, seed)
    arrived = turn.spread(free, chip, decisions, weights)
    assert arrived.sum(axis=0) == pytest.approx(weights, rel=1e-13)
    worth = weights * turn.follow(free, chip, decisions, values)
    assert (arrived * values).sum(axis=0) == pytest.approx(worth, rel=1e-12, abs=1e-14)
    able = {o for roll in ROLLS for o in outcome(turn, rules, free, chip, roll).values()}
    assert not arrived[[o for o in range(turn.n_outcomes) if o not in able]].any()


def test_ties_are_broken_as_documented() -> None:
    """Among equals, `choose` keeps the most dice, then the highest faces, and fills the first category."""
    turn, rules = turn_of("yahtzee"), load_rules("yahtzee")
    free, chip = 0b1_0000_1110_0011, False
    values = random_values(turn, 5, seed=6, distinct=3)
    decisions = turn.choose(free, chip, values)
    assert (turn.choose(free, chip, np.ones_like(values))[:2, :, 0] == np.arange(210, 462)).all()
    outcomes = {roll: outcome(turn, rules, free, chip, roll) for roll in ROLLS}
    for lane in range(5):
        worth: dict[tuple[int, ...], reference.Row] = {}
        for place, roll in enumerate(ROLLS):
            options = {category: values[o, lane] for category, o in outcomes[roll].items()}
            worth[roll] = (max(options.values()), 0.0)
            assert decisions[2, place, lane] == min(c for c, v in options.items() if v == worth[roll][0])
        for stage in (1, 0):
            kept = {keep: reference.mean(reference.throws(keep), worth)[0] for keep in reference.KEEPS}
            for place, roll in enumerate(ROLLS):
                best = max(kept[keep] for keep in reference.keeps(roll))
                tied = [keep for keep in reference.keeps(roll) if kept[keep] >= best - 1e-12 * abs(best)]
                assert KEEPS[decisions[stage, place, lane]] == max(tied, key=lambda keep: (len(keep), keep))
            worth = {roll: (max(kept[keep] for keep in reference.keeps(roll)), 0.0) for roll in ROLLS}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("gap", "tied"), [(1e-13, True), (1e-11, False)])
def test_where_a_tie_ends(gap: float, tied: bool, sign: float) -> None:
    """Values 1e-13 apart are tied and the second value decides; 1e-11 apart they are not; likewise below zero."""
    turn, free = turn_of("yahtzee"), 0b1_0000_0000_0001  # aces and chance
    values, second = np.full((turn.n_outcomes, 1), sign), np.zeros((turn.n_outcomes, 1))
    for index, known in enumerate(turn.moves.outcomes):
        if known.category == 0:
            values[index], second[index] = sign - gap, 5.0
    _, beside = turn.best(free, False, values, second)
    assert beside == pytest.approx(5.0 if tied else 0.0, abs=1e-12)


@given(states)
def test_second_value_decides_ties_only(drawn: tuple[str, int, bool, int]) -> None:
    """The second value never costs anything of the first, and is at least that of any equally good strategy."""
    name, free, chip, seed = drawn
    turn = turn_of(name)
    free, chip = state(load_rules(name), free, chip)
    values, second = random_values(turn, 4, seed, distinct=4), random_values(turn, 4, seed + 1)
    best, beside = turn.best(free, chip, values, second)
    assert np.array_equal(best, turn.best(free, chip, values))
    _, followed = turn.follow(free, chip, turn.choose(free, chip, values), values, second)
    assert (followed <= beside + 1e-13).all()


@given(states)
def test_merging_zeros_changes_nothing_where_points_never_hurt(drawn: tuple[str, int, bool, int]) -> None:
    """With values that grow with the points of an outcome, the shortcut for zeros gives the same bits."""
    name, free, chip, seed = drawn
    turn = turn_of(name)
    free, chip = state(load_rules(name), free, chip)
    points = np.array([[known.points + 0.5 * known.chip] for known in turn.moves.outcomes])
    categories = [known.category for known in turn.moves.outcomes]
    rng = np.random.default_rng(seed)
    values = rng.random((16, 3))[categories] + points * rng.random((16, 3))[categories]
    assert np.array_equal(turn.best(free, chip, values, merge_zeros=True), turn.best(free, chip, values))


def test_most_is_the_best_outcome_of_any_roll() -> None:
    """The luckiest roll brings the highest value among all outcomes that some roll can have."""
    turn, rules = turn_of("forced-joker"), load_rules("forced-joker")
    free, chip = 0b0_0110_0000_0110, True
    values = random_values(turn, 12, seed=8)
    able = {o for roll in ROLLS for o in outcome(turn, rules, free, chip, roll).values()}
    assert np.array_equal(turn.most(free, chip, values), values[sorted(able)].max(axis=0))


def test_unused_outcomes_may_hold_anything() -> None:
    """Values of outcomes that no roll has in this state are not read."""
    turn, rules = turn_of("yahtzee"), load_rules("yahtzee")
    free, chip = 0b0_0000_0000_1001, False
    values = random_values(turn, 8, seed=9)
    able = {o for roll in ROLLS for o in outcome(turn, rules, free, chip, roll).values()}
    spoiled = np.where(np.isin(np.arange(turn.n_outcomes), sorted(able))[:, None], values, np.nan)
    assert np.array_equal(turn.best(free, chip, spoiled), turn.best(free, chip, values))


def test_rerolls_run() -> None:
    """The floor that benchmarks compare with can be measured."""
    turn_of("yahtzee").rerolls(2)


GOOD: Values = np.zeros((turn_of("yahtzee").n_outcomes, 4))
KEEP_ALL = np.stack([np.arange(210, 462), np.arange(210, 462), np.full(252, 12)]).astype(np.uint16)[:, :, None]


def spoiled(array: NDArray[np.uint16], at: tuple[int, int, int], value: int) -> NDArray[np.uint16]:
    copy = np.array(array)
    copy[at] = value
    return copy


@pytest.mark.parametrize(
    ("free", "values", "decisions", "complaint"),
    [
        (0, GOOD, None, "free: expected 1 to 8191, found 0"),
        (8192, GOOD, None, "free: expected 1 to 8191"),
        (1, GOOD.astype(np.float32), None, "values: expected a C-contiguous array of float64"),
        (1, np.asfortranarray(GOOD), None, "values: expected a C-contiguous"),
        (1, GOOD[:, :0].copy(), None, "values: expected at least one lane"),
        (-1, GOOD, None, "free: expected 1 to 8191, found -1"),
        (2**40, GOOD, None, "free: expected 1 to 8191"),
        (1, GOOD[1:], None, r"values: expected shape \(161, any\), found \(160, 4\)"),
        (1, GOOD * np.nan, None, "values: expected finite numbers for all outcomes in reach"),
        (1, GOOD + np.inf, None, "values: expected finite numbers"),
        (1, GOOD.tolist(), None, "values: expected an array"),
        (1, GOOD[0], None, "values: expected shape"),
        (8191, GOOD, KEEP_ALL.astype(np.int16), "decisions: expected a C-contiguous array of uint16"),
        (8191, GOOD, KEEP_ALL[:2], "decisions: expected shape"),
        (8191, GOOD, np.repeat(KEEP_ALL, 3, axis=2), "decisions: expected 1 or 4 lanes, found 3"),
        (8191, GOOD, spoiled(KEEP_ALL, (0, 0, 0), 461), "decisions: expected keeps that are part of their roll"),
        (8191, GOOD, spoiled(KEEP_ALL, (1, 9, 0), 9999), "decisions: expected keeps that are part of their roll"),
        (8191, GOOD, spoiled(KEEP_ALL, (2, 9, 0), 13), "decisions: expected categories that are open"),
        (4095, GOOD, KEEP_ALL, "decisions: expected categories that are open"),
    ],
)
def test_bad_arguments(free: int, values: Values, decisions: NDArray[np.uint16] | None, complaint: str) -> None:
    """Every array is checked for type, layout, each length and its contents before the kernel sees it."""
    turn = turn_of("yahtzee")
    with pytest.raises(KernelArgumentError, match=complaint):
        turn.best(free, False, values) if decisions is None else turn.follow(free, False, decisions, values)


@pytest.mark.parametrize(
    ("free", "weights", "decisions", "complaint"),
    [
        (8191, GOOD[0, :0], KEEP_ALL, "weights: expected at least one lane"),
        (8191, GOOD[0].astype(np.float32), KEEP_ALL, "weights: expected a C-contiguous array of float64"),
        (8191, GOOD, KEEP_ALL, "weights: expected shape"),
        (8191, GOOD[0], np.repeat(KEEP_ALL, 3, axis=2), "decisions: expected 1 or 4 lanes, found 3"),
        (4095, GOOD[0], KEEP_ALL, "decisions: expected categories that are open"),
        (0, GOOD[0], KEEP_ALL, "free: expected 1 to 8191, found 0"),
    ],
)
def test_bad_weights(free: int, weights: Values, decisions: NDArray[np.uint16], complaint: str) -> None:
    """What is to be spread is checked as everything else."""
    with pytest.raises(KernelArgumentError, match=complaint):
        turn_of("yahtzee").spread(free, False, decisions, weights)


def test_tables_belong_to_the_turn() -> None:
    """Changing the tables after a turn was made of them changes nothing."""
    moves = compile_moves(load_rules("yahtzee"))
    turn, values = Turn(moves), random_values(turn_of("yahtzee"), 3, seed=4)
    before = turn.best(8191, False, values)
    moves.outcome_of[:], moves.legal[:] = 30000, 0
    assert np.array_equal(turn.best(8191, False, values), before)


def test_a_turn_works_for_one_thread_at_a_time() -> None:
    """Threads that share a Turn are refused or served right; none gets another's numbers."""
    turn, values = turn_of("yahtzee"), random_values(turn_of("yahtzee"), 400, seed=5)
    expected = turn.best(8191, False, values)

    def work(_: int) -> bool:
        try:
            return np.array_equal(turn.best(8191, False, values), expected)
        except KernelArgumentError as refusal:
            return "every thread needs one of its own" in str(refusal)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(200)))
    assert np.array_equal(turn.best(8191, False, values), expected)


def test_chip_needs_a_filled_yahtzee_box() -> None:
    """A chip while the Yahtzee box is free is no state of the game."""
    with pytest.raises(KernelArgumentError, match="chip: expected False while the Yahtzee box is free"):
        turn_of("yahtzee").best(8191, True, GOOD)


class Liar(np.ndarray[Any, Any]):
    """An array that says it is larger than it is."""

    def __getattribute__(self, name: str) -> Any:
        return (161, 1000) if name == "shape" else super().__getattribute__(name)


def test_arrays_are_not_taken_at_their_word() -> None:
    """A subclass that lies about its shape, and an array that is not aligned, are seen through."""
    assert len(turn_of("yahtzee").best(1, False, GOOD.view(Liar))) == 4
    shifted = np.zeros(GOOD.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(GOOD.shape)
    with pytest.raises(KernelArgumentError, match="values: expected a C-contiguous array"):
        turn_of("yahtzee").best(1, False, shifted)


def test_bad_second_values() -> None:
    """Second values must match the first ones in shape."""
    with pytest.raises(KernelArgumentError, match=r"values: expected shape \(161, 4\), found \(161, 3\)"):
        turn_of("yahtzee").best(1, False, GOOD, GOOD[:, :3].copy())
    with pytest.raises(KernelArgumentError, match="values: expected at most 3 criteria, found 4"):
        turn_of("yahtzee").best(1, False, GOOD, GOOD, GOOD, GOOD)


def test_bad_tables() -> None:
    """Tables that would lead a kernel astray are refused when they are handed over."""
    moves = compile_moves(load_rules("yahtzee"))
    for broken, complaint in (
        (replace(moves, outcome_of=moves.outcome_of + np.int16(200)), "outcome_of: expected indices"),
        (replace(moves, zero_of=moves.zero_of + np.int16(500)), "zero_of: expected indices"),
        (replace(moves, outcome_of=np.roll(moves.outcome_of, 1, axis=0)[:, ::-1].copy()), "outcome_of: expected"),
        (replace(moves, outcomes=moves.outcomes[::-1]), "outcome_of: expected outcomes of the category"),
        (replace(moves, zero_of=np.full(16, -2, np.int16)), "zero_of: expected indices"),
        (replace(moves, zero_of=np.roll(moves.zero_of, 1)), "zero_of: expected outcomes that score zero"),
        (replace(moves, legal=moves.legal * np.uint16(0)), "legal: expected some of the free categories"),
        (replace(moves, legal=moves.legal[:5000]), "legal: expected one row for every set of categories, found 5000"),
        (replace(moves, outcomes=(*moves.outcomes, replace(moves.outcomes[0], category=64))), "outcomes: expected cat"),
        (replace(moves, scoring=moves.scoring[1:]), "scoring: expected shape"),
        (replace(moves, legal=moves.legal | np.uint16(1)), "legal: expected some of the free categories"),
        (replace(moves, outcomes=()), "outcomes: expected 1 to 1000, found 0"),
    ):
        with pytest.raises(KernelArgumentError, match=complaint):
            Turn(broken)


def test_unknown_instruction_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instruction set can be asked for, by argument or environment; one that is not here is refused."""
    moves = compile_moves(load_rules("yacht"))
    with pytest.raises(UsageError, match=r"no instruction set 'vax' here; this machine has .*portable"):
        Turn(moves, "vax")
    monkeypatch.setenv(ISA_VARIABLE, "portable")
    assert Turn(moves).isa == "portable"


def test_five_equal_dice_are_where_the_kernels_look() -> None:
    """The only rolls with several rows are the six that the tables know as fives."""
    assert [len(set(ROLLS[place])) for place in FIVES] == [1] * 6
