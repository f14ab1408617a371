"""Strategies against each other, exactly and with dice."""

import json
from itertools import product
from math import erfc, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import command
from launch import compute, computed
from small_games import BONUS, SMALL, TWO_BOXES, race_table, utility

from yahtzee_cluster.analysis.forward import Played, play_for_mean
from yahtzee_cluster.errors import KernelArgumentError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import INDEX, KEEPS, ROLL_WAYS, ROLLS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.kernels.rollout import chances, throw, throw_by
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.race import Race, RaceWins
from yahtzee_cluster.play.duel import DEVIATIONS, Standing, duel, simulated_duel
from yahtzee_cluster.play.monte_carlo import final_scores
from yahtzee_cluster.play.policies import ForTheMean
from yahtzee_cluster.play.several_players import ForTheChance
from yahtzee_cluster.play.strategies import BestChance, BestMean, OfTable, Perfect, parse_strategy
from yahtzee_cluster.play.strategy import Strategy
from yahtzee_cluster.tables import open_table

SIGMAS = 4.5
"""One in 150,000 sound figures is farther away than that, and the dice are the same each time."""
ALL_THROWS = np.arange(6**5, dtype=np.uint16)


def near(standing: Standing, value: float) -> bool:
    """Whether a simulated value is as near as chance would have it."""
    assert standing.games
    return bool(abs(standing.value - value) <= SIGMAS * 0.5 / standing.games**0.5)


def small(name: str) -> Any:
    return parse_rules(SMALL[name], name)


def test_throws_are_all_dice_equally_likely() -> None:
    """Over all numbers of a throw, every roll comes of every keep as often as it should."""
    rules = load_rules("yahtzee")
    turn = Turn(compile_moves(rules))
    decisions = np.zeros((3, len(ROLLS), 1), np.uint16)
    decisions[2] = 12  # chance, the only free box, tells the sum; the twelve faces' boxes tell the rest
    zeros = np.zeros(len(ALL_THROWS), np.int64)
    for keep in ((), (6,), (1, 2), (3, 3, 5), (2, 4, 4, 6)):
        roll = next(n for n, roll in enumerate(ROLLS) if keep in reference.keeps(roll))
        decisions[1, :] = np.array([INDEX[one] for one in ROLLS])[:, None]
        decisions[0, roll] = INDEX[keep]
        throws = np.zeros((len(ALL_THROWS), 3), np.uint16)
        throws[:, 0] = sum((face - 1) * 6**place for place, face in enumerate(ROLLS[roll]))
        throws[:, 1] = ALL_THROWS
        outcomes = np.empty(len(ALL_THROWS), np.int16)
        sums = {roll: sum(roll) for roll in ROLLS}
        throw(turn, 1 << 12, False, decisions, zeros, throws, outcomes)
        points = np.array([turn.moves.outcomes[o].points for o in outcomes])
        expected: dict[int, float] = {}
        for found, chance in reference.throws(keep).items():
            expected[sums[found]] = expected.get(sums[found], 0.0) + chance
        assert {n: (points == n).mean() for n in set(points.tolist())} == pytest.approx(expected, rel=1e-12)
        for face in range(6):
            decisions[2] = face
            throw(turn, 1 << face, False, decisions, zeros, throws, outcomes)
            mean = np.mean([turn.moves.outcomes[o].points for o in outcomes])
            assert mean == pytest.approx((face + 1) * (keep.count(face + 1) + (5 - len(keep)) / 6), rel=1e-12)
        decisions[2] = 12
    assert sum(ROLL_WAYS) == len(ALL_THROWS)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_with_dice_as_exactly(name: str, tmp_path: Path) -> None:
    """Simulated games of strategies that ignore the others agree with the exact result: means, and chances to win."""
    rules = small(name)
    compute(tmp_path / "beat", utility(rules, "beat:1"), 0b11)
    strategies: list[Strategy] = [BestMean(), parse_strategy(str(tmp_path / "beat"))]
    for objective in ("scores", "approx"):
        computed(SMALL[name], tmp_path / objective, objective)
        strategies.append(parse_strategy(f"{tmp_path / objective}:17"))
    exact, thrown = duel(strategies), simulated_duel(strategies, 40_000, 3)
    for one, other in zip(exact, thrown, strict=True):
        assert near(other, one.value)
        assert other.tie == pytest.approx(one.tie, abs=0.012)
    for strategy, standing in zip(strategies, thrown, strict=True):
        mean, second = strategy.played(rules).moments
        assert abs(standing.mean - mean) <= SIGMAS * ((second - mean**2) / 40_000) ** 0.5
    assert sum(one.value for one in exact) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("text", [TWO_BOXES, BONUS, SMALL["plain"]], ids=["two-boxes", "bonus", "plain"])
