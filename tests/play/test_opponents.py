"""The opponents of a goal: distributions of scores from strategies, files, scorecards and scores on the table."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from launch import compute
from small_games import SMALL, utility

from yahtzee_cluster.analysis.forward import play_by, play_for_mean
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.goals import parse_goal
from yahtzee_cluster.objectives.opponents import Opponent
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.duel import duel
from yahtzee_cluster.play.opponents import curve_of, read_distribution
from yahtzee_cluster.play.strategies import BestMean, parse_strategy
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table

RULES = parse_rules(SMALL["free"], "free")
START = Anchor(RULES.all_free, 0, False)


def solved(goal: str, path: Path) -> Table:
    compute(path, utility(RULES, goal), 0b11)
    return open_table(path)


def test_curves_of_opponents(tmp_path: Path) -> None:
    """A final score is certain; a strategy has the scores of all its games, even if asked about the rest of one."""
    assert curve_of(Opponent("score", "3"), RULES).tolist() == [1, 1, 1, 1]
    assert curve_of(Opponent("score", "0"), RULES).tolist() == [1]
    mean = play_for_mean(RULES).curve
    for rules in (RULES, rest_of(RULES, Anchor(0b11, 0, False))):
        assert curve_of(Opponent("strategy", "expected"), rules).tolist() == mean.tolist()
    daring = solved("power:3", tmp_path)
    assert curve_of(Opponent("strategy", str(tmp_path)), RULES).tolist() == play_by(daring).curve.tolist()
    with pytest.raises(UsageError, match="the best chance to win depends on the other players"):
        curve_of(Opponent("strategy", "chance"), RULES)
    with pytest.raises(UsageError, match="all have to play the same game"):
        curve_of(Opponent("strategy", str(tmp_path)), parse_rules(SMALL["exact"], "exact"))


def test_best_replies_to_different_opponents(tmp_path: Path) -> None:
    """Against several different opponents, a best reply wins as often as its table says, and no other wins more."""
    solved("power:3", tmp_path / "daring")
    others = [BestMean(), BestMean(), parse_strategy(str(tmp_path / "daring"))]
    reply = solved(f"win-outright:2*expected+{tmp_path / 'daring'}", tmp_path / "reply")
    win = reply.worth(START, 0)
    assert duel([parse_strategy(str(reply.path)), *others])[0].win == pytest.approx(win, rel=1e-12)
    for other in others:
        assert duel([other, *others])[0].win < win


def test_the_best_of_several_scores(tmp_path: Path) -> None:
    """Played forward, the mean of the best of its score and the others is what the table says; no other has more."""
    solved("power:3", tmp_path / "daring")
    table = solved(f"best-of:3:expected+{tmp_path / 'daring'}", tmp_path / "best")
    curves = [play_for_mean(RULES).curve, play_by(open_table(tmp_path / "daring")).curve]

    def mean_of_best(mine: np.ndarray) -> float:
        reached = [np.append(curve, np.zeros(99 - len(curve))) for curve in (mine, *curves)]
        return float((1 - np.prod([1 - curve for curve in reached], axis=0))[1:].sum())

    best = table.worth(START, 0)
    assert mean_of_best(play_by(table).curve) == pytest.approx(best, rel=1e-12)
    assert max(map(mean_of_best, curves)) < best


def test_decided_goals(tmp_path: Path) -> None:
    """A goal that is decided before the game has the value that it then has."""
    for number, (goal, value) in enumerate(
        {"reach:0": 1, "win:9999": 0, "best-of:2:9999": 9999, "above:9999": 0}.items()
    ):
        assert solved(goal, tmp_path / str(number)).worth(START, 0) == pytest.approx(value, rel=1e-12)


def test_distributions_in_files(tmp_path: Path) -> None:
    """A file of probabilities of exactly each score and one of at least each score are told apart and mean the same."""
    file = tmp_path / "scores"
    for text in ("0.125 0 0.5 0.375", "1\n0.875\n0.875\n0.375", "1, .875, .875, .375, 0, 0"):
        file.write_text(text)
        assert read_distribution(str(file))[:4].tolist() == [1, 0.875, 0.875, 0.375]
        assert not read_distribution(str(file))[4:].any()
    for certain in ("1", "1 0 0"):
        file.write_text(certain)
        assert read_distribution(str(file)).tolist()[0] == 1
    file.write_text("1.0000000000005 0.25")  # rounded; a worth below 0 would be no probability
    assert read_distribution(str(file)).tolist() == [1, 0.25]
    file.write_text("0.33333 0.33333 0.33333")
    assert read_distribution(str(file)) == pytest.approx([1, 2 / 3, 1 / 3], rel=1e-12)
    curve = play_for_mean(RULES).curve
    n_scores = Utility.count_scores(RULES)
    for numbers in (curve, -np.diff(np.append(curve, 0.0))):
        file.write_text("\n".join(map(repr, numbers.clip(min=0).tolist())))
        for kind in ("win", "win-outright", "best-of:3"):
            worths = [
                parse_goal(f"{kind}:2*{other}").worths(n_scores, partial(curve_of, rules=RULES))
                for other in ("expected", f"file:{file}")
            ]
            assert worths[0] == pytest.approx(worths[1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected probabilities, one for each final score from 0 on, found none"),
        ("0.5 0.6 -0.1", "expected probabilities, one for each final score from 0 on, found -0.1"),
        ("1 0.5 1.5", "expected probabilities, one for each final score from 0 on, found 1.5"),
        ("0.25 0.25 0.25", "which add up to 1, or of at least each score, which begin with 1; these add up to 0.75"),
        ("0.5 0.5 0.5", "these add up to 1.5"),
        ("1 0.5 0.75 0.25", "of at least each score from 0 on, because they begin with 1; they rise at score 2"),
        ("0.9 0.5 0.2", "these add up to 1.6"),
        ("1 nan", "expected numbers with blanks, commas or line ends between, found 'nan'"),
        ("1 1e999", "found '1e999'"),
        ("[1, 0.5]", r"found '\[1'"),
    ],
)
def test_files_that_are_no_distribution(text: str, complaint: str, tmp_path: Path) -> None:
    """Numbers that are no distribution of scores are refused in one line, with the reason."""
    (tmp_path / "scores").write_text(text)
    with pytest.raises(UsageError, match=complaint) as refused:
        read_distribution(str(tmp_path / "scores"))
    assert "\n" not in str(refused.value)


def test_scorecards_of_opponents() -> None:
    """From his scorecard on, an opponent plays for the mean, and his points so far are certain."""
    boxes = [category.name for category in RULES.categories]
    empty, played = curve_of(Opponent("card", f"{boxes[0]}=0"), RULES), play_for_mean(RULES, Anchor(0b1110, 0, False))
    assert empty.tolist() == played.curve[: len(empty)].tolist()
    assert not played.curve[len(empty) :].any()
    some = curve_of(Opponent("card", f"{boxes[0]}=2"), RULES)
    rest = play_for_mean(RULES, Anchor(0b1110, 2, False)).curve
    assert (some[:2].tolist(), some[2:].tolist()) == ([1, 1], rest[: len(some) - 2].tolist())
    assert not rest[len(some) - 2 :].any()
