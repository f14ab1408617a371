"""Goals of a game, and how they are written.

    mean                     the highest expected score
    reach:N, above:N         at least N points, more than N points
    quantile:Q               the highest score that is reached with a chance of at least Q
    power:P                  the highest mean of the score to the power P
    worth:FILE               the highest mean of the numbers that a file has for the final scores
    best-of:K[:OTHERS]       the highest mean of the best of K scores, this one and K-1 others
    win:OPPONENTS            more points than every opponent; a tie with the best of them counts half
    win-outright:OPPONENTS   the same; a tie is lost
    win                      the same as with opponents, against the other players of a position, who watch as well

Opponents are joined by `+`, each with `K*` before it if there are K of the kind. A number is a final score that is on
the table already; `file:FILE` has a distribution of final scores; `card:CARD` is a scorecard that is played on for the
highest expected score; anything else is a strategy, such as `expected` or the directory of a table.

`parse_goal` reads a goal, and `str` writes it; `play/opponents.py` finds how its opponents' scores are distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import is_integer, plain_number, read_numbers, whole_number
from yahtzee_cluster.objectives.opponents import (
    EXPECTED,
    MOST_OPPONENTS,
    THE_MEAN,
    Opponent,
    Opponents,
    joined,
    listed,
    parse_opponent,
    parse_opponents,
    usual,
)
from yahtzee_cluster.text import shown, suggestion

MOST_POINTS = 10**9 - 1
MOST = {"quantile": 1.0, "power": 100.0}
FORMS = {
    "mean": "`mean` alone",
    "reach": "reach:N with a whole number of at most 9 digits",
    "above": "above:N with a whole number of at most 9 digits",
    "quantile": "quantile:Q with a chance above 0 and up to 1, such as 0.5 or 50 %",
    "power": "power:P with a number above 0 and up to 100",
    "worth": "worth:FILE",
    "best-of": f"best-of:K or best-of:K:OTHERS with K from 1 to {MOST_OPPONENTS + 1}",
    "win": "win:OPPONENTS",
    "win-outright": "win-outright:OPPONENTS",
}
"""By kind of goal, how it is written."""
KINDS = (*FORMS, "table")
"""All kinds; the last is that of a table whose goal depends on files."""
SLACK = 1e-12
"""A probability that is lower by this fraction may be so by rounding alone."""

Values = NDArray[np.float64]


CurveOf = Callable[[Opponent], Values]
"""Finds the distribution of an opponent's final score: [s] is the probability of at least s points."""


