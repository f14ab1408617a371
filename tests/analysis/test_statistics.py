"""Exact statistics and distributions of the strategy with the highest expected score."""

from functools import cache

import numpy as np
import pytest

from yahtzee_cluster.analysis.statistics import (
    EXTRA_BONUS,
    UPPER_BONUS,
    Statistics,
    percentile,
    range_of_mean,
    statistics,
)
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.needs import Followed
from yahtzee_cluster.kernels.turn import Turn, instruction_sets
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.probabilities import Distribution

TABLE_III = {
    "aces": ("1.8813", "1.4786"), "deuces": ("5.2825", "3.9916"), "treys": ("8.5693", "7.3641"),
    "fours": ("12.1583", "10.8039"), "fives": ("15.6874", "14.8300"), "sixes": ("19.1889", "21.5585"),
    "three-of-a-kind": ("21.6614", "31.5904"), "four-of-a-kind": ("13.0977", "122.6289"),
    "full-house": ("22.5918", "54.4056"), "small-straight": ("29.4612", "15.8734"),
    "large-straight": ("32.7113", "238.4223"), "chance": ("22.0091", "6.4477"), "yahtzee": ("16.8683", "558.8751"),
    UPPER_BONUS: ("23.8413", "266.0375"), EXTRA_BONUS: ("9.5801", None),
}  # fmt: skip
"""Glenn 2007: mean and variance of each box and bonus."""

MISPRINTED = {("sixes", "19.1889"): "19.1886", ("three-of-a-kind", "21.6614"): "21.6615"}
"""Means that no strategy with the highest expected score has, and what all of them have."""

UP_TO_TIES = {("fives", "14.8300"): "14.8301", ("four-of-a-kind", "122.6289"): "122.6288"}
"""Variances that depend on how ties are broken, and what they are here."""


@cache
def of_yahtzee() -> Statistics:
    return statistics(load_rules("yahtzee"))


@pytest.mark.whole
def test_glenns_table_iii() -> None:
    """All means and variances are Glenn's to the last digit, but for two misprints and two that hang on ties."""
    found = of_yahtzee()
    assert set(found.names) == set(TABLE_III)
    for name, mean, variance in zip(found.names, found.mean, found.variance, strict=True):
        for printed, value in zip(TABLE_III[name], (mean, variance), strict=True):
            if printed is not None:
                assert f"{value:.4f}" == (MISPRINTED | UP_TO_TIES).get((name, printed), printed)


@pytest.mark.whole
@pytest.mark.parametrize(("name", "printed"), sorted(MISPRINTED))
def test_misprints(name: str, printed: str) -> None:
    """However ties are broken, these means do not round to what was printed."""
    least, most = range_of_mean(load_rules("yahtzee"), name)
    assert most - least < 1e-5
    assert f"{least:.4f}" == f"{most:.4f}" == MISPRINTED[name, printed]


@pytest.mark.whole
@pytest.mark.parametrize(("name", "printed"), sorted(UP_TO_TIES))
def test_digits_that_hang_on_ties(name: str, printed: str) -> None:
    """Some way to break ties has the printed variance, and another one that of this program."""
    rules = load_rules("yahtzee")
    (least_mean, most_mean), (least, most) = range_of_mean(rules, name), range_of_mean(rules, name, power=2)
    assert least - most_mean**2 <= float(printed) + 5e-5
    assert float(printed) - 5e-5 <= most - least_mean**2
    at = of_yahtzee().names.index(name)
    assert least - 1e-9 <= of_yahtzee().variance[at] + of_yahtzee().mean[at] ** 2 <= most + 1e-9


@pytest.mark.whole
def test_sums() -> None:
    """The currencies together are the score: their means add up to its mean, their covariances to its variance."""
    for name in ("forced-joker", "yacht"):
        table = solve_expected(load_rules(name))
        found = statistics(load_rules(name))
        assert found.mean.sum() == pytest.approx(table.mean[table.start], rel=1e-12)
        assert found.covariance.sum() == pytest.approx(table.std(table.start) ** 2, rel=1e-10)
        assert np.allclose(found.covariance, found.covariance.T, rtol=1e-12, atol=1e-12)
        assert np.linalg.eigvalsh(found.covariance).min() > -1e-9
        ends = [table.anchors.place[0, chip] for chip in range(2) if table.anchors.place[0, chip] >= 0]
        assert found.met[ends].sum() == pytest.approx(1, rel=1e-12)