def test_perfect_play_is_worth_what_the_table_says(text: str, tmp_path: Path) -> None:
    """Two players who follow a table of two players win, tie and lose as its opening says; any other wins less."""
    rules = parse_rules(text, "race")
    problem = RaceWins(rules)
    compute(tmp_path, problem, 0b11)
    perfect = parse_strategy(str(tmp_path))
    value, win = race_table(tmp_path).opening()
    first, second = simulated_duel([perfect, perfect], 40_000, 5)
    assert near(first, value)
    assert abs(first.win - win) <= SIGMAS * 0.5 / 40_000**0.5
    assert second.win == first.loss
    for other in (BestMean(), BestChance()):
        as_first, _ = simulated_duel([perfect, other], 40_000, 6)
        as_second, _ = simulated_duel([other, perfect], 40_000, 6)
        assert as_first.value >= value - SIGMAS * 0.5 / 40_000**0.5
        assert as_second.value <= value + SIGMAS * 0.5 / 40_000**0.5
    with pytest.raises(UsageError, match="knows how to play against one other"):
        simulated_duel([perfect, perfect, perfect], 10, 1)


def test_one_quantity_is_enough(tmp_path: Path) -> None:
    """A table without the wins apart plays as well."""
    problem = Race(parse_rules(TWO_BOXES, "race"))
    compute(tmp_path, problem, 0)
    perfect = parse_strategy(str(tmp_path))
    first, _ = simulated_duel([perfect, perfect], 50_000, 2)
    assert near(first, race_table(tmp_path).opening()[0])


def test_the_last_turn_for_the_chance() -> None:
    """The last player to move, with one box left, knows the score to beat: there the rule is optimal."""
    rules = parse_rules('name = "one"\n[[category]]\nname = "any"\npoints = "sum"\n', "one")
    judge = reference.maxprob(rules)
    curve = play_for_mean(rules).curve
    value = win = 0.0
    for score, chance in enumerate(-np.diff(np.append(curve, 0.0))):
        more = judge(1, 0, False, score + 1)
        win += chance * more

        def worth(roll: tuple[int, ...], score: int = score) -> list[tuple[float]]:
            return [((sum(roll) > score) + 0.5 * (sum(roll) == score),)]

        value += chance * reference.best_turn(worth)[0]
    assert value >= win
    _, chance_player = simulated_duel([BestMean(), BestChance()], 200_000, 7, rules)
    assert near(chance_player, value)
    three = simulated_duel([BestMean(), BestMean(), BestChance()], 100_000, 7, rules)
    assert three[2].value > 1 / 3 + 0.01


