"""Whole games from the first turn to the last: distributions and statistics of every strategy."""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import command
from launch import computed
from small_games import SMALL

from yahtzee_cluster.analysis.forward import compare, play_by, play_for, play_for_mean
from yahtzee_cluster.analysis.statistics import EXTRA_BONUS, statistics
from yahtzee_cluster.errors import KernelArgumentError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels.flow import Flow
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.probabilities import Scores
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import solve_in_memory
from yahtzee_cluster.tables.table import Table


def small(name: str, folder: Path, objective: str = "scores") -> Table:
    return computed(SMALL[name], folder / objective, objective)


@pytest.mark.whole
@pytest.mark.parametrize("name", sorted(SMALL))
def test_playing_for_a_score(name: str, tmp_path: Path) -> None:
    """Played from start to end, the strategy scores as the table says: chance of the target, mean and second moment."""
    table = small(name, tmp_path)
    start = Anchor(table.rules.all_free, 0, False)
    for target in (1, 5, 12, 17, 23, 60):
        games = play_for(target, table)
        p = games.curve[target] if target < len(games.curve) else 0.0
        assert p == pytest.approx(table.value(start, target), rel=1e-12, abs=1e-300)
        assert games.moments == pytest.approx(table.moments(start, target), rel=1e-12)
        assert games.curve[0] == pytest.approx(1, rel=1e-13)
        assert games.mean.sum() == pytest.approx(games.curve[1:].sum(), rel=1e-12)


@pytest.mark.whole
@pytest.mark.parametrize("name", sorted(SMALL))
def test_playing_by_a_rule_of_thumb(name: str, tmp_path: Path) -> None:
    """The same for a table of guesses: the target is reached as often as the table says."""
    table = small(name, tmp_path, "approx")
    for start in (Anchor(table.rules.all_free, 0, False), Anchor(0b0011, 0, False)):
        for target in (1, 5, 12, 17, 60):
            games = play_for(target, table, start)
            p = games.curve[target] if target < len(games.curve) else 0.0
            assert p == pytest.approx(table.value(start, target), rel=1e-12, abs=1e-300)
            assert games.mean.sum() == pytest.approx(games.curve[1:].sum(), rel=1e-12)


@pytest.mark.whole
def test_a_real_game(tmp_path: Path) -> None:
    """The same with the twelve boxes of `yacht`."""
    table = computed("yacht", tmp_path / "table", "scores", 300)
    start = Anchor(table.rules.all_free, 0, False)
    for target in (170, 220):
        games = play_for(target, table)
        assert games.curve[target] == pytest.approx(table.value(start, target), rel=1e-12)
        assert games.moments == pytest.approx(table.moments(start, target), rel=1e-12)
        assert (games.curve[target] - play_for_mean(table.rules).curve[target]) > 0.01


@pytest.mark.whole
@pytest.mark.parametrize("name", ["free", "exact"])
def test_playing_for_the_mean(name: str, tmp_path: Path) -> None:
    """Without a target the distribution is that of a table of distributions, and every box brings what it should."""
    table = small(name, tmp_path, "distribution")
    games, found = play_for_mean(table.rules), statistics(table.rules)
    curve = table.curve()[: len(games.curve)]
    assert games.curve[: len(curve)] == pytest.approx(curve, rel=1e-13, abs=1e-300)
    assert games.names == found.names
    assert games.mean == pytest.approx(found.mean, rel=1e-12)
    once = [name != EXTRA_BONUS for name in games.names]
    assert games.variance[once] == pytest.approx(found.variance[once], rel=1e-9, abs=1e-12)
    assert np.isnan(games.variance[~np.array(once)]).all()


