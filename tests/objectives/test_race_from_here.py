"""Races that begin in the middle of a game: against the reference, and against the tables of whole races."""

import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
from small_games import SMALL

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import leads
from yahtzee_cluster.game.rest import to_whole
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels.turn import instruction_sets
from yahtzee_cluster.objectives.race import Begun, Race, RaceWins
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import solve_in_memory
from yahtzee_cluster.tables.race import RaceTable


def solved(problem: Race) -> RaceTable:
    table = table_of(problem, solve_in_memory(problem, threads=1))
    assert isinstance(table, RaceTable)
    return table


def card(rules: Rules, anchor: Anchor) -> reference.Anchor:
    return anchor.free, rules.upper_threshold if anchor.upper is None else anchor.upper, anchor.chip


def beginnings(rules: Rules, n_free: tuple[int, int], n: int, seed: int = 1) -> list[Begun]:
    """Some pairs of anchors that some game comes to, with so many free categories, and leads on both sides of 0."""
    anchors, random = Anchors(rules), np.random.default_rng(seed)
    every = [anchors.anchor(place) for place in np.flatnonzero(anchors.exists).tolist()]
    alike = [[anchor for anchor in every if anchor.free.bit_count() == size] for size in n_free]
    drawn = [[some[i] for i in random.integers(len(some), size=n)] for some in alike]
    return [Begun(one, two, int(random.integers(-9, 10))) for one, two in zip(*drawn, strict=True)]


@pytest.mark.parametrize(
    ("n_free", "n"),
    [((0, 1), 12), ((1, 1), 8), ((1, 2), 2), pytest.param((2, 2), 1, marks=pytest.mark.whole)],
    ids=["0-1", "1-1", "1-2", "2-2"],
)
def test_beginnings_are_the_reference_s(small_rules: Rules, n_free: tuple[int, int], n: int) -> None:
    """From many pairs of scorecards and leads, value and chance of a win are what trying out everything finds."""
    judge, n_undecided = reference.race(small_rules), 0
    for begun in beginnings(small_rules, n_free, n):
        expected = judge(card(small_rules, begun.one), card(small_rules, begun.two), begun.lead)
        assert solved(RaceWins(small_rules, begun)).opening() == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert solved(Race(small_rules, begun)).opening() == pytest.approx(expected[:1], rel=1e-12, abs=1e-15)
        n_undecided += 0 < expected[0] < 1
    assert n_undecided > 0


@pytest.mark.parametrize("name", ["yahtzee", "forced-joker", "kniffel"])
def test_the_end_of_a_real_game(name: str) -> None:
    """With upper bonus, jokers and extra bonuses of real rules, the last turns are the reference's."""
    rules = load_rules(name)
    at = {category.name: 1 << number for number, category in enumerate(rules.categories)}
    boxes = list(at.values())
    chip = rules.has_chip
    one, two = Anchor(boxes[0], 62, chip), Anchor(boxes[3] | boxes[9], 60, False)
    judge = reference.race(rules)
    for lead in (-40, 3, 26):
        expected = judge(card(rules, one), card(rules, two), lead)
        assert solved(RaceWins(rules, Begun(one, two, lead))).opening() == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kind", [Race, RaceWins])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_every_state_is_as_in_the_whole_race(name: str, kind: type[Race]) -> None:
    """From wherever a race begins, every value of every state that it comes to is that of the table of whole races."""
    rules = parse_rules(SMALL[name], name)
    whole, n = solved(kind(rules)), len(rules.categories)
    anchors = whole.anchors
    row_of = cache(whole.by_lead)
    n_compared = 0
    for k, more in product(range(n + 1), range(2)):
        for begun in beginnings(rules, (k, k + more), 2, seed=k) if 0 < k + more <= n else ():
            # Where the score so far is possible, so are all that follow, and the whole table has them.
            possible = leads((anchors, begun.one), (anchors, begun.two))
            lead = min(possible, key=lambda lead: abs(lead - begun.lead))
            problem = kind(rules, Begun(begun.one, begun.two, lead))
            table = solved(problem)
            sides = problem.sides
            for i, j in product(range(len(sides[0].places)), range(len(sides[1].places))):
                one, two = (to_whole(side.rules, side.anchor(x)) for side, x in zip(sides, (i, j), strict=True))
                if two.free.bit_count() - one.free.bit_count() not in (0, 1):
                    continue
                row = table.by_lead(one, two)
                for at in leads((sides[0].anchors, sides[0].anchor(i)), (sides[1].anchors, sides[1].anchor(j)), lead):
                    assert row[at] == pytest.approx(row_of(one, two)[at], rel=1e-12, abs=1e-14)
                    n_compared += 1
    assert n_compared > 300


