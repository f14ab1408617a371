"""The grammar of goals, and what the goals are worth, against enumeration of all results."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.objectives.goals import (
    MEAN,
    Goal,
    goal_of_table,
    names_in_tables,
    parse_goal,
    parse_older,
    score_for,
)
from yahtzee_cluster.objectives.opponents import Opponent

CHANCES: dict[str, list[float]] = {
    "expected": [0.1, 0.0, 0.2, 0.3, 0.4],
    "file:even": [0.5, 0.5],
    "daring": [0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3],
    "3": [0.0, 0.0, 0.0, 1.0],
    "5": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
}
"""The probability of each final score of some opponents."""


def curve_of(opponent: Opponent) -> NDArray[np.float64]:
    return np.cumsum(CHANCES[str(opponent)][::-1])[::-1]


def results(names: list[str]) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every combination of the final scores of these opponents, with its probability."""
    for scores in product(*(range(len(CHANCES[name])) for name in names)):
        yield float(np.prod([CHANCES[name][score] for name, score in zip(names, scores, strict=True)])), scores


@pytest.mark.parametrize(
    "names",
    [
        *(["expected"], ["expected"] * 3, ["file:even"] * 2, ["3"], ["3", "5"], ["3"] * 4),
        *(["expected", "daring"], ["expected", "daring", "expected", "3"], ["file:even", "5", "daring", "daring"]),
    ],
)
def test_worths_are_those_of_all_results(names: list[str]) -> None:
    """Against any opponents, the worth of a score is its mean over all their results, by the definition of the goal."""
    others = "+".join(names)
    definitions: dict[str, Callable[[int, int], float]] = {
        f"win:{others}": lambda mine, highest: (mine > highest) + 0.5 * (mine == highest),
        f"win-outright:{others}": lambda mine, highest: mine > highest,
        f"best-of:{len(names) + 1}:{others}": max,
    }
    for text, worth_of in definitions.items():
        for n_scores in (4, 7, 9):
            means = [sum(p * worth_of(mine, max(them)) for p, them in results(names)) for mine in range(n_scores)]
            assert parse_goal(text).worths(n_scores, curve_of) == pytest.approx(means, abs=1e-12), text


def test_worths_without_opponents(tmp_path: Path) -> None:
    """The score, whether it is high enough, its power, and the numbers of a file, of which the last one goes on."""
    file = tmp_path / "worth.txt"
    file.write_text("0, -1\n2.5")
    for text, worths in {
        "mean": [0, 1, 2, 3],
        "best-of:1": [0, 1, 2, 3],
        "reach:2": [0, 0, 1, 1],
        "above:2": [0, 0, 0, 1],
        "reach:0": [1, 1, 1, 1],
        "reach:9": [0, 0, 0, 0],
        "power:2": [0, 1, 4, 9],
        "power:0.5": [0, 1, 2**0.5, 3**0.5],
        f"worth:{file}": [0, -1, 2.5, 2.5],
        "best-of:2:5": [5, 5, 5, 5],
        "win:5": [0, 0, 0, 0],
        "win:3": [0, 0, 0, 0.5],
        "win-outright:3": [0, 0, 0, 0],
    }.items():
        assert parse_goal(text).worths(4, curve_of).tolist() == worths, text
    assert Goal("power", 100).worths(4, curve_of)[3] == 3.0**100
    with pytest.raises(UsageError, match=r"goal: quantile:0\.5 is no utility of the final score"):
        parse_goal("quantile:0.5").worths(4, curve_of)


OPPONENTS = st.builds(Opponent, st.just("score"), st.integers(0, 1_000_000).map(str)) | st.sampled_from(
    [
        *(Opponent("strategy", text) for text in ("expected", "chance", "runs/some", "./231", "runs/a b:250", "./2*x")),
        *(Opponent("file", text) for text in ("curve.txt", "a/b:c", "x, y", "../z")),
        *(Opponent("card", text) for text in ("aces=3,full-house=25", "1s=4")),
    ]
)
SEVERAL = st.dictionaries(OPPONENTS, st.integers(1, 9), min_size=1, max_size=4).map(lambda counts: (*counts.items(),))
GOALS = st.one_of(
    st.just(MEAN),
    st.builds(Goal, st.sampled_from(["reach", "above"]), st.integers(0, 999_999_999)),
    st.builds(Goal, st.just("quantile"), st.floats(0, 1, exclude_min=True)),
    st.builds(Goal, st.just("power"), st.floats(0, 100, exclude_min=True)),
    st.sampled_from(["worth.txt", "a/b:+*c", "a b"]).map(lambda path: Goal("worth", file=path)),
    st.builds(Goal, st.sampled_from(["win", "win-outright", "best-of"]), opponents=SEVERAL),
)