def normal(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2


def ahead(score: float, rivals: list[tuple[float, float]]) -> float:
    return prod(normal((score - mean) / deviation) for mean, deviation in rivals)


def test_chances_are_those_of_normal_distributions() -> None:
    """To six digits; against several, of an integral in eight steps that is right to two; to be level is half."""
    random = np.random.default_rng(4)
    n_games, which = 9, np.array([1, 4])
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    fine = np.linspace(-7, 7, 281)
    for n_rivals in (1, 2, 5):
        mean, deviation = random.normal(100, 30, (2, 3)), random.uniform(15, 40, (2, 3))
        deviation[0, 0] = 0.0
        lanes, scores = random.integers(0, 3, n_games), random.integers(0, 50, n_games)
        rival_mean = random.normal(130, 30, (n_games, n_rivals))
        rival_deviation = random.uniform(15, 40, (n_games, n_rivals))
        found, reached = np.full((6, n_games), -1.0), np.full((6, n_games), -1.0)
        chances(mean, deviation, lanes, scores, rival_mean, rival_deviation, which, found, reached)
        for (n, o), game in product(enumerate(which), range(n_games)):
            at, spread = scores[game] + mean[n, lanes[game]], deviation[n, lanes[game]]
            assert reached[o, game] == at

            rivals = list(zip(rival_mean[game], rival_deviation[game], strict=True))
            steps = np.average([ahead(at + spread * node, rivals) for node in nodes], weights=weights)
            density = np.exp(-(fine**2) / 2)
            chance = np.average([ahead(at + spread * point, rivals) for point in fine], weights=density)
            assert found[o, game] == pytest.approx(chance if n_rivals == 1 else steps, abs=2e-6)
            assert found[o, game] == pytest.approx(chance, abs=0.01)
        assert (np.delete(found, which, axis=0) == -1).all()
    none = np.zeros((1, 1))
    for behind, expected in ((0, 0.5), (1, 0.0), (-1, 1.0)):
        found = np.empty((1, 1))
        rival = np.array([[float(behind)]])
        chances(none, none, np.array([0]), np.array([0]), rival, none, np.array([0]), found, none.copy())
        assert found[0, 0] == expected


def test_the_same_dice_for_any_threads() -> None:
    """Final scores hang on the seed and on nothing else."""
    expected = solve_expected(small("free"))
    seats = [ForTheMean(expected), ForTheChance(expected), ForTheMean(expected)]
    scores = [final_scores(expected.anchors, seats, 5000, seed, threads) for seed, threads in ((1, 1), (1, 3), (2, 1))]
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert not np.array_equal(scores[0][0], scores[0][2])


def test_many_games_are_played_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """More games than fit into memory at once have other dice in every part, and add up."""
    players = [BestMean(), BestMean()]
    whole = simulated_duel(players, 3000, 1, small("free"))
    monkeypatch.setattr("yahtzee_cluster.play.duel.BATCH", 1000)
    parts, first = (simulated_duel(players, n, 1, small("free")) for n in (3000, 1000))
    for one, part in zip(parts, first, strict=True):
        assert one.win + one.tie + one.loss == pytest.approx(1)
        assert one != whole[0]
        assert one.value != part.value
        assert near(one, 0.5)


def test_exact_duels_of_several() -> None:
    """Wins, ties and shares of three are what trying out all their scores finds."""
    random = np.random.default_rng(8)

    class Known(Strategy):
        """Has such final scores."""

        words = "known"

        def __init__(self, chances: Any) -> None:
            self.chances = chances

        def seat(self, expected: Any) -> Any:
            raise AssertionError(expected)

        def played(self, rules: Any) -> Any:  # noqa: ARG002
            curve = np.cumsum(self.chances[::-1])[::-1]
            return Played(curve, (), np.empty(0), np.empty(0))

    chances_of = [random.dirichlet(np.ones(n)) for n in (4, 6, 5)]
    expected = np.zeros((3, 4))
    for scores in product(*(range(len(one)) for one in chances_of)):
        chance = np.prod([one[score] for one, score in zip(chances_of, scores, strict=True)])
        best = [score == max(scores) for score in scores]
        for player, is_best in enumerate(best):
            facts = (is_best and sum(best) == 1, is_best and sum(best) > 1, not is_best, is_best / sum(best))
            expected[player] += chance * np.array(facts, float)
    for standing, row in zip(duel([Known(one) for one in chances_of]), expected, strict=True):
        assert [standing.win, standing.tie, standing.loss, standing.value] == pytest.approx(row.tolist(), rel=1e-12)
    alike = duel([BestMean()] * 16, small("plain"))
    assert [one.value for one in alike] == pytest.approx([1 / 16] * 16, rel=1e-10)


def test_intervals() -> None:
    """Wilson's: 50 of 100 leave 0.4038 to 0.5962, none of 10 leave 0 to 0.2775; exact figures have none."""
    assert Standing(0.5, 0, 0.5, 0.5, 0, 100).interval == pytest.approx((0.40383, 0.59617), abs=1e-5)
    assert Standing(0, 0, 1, 0.0, 0, 10).interval == pytest.approx((0, 0.27753), abs=1e-5)
    assert Standing(0, 0, 1, 0.25, 0).interval == (0.25, 0.25)
    assert normal(DEVIATIONS) == pytest.approx(0.975, rel=1e-12)


def test_to_look_at_the_other_pays() -> None:
    """Two players of Yahtzee, one for the mean and one for the chance: the latter wins about half a percent more."""
    chance, mean = simulated_duel([parse_strategy("chance"), parse_strategy("expected")], 20_000, 1)
    assert near(chance, 0.5052)
    assert mean.mean == pytest.approx(254.5896, abs=SIGMAS * 59.6117 / 20_000**0.5)


def test_duel_at_the_shell(tmp_path: Path) -> None:
    """One line for each player; strategies that cannot meet are refused in one line."""
    rules = small("free")
    compute(tmp_path / "beat", utility(rules, "beat:1"), 0b11)
    beat = open_table(tmp_path / "beat")
    reply = "a win against an opponent who plays for the highest expected score, a tie counted half"
    found = json.loads(command("duel", beat.path, "expected", "--json").stdout)
    one, other = found["players"]
    assert one["value"] == pytest.approx(beat.worth(Anchor(rules.all_free, 0, False), 0), rel=1e-12)
    assert (found["games"], one["interval"], one["strategy"]) == (None, [one["value"]] * 2, reply)
    assert other["value"] == pytest.approx(1 - one["value"], rel=1e-12)
    shown = command("duel", beat.path, "expected").stdout.splitlines()
    assert [len(shown), shown[1].endswith(f"  {reply}"), shown[2].split()[-2:]] == [3, True, ["expected", "score"]]
    thrown = json.loads(command("duel", "chance", beat.path, "expected", "--json", "--games", "500").stdout)
    assert (thrown["games"], thrown["seed"], len(thrown["players"])) == (500, 1, 3)
    assert sum(player["value"] for player in thrown["players"]) == pytest.approx(1)
    again = json.loads(command("duel", "chance", beat.path, "expected", "--json", "--games", "500").stdout)
    assert again == thrown
    told = command("duel", "chance", beat.path, "--games", "500", "--seed", "2").stdout
    low, value, high = (float(told.splitlines()[1].split()[column]) for column in (8, 7, 10))
    assert low < value < high
    assert told.endswith("\n\nIn 500 games with dice, seed 2.\n")
    computed(SMALL["free"], tmp_path / "scores", "scores")
    turned = json.loads(command("duel", "expected", f"{tmp_path / 'scores'}:17", "--json").stdout)
    assert turned["players"][1]["value"] < one["value"]  # nothing wins more against `expected` than the best reply
    computed(SMALL["free"], tmp_path / "max")
    for flags, complaint in (
        (["expected", tmp_path / "nowhere"], "nowhere: holds no table"),
        (["expected", tmp_path / "scores"], "holds scores; say what is played for, as in DIR:250"),
        (["expected", f"{tmp_path / 'scores'}:61"], "target: this table knows how to play for 1 to 60, found 61"),
        (["expected", f"{tmp_path / 'beat'}:5"], "holds utility; expected a table of scores or approx"),
        (["expected", f"{tmp_path / 'max'}:5"], "holds maxprob; expected a table of scores or approx"),
        ([tmp_path / "beat", "expected", "--rules", "yacht"], "all have to play the same game"),
        (["expected", ":5"], "no strategy ':5'; expected expected, chance, a goal, a directory, or DIR:N"),
        (["expected", "expected", "--rules", ""], "cannot be read: Is a directory"),
        (["expected"], "expected 2 to 16 strategies, found 1"),
        (["expected"] * 17, "expected 2 to 16 strategies, found 17"),
        (["chance", "expected", "--exact"], "depends on the other players; only simulated games can evaluate it"),
        (["expected", "expected", "--seed", "3"], "seed: this duel needs no dice; say how many --games to play"),
        (["expected", "expected", "--games", "0"], "games: expected at least one"),
        (
            ["expected", "expected", "--games", "1x"],
            "argument --games: expected a whole number of at most 9 digits, found '1x'",
        ),
        (["expected", "expected", "--games", "5", "--exact"], "not allowed with argument"),
    ):
        refused = command("duel", *flags)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused.stderr
        assert complaint in refused.stderr


def test_bad_arguments(tmp_path: Path) -> None:
    """Arrays of the wrong size, decisions that are none and games out of order never reach the kernel's memory."""
    rules = small("free")
    expected = solve_expected(rules)
    turn = Turn(compile_moves(rules))
    decisions = expected.decider(turn).decisions(0b1111, False)
    columns, throws, outcomes = np.zeros(3, np.int64), np.zeros((3, 3), np.uint16), np.zeros(3, np.int16)
    throw(turn, 0b1111, False, decisions, columns, throws, outcomes)
    wrong_keep, wrong_category = decisions.copy(), decisions.copy()
    wrong_keep[0], wrong_category[2] = len(KEEPS), 7
    for arguments, complaint in (
        ((0, False, decisions, columns, throws, outcomes), "free: expected 1 to 15, found 0"),
        ((0b1111, False, decisions[:2], columns, throws, outcomes), "decisions: expected shape"),
        ((0b1111, False, decisions, columns + 99, throws, outcomes), "columns: expected lanes of the decisions"),
        ((0b1111, False, decisions, columns, throws[:2], outcomes), "throws: expected shape"),
        ((0b1111, False, decisions, columns, throws + np.uint16(7776), outcomes), "throws: expected numbers below"),
        ((0b1111, False, decisions, columns, throws, outcomes[:2]), "outcomes: expected shape"),
        ((0b1111, False, wrong_keep, columns, throws, outcomes), "decisions: expected keeps"),
        ((0b1111, False, wrong_category, columns, throws, outcomes), "decisions: expected keeps"),
    ):
        with pytest.raises(KernelArgumentError, match=complaint):
            throw(turn, *arguments)
    table = computed(SMALL["free"], tmp_path, "scores")
    strategy = parse_strategy(f"{tmp_path}:9")
    assert isinstance(strategy, OfTable)
    player = strategy.table.problem.player(turn)
    rows = [table.store.block(table.store.partition.class_of(0b0001))[0b0001]]
    successors = [None, *rows, None, None]
    needs = np.array([1, 2, 9])
    at_start = columns + expected.anchors.lane(0b1111, 0)
    throw_by(player, 0b0011, False, [rows[0], rows[0], None, None], columns[:0], needs[:0], throws[:0], outcomes[:0])
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((0, False, successors, columns, needs, throws, outcomes), "no such scorecard"),
        ((0b0001, True, successors, columns + 99, needs, throws, outcomes), "lanes: expected anchors"),
        ((0b1111, False, successors, at_start, needs[::-1].copy(), throws, outcomes), "in rising order"),
        ((0b1111, False, successors, at_start, needs + 1000, throws, outcomes), "needs: expected what the rows"),
        ((0b1111, False, successors, at_start, needs - 1, throws, outcomes), "needs: expected what the rows"),
        ((0b1111, False, successors, at_start, needs, throws, outcomes), "successors"),
    ]
    for arguments, complaint in wrong:
        with pytest.raises(KernelArgumentError, match=complaint):
            throw_by(player, *arguments)
    some, games = np.zeros((2, 1)), np.zeros((4, 1))
    lanes, scores, which = np.zeros(4, np.int64), np.zeros(4, np.int64), np.array([0, 1])
    room = np.zeros((3, 4))
    good: Any = [some, some, lanes, scores, games, games, which, room, room.copy()]
    chances(*good)
    for at, value, complaint in (
        (1, some[:1], "deviation: expected shape"),
        (1, some - 1, "expected none below 0"),
        (2, lanes + 1, "lanes: expected lanes of the means"),
        (3, scores[:1], "scores: expected shape"),
        (4, np.zeros((4, 0)), "shape|expected at least one rival"),
        (4, games + np.inf, "expected finite numbers"),
        (5, games - 1, "expected none below 0"),
        (6, which + 2, "which: expected outcomes that there is room for"),
        (7, room[:, 1:], "chance: expected"),
        (8, room[1:], "reached: expected shape"),
    ):
        with pytest.raises(KernelArgumentError, match=complaint):
            chances(*good[:at], *[value], *good[at + 1 :])


def test_who_plays_perfectly_knows_the_rules(tmp_path: Path) -> None:
    """A table of two players is a strategy of its own game, and of no other."""
    compute(tmp_path, Race(parse_rules(TWO_BOXES, "race")), 0)
    perfect = parse_strategy(str(tmp_path))
    assert isinstance(perfect, Perfect)
    with pytest.raises(UsageError, match="all have to play the same game"):
        simulated_duel([perfect, BestMean()], 10, 1, load_rules("yacht"))