def test_only_what_play_leads_to() -> None:
    """Every row is of anchors that play leads to, and goes from the least lead that play leads to up to the most."""
    rules = load_rules("yahtzee")
    problem = Race(rules, Begun(Anchor(0b0100000101001, 30), Anchor(0b1000000110010, 32), -7))
    first, second = problem.sides
    for side in problem.sides:
        assert [side.anchors.exists[place] for place in side.places] == [True] * int(side.anchors.exists.sum())
    subsets = problem.partition(0).members(problem.partition(0).classes[4])
    for subset in subsets[::5].tolist():
        _, lowest, length = problem.rows(subset)
        free = subset & 15, subset >> 4
        for (x, i), (y, j) in product(enumerate(first.numbers(free[0])), enumerate(second.numbers(free[1]))):
            here = leads((first.anchors, first.anchor(i)), (second.anchors, second.anchor(j)), -7)
            most = int(first.most[i]), int(second.most[j])
            undecided = range(max(here[0], -most[0]), min(here[-1], most[1]) + 1)
            assert int(length[x, y]) == len(undecided)
            assert not undecided or int(lowest[x, y]) == undecided.start


def test_what_each_player_may_expect() -> None:
    """Win, tie and loss are chances that add up to one, and more of a lead is never worse."""
    rules = load_rules("yahtzee")
    problem = RaceWins(rules, Begun(Anchor(0b1000000100001, 55), Anchor(0b0110000000010, 61, chip=False), 12))
    memory = solve_in_memory(problem)
    for cls in memory.partition.classes:
        for subset in memory.partition.members(cls).tolist():
            start, _, length = problem.rows(subset)
            block = memory.block(cls)[subset].reshape(2, -1)
            for first, n in zip(start.ravel().tolist(), length.ravel().tolist(), strict=True):
                value, win = block[:, first : first + n]
                tie = 2 * (value - win)
                assert (np.diff(value) >= -1e-14).all()
                assert (np.stack([win, tie, 1 - win - tie]) >= -1e-13).all()


@pytest.mark.parametrize(("one", "two"), [("full-house", "large-straight"), ("yahtzee", "small-straight")])
def test_where_order_does_not_matter(one: str, two: str) -> None:
    """With one box each that pays a fixed sum, no player gains by going first: the values of both orders add up to 1.

    With a box that pays more or less, the second to move has the advantage.
    """
    rules = load_rules("yahtzee")
    free = {category.name: 1 << number for number, category in enumerate(rules.categories)}

    def value(mine: str, theirs: str, lead: int) -> float:
        begun = Begun(Anchor(free[mine], None), Anchor(free[theirs], None), lead)
        return solved(Race(rules, begun)).opening()[0]

    for lead in range(-60, 61, 5):
        assert value(one, two, lead) + value(two, one, -lead) == pytest.approx(1, abs=1e-13)
    assert value("chance", "chance", 0) < 0.499


def test_same_bits_everywhere() -> None:
    """Every instruction set gives the same bits, and so does a problem that another process received."""
    rules = load_rules("yahtzee")
    begun = Begun(Anchor(0b0100000000101, 50), Anchor(0b1000000001010, 44), 5)
    for kind in (Race, RaceWins):
        found = set()
        for isa in instruction_sets():
            problem = kind(rules, begun, isa)
            memory = solve_in_memory(pickle.loads(pickle.dumps(problem)))  # noqa: S301
            found.add(b"".join(memory.block(cls).values.tobytes() for cls in memory.partition.classes))
        assert len(found) == 1