@settings(max_examples=500)
@given(GOALS)
def test_every_goal_is_read_as_it_is_written(goal: Goal) -> None:
    """Reading what `str` writes gives the same goal, with blanks around its parts too; so does reading it in a job."""
    assert parse_goal(str(goal)) == parse_older(str(goal)) == goal
    kind, colon, rest = str(goal).partition(":")
    assert parse_goal(f" {kind} {colon} {rest.replace('+', ' + ') if goal.opponents else rest} ") == goal


@pytest.mark.parametrize(
    ("said", "written", "words"),
    [
        ("expected", "mean", "the highest expected score"),
        ("reach:0250", "reach:250", "at least 250 points"),
        ("above:250", "above:250", "more than 250 points"),
        ("quantile:7%", "quantile:0.07", "the highest score that is reached with a chance of at least 7 %"),
        ("quantile: 12.5 %", "quantile:0.125", "the highest score that is reached with a chance of at least 12.5 %"),
        ("power:2.0", "power:2", "the highest mean of the score to the power 2"),
        ("worth:a.txt", "worth:a.txt", "the highest mean of what the score is worth in a.txt"),
        ("best-of:1", "best-of:1", "the highest expected score"),
        (
            "best-of:3:expected+expected",
            "best-of:3",
            "the highest mean of the best of 3 scores, with 2 others who play for the highest expected score",
        ),
        (
            "best-of:2:9",
            "best-of:2:9",
            "the highest mean of the best of 2 scores, with a final score of 9",
        ),
        ("win:./x:8", "win:./x:8", "a win against an opponent with the strategy ./x:8, a tie counted half"),
        (
            "win:expected",
            "win:expected",
            "a win against an opponent who plays for the highest expected score, a tie counted half",
        ),
        (
            "win-outright:09+2*file:f+9+file:f+card:a=3,b=0",
            "win-outright:2*9+3*file:f+card:a=3,b=0",
            (
                "a win against 2 final scores of 9, 3 opponents with scores as in f and an opponent who plays for the "
                "highest expected score from a=3,b=0 on, a tie counted as lost"
            ),
        ),
    ],
)
def test_spelling_and_words(said: str, written: str, words: str) -> None:
    """A goal has one spelling, whatever was typed, and is put into words."""
    goal = parse_goal(said)
    assert (str(goal), goal.words) == (written, words)


def test_what_a_goal_says_of_itself() -> None:
    """Its value is a probability where it is one, of the outcome that it names; only some goals are a score."""
    reached, half, lost = "of reaching it", "to win", "to win"
    for text, outcome, reach in (("reach:0", reached, 0), ("above:250", reached, 251), ("win:9", half, None)):
        goal = parse_goal(text)
        assert (goal.is_chance, goal.outcome, goal.reach) == (True, outcome, reach)
    assert parse_goal("win-outright:9").outcome == lost
    for text in ("mean", "quantile:0.5", "power:1", "worth:x", "best-of:3"):
        assert (parse_goal(text).is_chance, parse_goal(text).reach) == (False, None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no goal ''; there are mean, reach, above, quantile, power, worth, best-of, win, win-outright"),
        ("rech:250", "no goal 'rech:250'; did you mean reach?"),
        ("Mean", "no goal 'Mean'; did you mean mean?"),
        ("win-outrigth:9", "no goal 'win-outrigth:9'; did you mean win-outright?"),
        ("mean:250", "expected `mean` alone, found 'mean:250'"),
        *(
            (f"reach:{n}", f"expected reach:N with a whole number of at most 9 digits, found 'reach:{n}")
            for n in ("", "-1")
        ),
        *((f"above:{n}", "expected above:N with a whole number") for n in ("2.5", "²", "1_0", "1234567890")),
        *(
            (f"quantile:{q}", "expected quantile:Q with a chance above 0 and up to 1")
            for q in ("0", "1.01", "101 %", "%")
        ),
        *((f"quantile:{q}", "expected quantile:Q with a chance") for q in ("", "-0.5", "nan", "50 % %", "1e-400")),
        *(
            (f"power:{p}", "expected power:P with a number above 0 and up to 100")
            for p in ("0", "-1", "101", "nan", "1_0")
        ),
        *(("worth", "expected worth:FILE"), ("worth: ", "expected worth:FILE")),
        *(
            (f"best-of:{k}", "expected best-of:K or best-of:K:OTHERS with K from 1 to 1001")
            for k in ("", "0", "1002", "x")
        ),
        ("best-of:3:231", "best-of:3 takes 2 others, found 1 in '3:231'"),
        ("best-of:1:231", "best-of:1 takes 0 others, found 1 in '1:231'"),
        (
            "best-of:3:",
            "expected opponents, joined by +, each a final score, expected, DIR, DIR:N, file:FILE or card:CARD",
        ),
        *(
            (f"win:{none}", "expected opponents, joined by +, each a final score")
            for none in ("", "+", "231+", "2*", "card:")
        ),
        ("win-outright", "expected opponents, joined by +"),
        *(
            (f"win:{none}", "expected 1 to 1000 opponents, found")
            for none in ("0*expected", "9+00*231", "1234567890*9")
        ),
        *((f"win:{many}", "expected at most 1000 opponents") for many in ("1001*expected", "900*expected+101*chance")),
        *(
            (f"win:{score}", "expected a final score from 0 to 1000000, found")
            for score in ("-5", "2.5", "1000001", "1e3")
        ),
        ("win:fiel:x", "no opponent 'fiel:x'; did you mean file?"),
        ("win:cards:aces=3", "no opponent 'cards:aces=3'; did you mean card?"),
        (
            "beat:3",
            "expected win:K*expected to win against K opponents, or above:N for more than N points, found 'beat:3'",
        ),
        ("beat-all:250", "expected win-outright:K*expected to win against K opponents, or above:N for more"),
    ],
)
def test_refusals(text: str, complaint: str) -> None:
    """What is no goal is refused in one line, which says what was expected."""
    with pytest.raises(UsageError) as refused:
        parse_goal(text)
    assert str(refused.value).startswith(f"goal: {complaint}")
    assert "\n" not in str(refused.value)