@pytest.mark.parametrize("name", sorted(SMALL))
def test_costs_add_up(name: str, tmp_path: Path) -> None:
    """What every differing decision costs adds up to what each strategy gives away by the measure of the other."""
    table = small(name, tmp_path)
    start = Anchor(table.rules.all_free, 0, False)
    mean = solve_expected(table.rules).mean[solve_expected(table.rules).start]
    for target in (5, 12, 20):
        by_mean, by_target = compare(target, table, threads=2)
        best = table.value(start, target)
        reached = by_mean.played.curve[target]
        assert by_mean.cost.sum() == pytest.approx(best - reached, rel=1e-9, abs=1e-14)
        assert by_target.cost.sum() == pytest.approx(mean - by_target.played.moments[0], rel=1e-9, abs=1e-12)
        assert by_mean.played.curve.tolist() == pytest.approx(play_for_mean(table.rules).curve.tolist(), rel=1e-12)
        assert by_target.played.curve.tolist() == play_for(target, table).curve.tolist()
        for found in (by_mean, by_target):
            assert (found.otherwise >= 0).all()
            assert (found.otherwise <= found.taken * (1 + 1e-12)).all()
            assert (found.cost >= -1e-12).all()
            assert found.taken[0] == pytest.approx([1, 1, 1])
            assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(found.taken[:, 0]))
            costs = [one.cost for one in found.costliest]
            assert costs == sorted(costs, reverse=True)


@pytest.mark.whole
def test_the_costliest_position(tmp_path: Path) -> None:
    """A costly position is one: the judge finds both decisions best by their own measure, and the same cost."""
    table = small("free", tmp_path)
    rules = table.rules
    by_mean, _ = compare(20, table)
    one = next(one for one in by_mean.costliest if one.stage == 2)
    values, moments = {}, {}
    for play in rules.plays(one.anchor.free, one.anchor.chip, one.roll):
        upper = rules.upper_threshold if one.anchor.upper is None else one.anchor.upper
        after, points = reference.after(rules, one.anchor.free, upper, play)
        name = rules.categories[play.category].name
        values[name] = reference.maxprob(rules)(*after, one.need - points)
        moments[name] = reference.moments(rules)(*after)[0] + points
    assert values[str(one.other)] == max(values.values()) > values[str(one.decided)]
    assert moments[str(one.decided)] == max(moments.values())
    shown = command("compare", "--store", table.path, "--for", 20)
    assert f"box of {' '.join(map(str, one.roll))}: {one.decided}, not {one.other}" in shown.stdout
    found = json.loads(command("compare", "--store", table.path, "--for", 20, "--json").stdout)
    assert found["by_mean"]["costliest"][0]["cost"] == by_mean.costliest[0].cost
    assert sum(map(sum, found["by_mean"]["cost"])) == pytest.approx(found["p"][1] - found["p"][0], rel=1e-9)
    assert sum(map(sum, found["by_target"]["cost"])) == pytest.approx(found["mean"][0] - found["mean"][1], rel=1e-9)


@pytest.mark.whole
def test_from_any_state(tmp_path: Path) -> None:
    """Games may begin anywhere: with boxes used, some upper total, and the chip."""
    table = small("free", tmp_path)
    expected = solve_expected(table.rules)
    for free, upper, chip in ((0b0111, 0, True), (0b0110, 3, True), (0b1101, 4, False), (0b0001, 0, False)):
        anchor = Anchor(free, upper, chip)
        place = expected.anchors.reachable(anchor)
        games = play_for_mean(table.rules, anchor)
        assert games.moments == pytest.approx((expected.mean[place], expected.second_moment[place]), rel=1e-12)
        assert games.mean == pytest.approx(statistics(table.rules, anchor).mean, rel=1e-12, abs=1e-15)
        for target in (3, 14):
            games = play_for(target, table, anchor)
            assert games.moments == pytest.approx(table.moments(anchor, target), rel=1e-12)
            p = games.curve[target] if target < len(games.curve) else 0
            assert p == pytest.approx(table.value(anchor, target), rel=1e-12)