def test_samples_are_judged(small_rules: Rules) -> None:
    """A sampled entry is solved again by the reference from the entries below it, with bonus, chip and wins as well."""
    n = len(small_rules.categories)
    for begun in (None, *beginnings(small_rules, (n - 1, n), 2)):
        problem = RaceWins(small_rules, begun)
        memory, random = solve_in_memory(problem, threads=1), np.random.default_rng(3)
        entries = {
            subset: memory.block(cls)[subset]
            for cls in memory.partition.classes
            for subset in memory.partition.members(cls).tolist()
        }
        some = [subset for subset, values in entries.items() if subset and len(values)]
        for subset in random.choice(some, 12).tolist():
            at = int(random.integers(len(entries[subset])))
            judged = problem.judged(subset, at, entries.__getitem__)
            assert judged == pytest.approx(entries[subset][at], rel=1e-11, abs=1e-14)
        assert problem.judged(0, 0, entries.__getitem__) is None


def test_how_a_race_is_told_apart() -> None:
    """Tables of different beginnings are different tables; a race from empty scorecards says nothing of a beginning."""
    rules = load_rules("yahtzee")
    one, two = Anchor(0b11, 50), Anchor(0b101, 50)
    every = [Begun(one, two), Begun(two, one), Begun(one, two, 1), Begun(one, one), Begun(one, Anchor(0b101, 51))]
    identities = [Race(rules, begun).identity for begun in every]
    assert all(a != b for i, a in enumerate(identities) for b in identities[:i])
    assert set(Race(rules).identity) == {"objective", "rules"}
    assert Race(rules, Begun(Anchor(0, None), Anchor(2, None))).element_names == ("deuces/2",)
    assert Race(rules, Begun(one, two)).element_names == ("aces/1", "deuces/1", "aces/2", "treys/2")


@pytest.mark.parametrize(
    ("one", "two", "lead", "complaint"),
    [
        (Anchor(0b1, 5), Anchor(0b111, 5), 0, "the one to move has one more; found 1 and 3"),
        (Anchor(0b11, 5), Anchor(0b1, 5), 0, "the one to move has one more; found 2 and 1"),
        (Anchor(0, None), Anchor(0, None), 0, "no box is free: the game is over"),
        (Anchor(0b1, 99), Anchor(0b1, 5), 0, "upper: the used categories cannot bring an upper total of 99"),
        (Anchor(0b1, 5), Anchor(1 << 13, 5), 0, "no such scorecard"),
        (Anchor(0b1, 5), Anchor(1 << 11, 5, chip=True), 0, "no such scorecard"),
        (Anchor(0b1, 5), Anchor(0b1, 5), 10**9, "lead: expected a whole number up to 1000000, found 1000000000"),
    ],
)
def test_refused_beginnings(one: Anchor, two: Anchor, lead: int, complaint: str) -> None:
    """Scorecards that players who take turns cannot have, and leads beyond all bounds, are refused in one line."""
    with pytest.raises(UsageError, match=complaint) as refused:
        Race(load_rules("yahtzee"), Begun(one, two, lead))
    assert "\n" not in str(refused.value)


def test_refused_questions() -> None:
    """A scorecard that does not lie ahead, and a lead that play does not come to, have no value."""
    table = solved(Race(load_rules("yahtzee"), Begun(Anchor(0b11, 50), Anchor(0b10 | 1 << 11, 55), 10)))
    with pytest.raises(UsageError, match="none that play can lead to from the one where"):
        table.values(Anchor(0b111, 50), Anchor(0b10 | 1 << 11, 55), 10)
    with pytest.raises(UsageError, match="the second player has used as many boxes as the first"):
        table.values(Anchor(0b11, 50), Anchor(0b10, 55), 10)
    with pytest.raises(UsageError, match="lead: no game comes to 11 here; the most is 10"):
        table.values(Anchor(0b11, 50), Anchor(0b10 | 1 << 11, 55), 11)
    with pytest.raises(UsageError, match="lead: no game comes to 13 here; the least is 14"):
        table.values(Anchor(0b1, 54), Anchor(0b10 | 1 << 11, 55), 13)


def test_a_race_that_is_decided() -> None:
    """Where nothing can change the winner any more, the race is solved all the same: it has no entries."""
    for lead, winner in ((-1000, 0.0), (1000, 1.0)):
        table = solved(RaceWins(load_rules("yahtzee"), Begun(Anchor(0b11, 50), Anchor(0b101, 55), lead)))
        assert table.opening() == (winner, winner)
        assert sum(table.entries.partition.n_values.values()) == 0