def judged(rules: Rules) -> tuple[list[float], list[list[float]]]:
    """Means and covariances of what every box and bonus brings, as the judge finds them: from the end to the start."""
    names = [category.name for category in rules.categories]
    names += [UPPER_BONUS] * bool(rules.upper_bonus) + [EXTRA_BONUS] * bool(rules.extra_bonus)
    n, moments = len(names), reference.moments(rules)

    @cache
    def from_anchor(free: int, upper: int, chip: bool) -> reference.Row:
        """The means, then the means of all products."""
        if not free:
            return (0.0,) * (n + n * n)

        def options(roll: reference.Roll) -> list[tuple[reference.Row, reference.Row]]:
            found: list[tuple[reference.Row, reference.Row]] = []
            for play in rules.plays(free, chip, roll):
                anchor, points = reference.after(rules, free, upper, play)
                mean, square = moments(*anchor)
                bonus = points - play.points
                joker = len(set(roll)) == 1 and not free & rules.yahtzee_box and not free & rules.boxes_of(roll[0])
                own = rules.categories[play.category].score(roll, joker and rules.joker != "none")
                paid = [0.0] * n
                paid[play.category] = own
                if bonus:
                    paid[names.index(UPPER_BONUS)] = bonus
                if play.points > own:
                    paid[names.index(EXTRA_BONUS)] = play.points - own
                later = from_anchor(*anchor)
                means = tuple(paid[p] + later[p] for p in range(n))
                products = tuple(
                    later[n + p * n + q] + paid[p] * later[q] + paid[q] * later[p] + paid[p] * paid[q]
                    for p in range(n)
                    for q in range(n)
                )
                found.append(((mean + points, square + 2 * points * mean + points**2), means + products))
            return found

        return reference.evaluated_turn(options)

    row = from_anchor(rules.all_free, 0, False)
    return list(row[:n]), [[row[n + p * n + q] - row[p] * row[q] for q in range(n)] for p in range(n)]


def test_small_games_agree_with_the_judge() -> None:
    """Means and covariances are what a recursion from the end to the start finds, which needs no forward pass."""
    rules = load_rules("yahtzee")
    boxes = {box.name: box for box in rules.categories}
    small = Rules(
        "small", (boxes["aces"], boxes["yahtzee"], boxes["chance"]), upper_threshold=4, upper_bonus=7, extra_bonus=9,
        joker="free", yahtzee="yahtzee",
    )  # fmt: skip
    found, (mean, covariance) = statistics(small), judged(small)
    assert found.names == ("aces", "yahtzee", "chance", UPPER_BONUS, EXTRA_BONUS)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.covariance.ravel() == pytest.approx(np.ravel(covariance), rel=1e-9, abs=1e-12)


def curve_of(problem: Distribution) -> list[float]:
    """P(score ≥ s) from the start, solved one set after the other in memory."""
    blocks: dict[int, Block] = {}
    solve = problem.solver()
    for free in range(problem.rules.all_free + 1):
        n_values = int(problem.rows.n_values[free])
        blocks[free] = Block(np.array([free]), np.array([0, n_values]), np.full(n_values, np.nan))
        solve(blocks[free], [blocks.get(free ^ 1 << c) for c in range(len(problem.element_names))])
        assert problem.complaint(blocks[free]) is None if n_values else True
    return [1.0, *blocks[problem.rules.all_free].values.tolist()]


@pytest.mark.parametrize("isa", instruction_sets())
def test_distribution_has_the_moments_of_the_table(isa: str, small_rules: Rules) -> None:
    """Mean and second moment of the distribution are those of the expected-score table, on every instruction set."""
    problem = Distribution(small_rules, 10_000, isa)
    curve, table = np.array(curve_of(problem)), problem.expected
    n = np.arange(1, len(curve))
    assert curve[1:].sum() == pytest.approx(table.mean[table.start], rel=1e-12)
    assert ((2 * n - 1) * curve[1:]).sum() == pytest.approx(table.second_moment[table.start], rel=1e-12)
    assert curve.tolist() == curve_of(Distribution(small_rules, 10_000))


def test_percentiles() -> None:
    """A percentile is the lowest score that at least so many games do not exceed."""
    curve = [1.0, 0.9, 0.5, 0.5, 0.25]
    assert [percentile(curve, share) for share in (0.05, 0.11, 0.5, 0.51, 0.75, 0.76, 1)] == [0, 1, 1, 3, 3, 4, 4]