@pytest.mark.whole
def test_the_costliest_positions_are_the_costliest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are named are the first of all positions in which something is given away."""
    table = small("free", tmp_path)
    named = compare(20, table)
    monkeypatch.setattr("yahtzee_cluster.analysis.forward.COSTLIEST", 10_000)
    for some, every in zip(named, compare(20, table), strict=True):
        assert len(some.costliest) == 10 < len(every.costliest)
        assert some.costliest == every.costliest[:10]
        assert sum(one.cost for one in every.costliest) == pytest.approx(every.cost.sum(), rel=1e-9)


def judged(rules: Rules, need: int) -> reference.Row:
    """What every box brings on average when playing for a need, and then its squares, as the judge finds them."""
    n, scores = len(rules.categories), reference.maxprob_scores(rules)

    @cache
    def from_anchor(free: int, upper: int, chip: bool, need: int) -> reference.Row:
        if not free:
            return (0.0,) * (2 * n)

        def options(roll: reference.Roll) -> list[tuple[reference.Row, reference.Row]]:
            found: list[tuple[reference.Row, reference.Row]] = []
            for play in rules.plays(free, chip, roll):
                anchor, points = reference.after(rules, free, upper, play)
                left = max(need - points, 0)
                p, mean, square = scores(*anchor, left)
                paid = [0.0] * (2 * n)
                paid[play.category], paid[n + play.category] = play.points, play.points**2
                later = from_anchor(*anchor, left)
                brings = tuple(now + then for now, then in zip(paid, later, strict=True))
                found.append(((p, mean + points, square + 2 * points * mean + points**2), brings))
            return found

        return reference.evaluated_turn(options)

    return from_anchor(rules.all_free, 0, False, need)


@pytest.mark.whole
def test_boxes_are_the_judge_s(tmp_path: Path) -> None:
    """What every box brings when playing for a score is what exhaustive search finds."""
    table = small("plain", tmp_path)
    for target in (14, 30):
        games = play_for(target, table)
        mean, square = np.split(np.array(judged(table.rules, target)), 2)
        assert games.mean == pytest.approx(mean, rel=1e-11)
        assert games.variance == pytest.approx(square - mean**2, rel=1e-9)


@pytest.mark.whole
@pytest.mark.parametrize(("name", "enough"), [("free", 9), ("forced", 1)])
def test_ties_of_a_utility(name: str, enough: int) -> None:
    """Among equal utilities, the policy of the highest mean decides, in whole games as in advice."""
    rules = parse_rules(SMALL[name], name)
    worth = tuple(float(min(score, enough)) for score in range(Utility.count_scores(rules)))
    problem = Utility(rules, "enough", worth)
    utility, moments = reference.utility(rules, worth.__getitem__), reference.moments(rules)

    @cache
    def final(free: int, upper: int, chip: bool, score: int) -> reference.Row:
        if not free:
            return (worth[score], float(score))

        def options(roll: reference.Roll) -> list[tuple[reference.Row, reference.Row]]:
            found: list[tuple[reference.Row, reference.Row]] = []
            for play in rules.plays(free, chip, roll):
                anchor, points = reference.after(rules, free, upper, play)
                mean, square = moments(*anchor)
                later = mean + points, square + 2 * points * mean + points**2
                found.append(((utility(*anchor, score + points), *later), final(*anchor, score + points)))
            return found

        return reference.evaluated_turn(options)

    table = table_of(problem, solve_in_memory(problem, keeps_all=True))
    games = play_by(table)
    value, mean = final(rules.all_free, 0, False, 0)
    assert games.moments[0] == pytest.approx(mean, rel=1e-12)
    assert -np.diff(games.curve, append=0.0) @ worth[: len(games.curve)] == pytest.approx(value, rel=1e-12)


def test_threads_change_nothing(tmp_path: Path) -> None:
    """The same bits whatever the number of threads."""
    table = small("free", tmp_path)
    expected = play_for(20, table, threads=1)
    for threads in (2, 3, 5):
        games = play_for(20, table, threads=threads)
        assert np.array_equal(games.curve, expected.curve)
        assert np.array_equal(games.mean, expected.mean)


@pytest.mark.whole
def test_statistics_at_the_shell(tmp_path: Path) -> None:
    """One command for either strategy, for people and as JSON; what does not fit together is refused in one line."""
    table = small("exact", tmp_path)
    flags = ["statistics"]
    found = json.loads(command(*flags, "--store", table.path, "--for", 9, "--json").stdout)
    assert (found["rules"], found["for"]) == ("exact", 9)
    assert found["p"][9] == pytest.approx(table.value(Anchor(0b111, 0, False), 9), rel=1e-12)
    (tmp_path / "rules.toml").write_text(SMALL["exact"])
    shown = command(*flags, "--rules", tmp_path / "rules.toml").stdout
    assert "played for the highest expected score\n" in shown
    mean = command(*flags, "--rules", tmp_path / "rules.toml", "--json").stdout
    assert len(json.loads(mean)["covariances"]) == 5
    for wrong, complaint in (
        (["--store", table.path], "name a table of scores with --store and the score that is played for with --for"),
        (["--for", 9], "name a table of scores with --store"),
        (["--store", table.path, "--for", 61], "target: this table knows how to play for 1 to 60, found 61"),
        (["--store", table.path, "--for", 0], "target: this table knows how to play for 1 to 60, found 0"),
    ):
        refused = command(*flags, *wrong)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
        assert complaint in refused.stderr


@pytest.mark.whole
def test_other_tables_cannot_be_played_by(tmp_path: Path) -> None:
    """Only a table of scores decides for games."""
    with pytest.raises(UsageError, match="holds maxprob; expected a table of scores or approx"):
        play_for(9, small("exact", tmp_path, "maxprob"))
    with pytest.raises(UsageError, match=r"holds approx; expected a table of scores:"):
        compare(9, small("exact", tmp_path, "approx"))


def test_bad_arguments() -> None:
    """Arrays of the wrong size never reach the kernel, and games for which there is no room are not lost silently."""
    problem = Scores(parse_rules(SMALL["exact"], "exact"), 20)
    anchors, turn = problem.anchors, problem.new_turn()
    length = np.full(anchors.n_places, 40)
    offset, size = anchors.end_to_end(length)
    decider, player = problem.expected.decider(turn), problem.player(turn)
    flow = Flow(decider, length, offset, player, 9)
    met, nothing = np.zeros((2, len(turn.moves.outcomes))), [None] * 3
    below = [np.zeros(problem.sizes(np.array([0]))[0]), None, None]
    games, out = np.zeros(size[1]), [np.zeros(size[0]), None, None]
    flow.step(1, below, games, out, met)
    wrong: list[tuple[Any, str]] = [
        ((0, below, games, out, met), "free: expected 1 to 7, found 0"),
        ((1, below, games[1:], out, met), "games: expected shape"),
        ((1, nothing, games, out, met), r"successors\[0\]: expected an array"),
        ((1, below, games, nothing, met), r"out\[0\]: expected an array"),
        ((1, below, games, out, met[1:]), "met: expected shape"),
        ((1, below, games + 1, out, met), "length: expected room for all that games can score"),
    ]
    for arguments, complaint in wrong:
        with pytest.raises(KernelArgumentError, match=complaint):
            flow.step(*arguments)
    both = Flow(decider, length, offset, player, 9, False, True)
    with pytest.raises(KernelArgumentError, match="compared: expected an array"):
        both.step(1, below, games, out, met)
    with pytest.raises(KernelArgumentError, match="costliest: expected room for at least one position"):
        both.step(1, below, games, out, met, np.zeros((3, 3)), np.zeros((0, 7)))
    made: list[tuple[Any, str]] = [
        ((decider, length * 0, offset), "length, offset: expected rows with room for a score"),
        ((decider, length, offset[1:]), "offset: expected shape"),
        ((decider, length, offset, player, -1), "target: expected at least 0, found -1"),
        ((decider, length, offset, None, 0, False, True), "player: expected one of scores to compare with"),
        ((decider, length, offset, problem.player(problem.new_turn())), "decider: expected one with the same turn"),
    ]
    for arguments, complaint in made:
        with pytest.raises(KernelArgumentError, match=complaint):
            Flow(*arguments)