def test_paths_can_be_changed() -> None:
    """Each path in a goal can be given another place, except where that would read as two opponents."""
    goal = parse_goal("win:file:f.txt+2*runs/x:250+231+card:aces=3")
    moved = goal.with_paths(lambda kind, path: f"/a/{path}" if kind == "file" else path)
    assert str(moved) == "win:file:/a/f.txt+2*runs/x:250+231+card:aces=3"
    assert str(parse_goal("worth:f").with_paths(lambda kind, path: f"{kind}/{path}")) == "worth:file/f"
    assert MEAN.with_paths(lambda _, __: "x") == MEAN
    with pytest.raises(UsageError, match=r"goal: \+ joins opponents and cannot be part of a name, found 'a\+b/f.txt'"):
        goal.with_paths(lambda _, path: f"a+b/{path}")


def test_names_in_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables call goals as they always did, and other goals by their spelling without folders."""
    for text, name in {
        "win:expected": ("beat:1", None),
        "win:3*expected": ("beat:3", None),
        "win-outright:2*expected": ("beat-all:2", None),
        "win:2*runs/daring:250": ("beat:2", "runs/daring:250"),
        "win:expected+runs/daring": ("win:expected+daring", None),
        "win-outright:231+file:/tmp/f": ("win-outright:231+file:f", None),
        "win:231": ("win:231", None),
        "best-of:3": ("best-of:3", None),
        "worth:a/b.txt": ("worth:b.txt", None),
        "power:0.5": ("power:0.5", None),
        "reach:250": ("reach:250", None),
    }.items():
        goal = parse_goal(text)
        assert names_in_tables(goal) == name, text
        if "/" not in text:
            assert goal_of_table(name[0]) == parse_older(name[0]) == goal
    monkeypatch.chdir(tmp_path)
    assert names_in_tables(parse_goal("win:.+9")) == (f"win:{tmp_path.name}+9", None)
    assert parse_older("beat:2", "runs/daring") == parse_goal("win:2*runs/daring")
    assert str(goal_of_table("beat-all:2 against power:3")) == "win-outright:2*power:3"
    for other in ("odd", "beat:0", "beat:250 or so", "beat:1 against win:2+3", "beat:1001", "reach"):
        assert goal_of_table(other) is None
    with pytest.raises(UsageError, match="expected at most 1000 opponents, found 1001"):
        parse_older("beat:1001")
    with pytest.raises(UsageError, match="expected win:K"):
        parse_older("beat:0")


def test_the_score_for_a_chance() -> None:
    """The highest score whose probability is the chance or more; one that is lower by rounding alone counts."""
    probabilities = [1.0, 1.0, 0.75, 0.5, 0.5 * (1 - 1e-13), 0.5 * (1 - 1e-11), 0.25, 0.0]
    for chance, score in ((1, 1), (0.75, 2), (0.7500001, 1), (0.5, 4), (0.4, 5), (0.25, 6), (1e-300, 6)):
        assert score_for(chance, probabilities) == score_for(chance, np.array(probabilities)) == score
    assert score_for(0.5, [1.0, 0.4, 0.6, 0.1]) == 2
    assert score_for(1, [1.0]) == score_for(0.001, [1.0]) == 0
    for wrong in ([], [0.5, 0.2], [np.nan]):
        with pytest.raises(UsageError, match="probabilities: expected the first one to be 1"):
            score_for(0.5, wrong)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        *(("reach", number) for number in (20.7, -1, 10**9, True, float("nan"))),
        *(("quantile", number) for number in (0, 2.0, float("nan"))),
        *(("power", number) for number in (-1, 101, float("inf"))),
    ],
)
def test_numbers_of_goals_from_python(kind: str, number: float) -> None:
    """A goal that is made without its text is checked as well."""
    with pytest.raises(UsageError, match=f"goal: {kind} takes a"):
        Goal(kind, number)