def test_bad_arguments() -> None:
    """Arrays of the wrong size never reach the kernels, and a decider belongs to its turn."""
    table = solve_expected(load_rules("yacht"))
    turn = Turn(compile_moves(load_rules("yacht")))
    decider = policies.ForTheMean(turn, table.anchors, table.mean, table.second_moment)
    n_outcomes, n_places = len(turn.moves.outcomes), table.anchors.n_places
    pays, crossing, worth = np.zeros((2, n_outcomes)), np.zeros(2), np.zeros((2, n_places))
    met, plays, product = np.zeros(n_places), np.zeros((2, n_outcomes)), np.zeros((2, 2))
    policies.trace(decider, pays, crossing, worth, met, plays, product)
    for wrong, complaint in (
        ((pays[:, 1:].copy(), crossing, worth, met, plays, product), "payoffs: expected shape"),
        ((pays, crossing[1:], worth, met, plays, product), "crossing: expected shape"),
        ((pays, crossing, worth[1:], met, plays, product), "worth: expected shape"),
        ((pays, crossing, worth, met[1:], plays, product), "reach: expected shape"),
        ((pays, crossing, worth, met, plays[1:], product), "met: expected shape"),
        ((pays, crossing, worth, met, plays, product[1:]), "product: expected shape"),
    ):
        with pytest.raises(KernelArgumentError, match=complaint):
            policies.trace(decider, *wrong)
    for fill in (policies.worth, policies.most_among_ties):
        with pytest.raises(KernelArgumentError, match="out: expected shape"):
            fill(decider, pays, crossing, worth[1:])
    with pytest.raises(KernelArgumentError, match="mean: expected shape"):
        policies.ForTheMean(turn, table.anchors, table.mean[1:], table.second_moment)
    with pytest.raises(KernelArgumentError, match="free, chip: no such scorecard: 1, True"):
        decider.decisions(1, True)
    problem = Distribution(load_rules("yacht"), 300)
    with pytest.raises(KernelArgumentError, match="decider: expected one with the same turn"):
        Followed(problem.new_turn(), problem.anchors, problem.rows.length, problem.rows.offset, decider)


@pytest.mark.whole
def test_decisions_of_the_first_turn() -> None:
    """What is decided with an empty scorecard is what a turn chooses by the means and second moments after it."""
    rules = load_rules("yahtzee")
    table, turn = solve_expected(rules), Turn(compile_moves(rules))
    decider = policies.ForTheMean(turn, table.anchors, table.mean, table.second_moment)
    worth = np.empty((2, len(turn.moves.outcomes), 1))
    for number, outcome in enumerate(turn.moves.outcomes):
        left, points = rules.all_free & ~(1 << outcome.category), outcome.points
        place = table.anchors.place[left, 0] if outcome.category == 11 and not outcome.chip else None
        if place is None:
            place = table.anchors.index(Anchor(left, outcome.upper, outcome.chip))
        mean, second = table.mean[place], table.second_moment[place]
        worth[:, number, 0] = mean + points, second + 2 * points * mean + points**2
    chosen = turn.choose(rules.all_free, False, worth[0], worth[1])
    lane = table.anchors.lane(rules.all_free, 0)
    assert np.array_equal(decider.decisions(rules.all_free, False)[:, :, lane], chosen[:, :, 0])


@pytest.mark.whole
@pytest.mark.parametrize("name", ["yahtzee", "yacht"])
def test_distributions_of_boxes(name: str) -> None:
    """Every distribution adds up to 1, has the box's mean and variance, and a third moment that ties allow."""
    found = of_yahtzee() if name == "yahtzee" else statistics(load_rules(name))
    for box, spread, mean, variance in zip(found.names, found.distributions, found.mean, found.variance, strict=True):
        if box == EXTRA_BONUS:
            assert spread is None
            continue
        assert spread is not None, box
        points, chances = spread
        assert (np.diff(points) > 0).all()
        assert (chances > 0).all()
        first, second, third = (float(points**power @ chances) for power in (1, 2, 3))
        assert chances.sum() == pytest.approx(1, abs=1e-12)
        assert first == pytest.approx(mean, rel=1e-12)
        assert second - first**2 == pytest.approx(variance, rel=1e-9)
        if box in {"four-of-a-kind", "chance"}:
            least, most = range_of_mean(load_rules(name), box, power=3)
            assert least * (1 - 1e-12) <= third <= most * (1 + 1e-12)


@pytest.mark.whole
def test_distribution_of_all_or_nothing() -> None:
    """A box or bonus that pays one number of points has that and nothing, by the chances that its mean tells."""
    found = of_yahtzee()
    for box, pays in (("yahtzee", 50), ("full-house", 25), (UPPER_BONUS, 35)):
        at = found.names.index(box)
        points, chances = found.distributions[at] or ([], [])
        assert list(points) == [0, pays]
        assert chances[1] == pytest.approx(found.mean[at] / pays, rel=1e-12)