@dataclass(frozen=True)
class Goal:
    """The goal of a game. `str` writes it in the form that `parse_goal` reads.

    >>> str(yc.Goal("reach", 250)), yc.parse_goal("above:249").reach
    ('reach:250', 250)
    """

    kind: str
    """A key of `FORMS`."""
    number: float = 0
    """The points of `reach` and `above`, the chance of `quantile`, the exponent of `power`."""
    file: str = ""
    """The path of `worth`; the name of the goal of a `table`, which is not written but comes with the table."""
    opponents: Opponents = ()
    """Those of `win` and `win-outright`; with `best-of`, the others."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"goal: no kind {shown(self.kind)}; {suggestion(str(self.kind), KINDS)}")
        if self.kind in {"reach", "above"} and not is_integer(self.number, 0, MOST_POINTS):
            raise UsageError(f"goal: {self.kind} takes a whole number up to {MOST_POINTS}, found {shown(self.number)}")
        if self.kind in MOST and not (isinstance(self.number, int | float) and 0 < self.number <= MOST[self.kind]):
            found = shown(self.number)
            raise UsageError(f"goal: {self.kind} takes a number above 0, at most {MOST[self.kind]:g}, found {found}")
        if self.kind == "win-outright" and not self.opponents:
            raise UsageError(f"goal: say against whom, as in win-outright:{EXPECTED}")
        if self.n_opponents > MOST_OPPONENTS:
            raise UsageError(f"goal: expected at most {MOST_OPPONENTS} opponents, found {self.n_opponents}")

    def __str__(self) -> str:
        if self.kind == "mean" or self.is_played_at_a_table:
            return self.kind
        match self.kind:
            case "worth":
                return f"{self.kind}:{self.file}"
            case "table":
                return self.file
            case "win" | "win-outright":
                return f"{self.kind}:{joined(self.opponents)}"
            case "best-of":
                others = "" if self.opponents == usual(self.n_opponents) else f":{joined(self.opponents)}"
                return f"{self.kind}:{self.n_opponents + 1}{others}"
        return f"{self.kind}:{_plain(self.number)}"

    @property
    def words(self) -> str:
        """The goal in words, as they stand after "playing for"."""
        match self.kind:
            case "reach":
                words = f"at least {self.number} points"
            case "above":
                words = f"more than {self.number} points"
            case "quantile":
                words = f"the highest score that is reached with a chance of at least {100 * self.number:.12g} %"
            case "power":
                words = f"the highest mean of the score to the power {_plain(self.number)}"
            case "table":
                words = words_of_table(self.file)
            case "worth":
                words = f"the highest mean of what the score is worth in {self.file}"
            case "win" if not self.opponents:
                words = f"a win against the other players, {self._tie}"
            case "win" | "win-outright":
                words = f"a win against {listed(self.opponents, 'an opponent', 'opponents')}, {self._tie}"
            case "best-of" if self.opponents:
                others = listed(self.opponents, "another", "others")
                words = f"the highest mean of the best of {self.n_opponents + 1} scores, with {others}"
            case _:
                words = THE_MEAN
        return words

    @property
    def is_chance(self) -> bool:
        """Whether the value of a state by this goal is a probability."""
        return self.kind in {"reach", "above", "win", "win-outright"}

    @property
    def outcome(self) -> str:
        """The end of a sentence that begins with this probability."""
        kind = (goal_of_table(self.file) or self).kind if self.kind == "table" else self.kind
        return "to win" if kind in {"win", "win-outright"} else "of reaching it"

    @property
    def _tie(self) -> str:
        return "a tie counted half" if self.kind == "win" else "a tie counted as lost"

    @property
    def reach(self) -> int | None:
        """The score that has to be reached, with `reach` and `above`."""
        return {"reach": int(self.number), "above": int(self.number) + 1}.get(self.kind)

    @property
    def is_played_at_a_table(self) -> bool:
        """Whether the opponents are the other players of a position."""
        return self.kind == "win" and not self.opponents

    @property
    def n_opponents(self) -> int:
        """The number of opponents, or of others."""
        return sum(count for _, count in self.opponents)

    def worths(self, n_scores: int, curve_of: CurveOf) -> Values:
        """The utility of each final score, from 0 on: playing for the goal is to maximise its mean."""
        scores = np.arange(n_scores)
        match self.kind:
            case "mean":
                return scores.astype(float)
            case "reach" | "above":
                return (scores >= (self.reach or 0)).astype(float)
            case "quantile":
                raise UsageError(f"goal: {self} is no utility of the final score; it takes the chances of all scores")
            case "win" if not self.opponents:
                raise UsageError(f"goal: say against whom, as in win:{EXPECTED}; only a position has other players")
            case "power":
                with np.errstate(over="ignore"):  # tables refuse worths that are too large, whatever the goal
                    return np.asarray(scores ** float(self.number), float)
            case "worth":
                return _worths_in(self.file, n_scores)
            case "table":
                raise UsageError(f"goal: the table does not cover this position; name its goal itself, {self.file}")
        curves = [curve_of(opponent) for opponent, _ in self.opponents]
        if self.kind == "best-of":
            # The best is this score, and one point more for each higher score that the best of the others reaches.
            length = max(n_scores, *map(len, curves)) if curves else n_scores
            reached = 1 - self._below(curves, length + 1)
            return np.asarray(scores + np.cumsum(reached[:0:-1])[::-1][:n_scores])
        below = self._below(curves, n_scores + 1)
        less, no_more = below[:-1], below[1:]
        return np.asarray(less + (0.5 * (no_more - less) if self.kind == "win" else 0.0))

    def _below(self, curves: Sequence[Values], length: int) -> Values:
        """[s]: the probability that every opponent has less than s points."""
        below = np.ones(length)
        for (_, count), curve in zip(self.opponents, curves, strict=True):
            at_least = np.zeros(length)
            at_least[: len(curve)] = curve[:length]
            below *= (1 - at_least) ** count
        return below

    def with_paths(self, change: Callable[[str, str], str]) -> Goal:
        """The same goal with other paths; `change` takes "file" or "strategy", and a path."""
        opponents = tuple(
            (replace(one, text=change(one.kind, one.text)) if one.kind in {"file", "strategy"} else one, count)
            for one, count in self.opponents
        )
        return replace(self, file=self.file and change("file", self.file), opponents=opponents)


MEAN = Goal("mean")
WIN = Goal("win")
"""To win against the other players of a position."""


def parse_goal(text: str) -> Goal:
    """The goal that a text names; whether its files and strategies exist is not checked yet.

    >>> print(yc.parse_goal("win:2*expected+231").words)
    a win against 2 opponents who play for the highest expected score and a final score of 231, a tie counted half
    """
    kind, colon, said = (part.strip() for part in text.partition(":"))
    match kind:
        case "mean" | "expected" if not colon:
            goal: Goal | None = MEAN
        case "reach" | "above" | "quantile" | "power":
            goal = _with_number(kind, said)
        case "worth":
            goal = Goal(kind, file=said) if said else None
        case "best-of":
            goal = _best_of(said)
        case "win" if not colon:
            goal = Goal(kind)
        case "win" | "win-outright":
            goal = Goal(kind, opponents=parse_opponents(said))
        case "beat" | "beat-all":
            win = f"{OLDER[kind]}:K*{EXPECTED} to win against K opponents"
            raise UsageError(f"goal: expected {win}, or above:N for more than N points, found {shown(text)}")
        case _:
            goal = None
    if goal:
        return goal
    if kind in FORMS:
        raise UsageError(f"goal: expected {FORMS[kind]}, found {shown(text)}")
    raise UsageError(f"goal: no goal {shown(text)}; {suggestion(kind, [*FORMS])}")


def _with_number(kind: str, said: str) -> Goal | None:
    """The goal with this number; None if it is none, or out of range."""
    if kind in {"reach", "above"}:
        points = whole_number(said)
        return None if points is None else Goal(kind, points)
    if kind == "quantile" and said.endswith("%"):
        said = f"{said[:-1].rstrip()}e-2"
    number = plain_number(said)
    return Goal(kind, number) if number is not None and 0 < number <= MOST[kind] else None


def _best_of(said: str) -> Goal | None:
    """The goal with this number of scores and these others; None if the number is none, or out of range."""
    number, has_others, others = said.partition(":")
    count = whole_number(number.strip())
    if not count or count > MOST_OPPONENTS + 1:
        return None
    goal = Goal("best-of", opponents=parse_opponents(others) if has_others else usual(count - 1))
    if goal.n_opponents != count - 1:
        raise UsageError(f"goal: best-of:{count} takes {count - 1} others, found {goal.n_opponents} in {shown(said)}")
    return goal


def score_for(chance: float, probabilities: Sequence[float] | Values) -> int:
    """The highest score with at least some chance, given the highest probability of at least 0, 1, 2, … points.

    This is the value by `quantile`. A probability that is lower than the chance by a fraction of 1e-12 counts as equal,
    because it may be so by rounding alone. Where probabilities do not fall, the highest such score counts.
    """
    if not len(probabilities) or not probabilities[0] >= 1 - SLACK:
        raise UsageError("probabilities: expected the first one to be 1, that of at least 0 points")
    return int(np.flatnonzero(np.asarray(probabilities) >= chance * (1 - SLACK))[-1])


# ---------------------------------------------------------------------------------------------- names in tables

OLDER = {"beat": "win", "beat-all": "win-outright"}
"""How goals with opponents of one strategy are called in tables, for the sake of those that exist."""


def names_in_tables(goal: Goal) -> tuple[str, str | None]:
    """The name of a goal in a table, without folders, and the strategy of its opponents if the name does not say it.

    A win against K opponents who all play by one strategy is called `beat:K` or `beat-all:K`, which say `expected`.
    """
    for older, kind in OLDER.items():
        if goal.kind == kind and [one.kind for one, _ in goal.opponents] == ["strategy"]:
            ((one, count),) = goal.opponents
            return f"{older}:{count}", None if one.text == EXPECTED else one.text
    return str(goal.with_paths(lambda _, path: Path(path).absolute().name)), None


def is_older(text: str) -> bool:
    """Whether a goal is written as `beat:K` or `beat-all:K`."""
    return text.partition(":")[0] in OLDER


def parse_older(text: str, against: str = EXPECTED) -> Goal:
    """The goal that a text in a job names: as `parse_goal`, and `beat:K` and `beat-all:K` against a strategy."""
    kind, _, number = text.partition(":")
    if kind in OLDER and (count := whole_number(number)):
        return Goal(OLDER[kind], opponents=((parse_opponent(against), count),))
    return parse_goal(text)


def goal_of_table(name: str) -> Goal | None:
    """The goal after which a table is named, its files and strategies without folders; None if it has another name."""
    goal, _, strategy = name.partition(" against ") if is_older(name) else (name, "", "")
    try:
        return parse_older(goal, strategy or EXPECTED)
    except UsageError:
        return None


def words_of_table(name: str) -> str:
    """The goal after which a table is named, in words; its name if that is no goal."""
    goal = goal_of_table(name)
    return goal.words if goal else name


# --------------------------------------------------------------------------------------------- numbers and words


def _worths_in(file: str, n_scores: int) -> Values:
    """The numbers in a file for score 0, 1, …; the last one holds for all scores above."""
    numbers = read_numbers(file)
    if not 0 < len(numbers) <= n_scores:
        raise FileError(file, f"expected 1 to {n_scores} numbers, for the final scores from 0 on, found {len(numbers)}")
    return np.array(numbers + numbers[-1:] * (n_scores - len(numbers)))


def _plain(number: float) -> str:
    """A number in the shortest form that is read as the same number."""
    return repr(number).removesuffix(".0")
