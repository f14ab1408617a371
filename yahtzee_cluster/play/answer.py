"""The answer to a question about a position, in the one form that the command line, Python and other programs get.

`docs/reference/answer.schema.json` describes it as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from yahtzee_cluster.analysis.statistics import PERCENTILES, percentile
from yahtzee_cluster.errors import UsageError, needs
from yahtzee_cluster.game.notation import names_of
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.expected import std_of
from yahtzee_cluster.objectives.goals import Goal
from yahtzee_cluster.play.choices import Move, Values
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.wording import in_words, percentiles

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

VERSION = 1
"""The version of the JSON. Fields may be added within a version; their meaning does not change."""
MOST_ENDS = 3
"""Boxes named in the main line."""
SHOWN_MOVES = 5
"""Moves that the `repr` of an answer lists."""
FIGURES = "value", "cost", "mean", "std"
"""The numbers that every move has."""


@dataclass(frozen=True)
class Chances:
    """The probabilities with which a game of two ends, for the player to move."""

    win: float
    tie: float
    loss: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Advice:
    """A move with its figures.

    >>> yc.new_game("yahtzee").with_card(aces=3, full_house=25).with_dice("22256").advise().moves[1]
    Advice('keep 2 2 2 6', value=244.571, cost=3.19)
    """

    move: Move
    p: float | None = None
    """The probability of reaching the goal, if the goal is one that is reached or not."""
    worth: float | None = None
    """The value of the move by the goal, if it is neither a probability nor an expected score."""
    expected: float | None = None
    """The expected final score when playing for the goal, if it is known."""
    std: float | None = None
    """The standard deviation of the final score, if it is known."""
    chances: Chances | None = None
    """With two players, the probabilities of a win, a tie and a loss, if they are known."""
    cost: float
    """The difference in value to the best move, by the goal."""

    def __repr__(self) -> str:
        return f"Advice({self.move.words!r}, value={self.value:.6g}, cost={self.cost:.3g})"

    @property
    def value(self) -> float:
        """The value of the move by the goal."""
        return next(value for value in (self.p, self.worth, self.expected) if value is not None)

    def to_dict(self) -> dict[str, Any]:
        """The move with its figures, ready for JSON."""
        move = self.move
        found: dict[str, Any] = {"words": move.words, "value": self.value, "cost": self.cost}
        if move.keep is not None:
            found["keep"] = move.keep
        elif move.category is not None:
            found |= {"category": move.category, "points": move.points}
        if self.chances is not None:
            found |= {"win": self.chances.win, "tie": self.chances.tie, "loss": self.chances.loss}
        return found | {"mean": self.expected, "std": self.std}


@dataclass(frozen=True)
class Said:
    """A move that a strategy makes, and what it costs."""

    strategy: str
    move: Move
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """The strategy with its move, ready for JSON."""
        return {"name": self.strategy, "words": self.move.words, "cost": self.cost}


@dataclass(frozen=True, repr=False, eq=False)
class Distribution:
    """How the final score is distributed.

    >>> yc.new_game("yacht").distribution()
    mean       169.7739
    std        35.2966
    percentile           score
    1                       92
    5                      114
    10                     124
    25                     146
    50                     169
    75                     192
    90                     219
    95                     234
    99                     248
    """

    curve: Values
    """[s]: the probability of a final score of at least s."""

    def __repr__(self) -> str:
        moments = f"{'mean':10} {self.mean:.4f}", f"{'std':10} {self.std:.4f}"
        return "\n".join([*moments, *percentiles(self.to_dict()["percentiles"])])

    @property
    def mean(self) -> float:
        """The expected final score."""
        return float(self.curve[1:].sum())

    @property
    def std(self) -> float:
        """The standard deviation of the final score."""
        scores = np.arange(1, len(self.curve))
        return std_of(self.mean, float((2 * scores - 1) @ self.curve[1:]))

    def percentile(self, share: float) -> int:
        """The lowest score that this share of all games does not exceed."""
        if not 0 <= share <= 1:
            raise UsageError(f"share: expected a number from 0 to 1, found {share}")
        return percentile(self.curve, share)

    def to_dict(self) -> dict[str, Any]:
        """Moments, percentiles and the curve, ready for JSON."""
        percentiles = {f"{share:g}": self.percentile(share / 100) for share in PERCENTILES}
        return {"mean": self.mean, "std": self.std, "percentiles": percentiles, "at_least": self.curve.tolist()}

    def to_pandas(self) -> pd.Series:
        """The probability of at least each score, as a series. Needs the extra `data`."""
        with needs("to_pandas", "pandas", extra="data"):
            import pandas as pd
        return pd.Series(self.curve, pd.RangeIndex(len(self.curve), name="score"), name="at_least")

    def to_xarray(self) -> xr.DataArray:
        """The same, as an array with the dimension `score`. Needs the extra `data`."""
        with needs("to_xarray", "xarray", extra="data"):
            import xarray as xr
        return xr.DataArray(self.curve, {"score": np.arange(len(self.curve))}, name="at_least")


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer:
    """What is to be known of a position, for a goal.

    >>> game = yc.new_game("yacht").with_card("aces=3, 2=6, 3=9, 4=12, 5=15, 6=18, yacht=50")
    >>> answer = game.with_dice("22333").advise("reach:200")
    >>> print(f"{answer.value:.4f}: {answer.line}")
    0.2676: keep all dice; the turn ends most often in full-house (100 %)
    >>> answer.to_dict()["moves"][0]["words"]
    'keep all dice'
    """

    rules: Rules
    position: Position
    goal: Goal
    value: float
    """The value of the position by the goal, with the best play from here on."""
    mean: float | None
    """The expected final score when playing for the goal, if it is known."""
    std: float | None
    """Its standard deviation, if it is known."""
    moves: tuple[Advice, ...]
    """Every legal move, the best first; none once the game is over."""
    ends: tuple[tuple[str, float], ...]
    """The boxes in which the turn ends if it is played on for the goal, with their probabilities, most likely first."""
    source: str
    """Where the values are from: `expected`, `table`, `solved`, `rule` or `score`."""
    rule: tuple[Move, float] | None = None
    """With two players, the move that the rule for several players takes, and what it costs."""
    said: Said | None = None
    """The move of a strategy, if one was asked, and what it costs by the goal."""
    distribution: Distribution | None = None
    """How the final score is distributed when playing for the goal, if that was asked for."""

    def __repr__(self) -> str:
        return in_words(self, SHOWN_MOVES)

    @property
    def best(self) -> Advice | None:
        """The best move; None once the game is over."""
        return self.moves[0] if self.moves else None

    @property
    def forced(self) -> bool:
        """Whether there is no choice."""
        return len(self.moves) < 2

    @property
    def line(self) -> str:
        """The best move and what comes of it, in words."""
        if self.best is None:
            return "the game is over"
        if self.best.move.category is not None:
            return self.best.move.words
        named = [f"{name} ({100 * chance:.0f} %)" for name, chance in self.ends[:MOST_ENDS] if chance >= 0.01]
        return f"{self.best.move.words}; the turn ends most often in {', '.join(named)}"

    def to_dict(self) -> dict[str, Any]:
        """The answer, ready for JSON."""
        position = self.position
        anchor = position.anchor
        return {
            "version": VERSION,
            "rules": self.rules.name,
            "card": position.card and position.card.as_dict(),
            "used": names_of(self.rules.all_free & ~anchor.free, self.rules),
            "upper": anchor.upper,
            "chip": anchor.chip,
            "score": position.score,
            "dice": position.roll,
            "rolls_left": position.rolls_left,
            "goal": str(self.goal),
            "value": self.value,
            "mean": self.mean,
            "std": self.std,
            "forced": self.forced,
            "line": self.line,
            "source": self.source,
            "others": [{"score": other.score, "free": other.anchor.free.bit_count()} for other in position.others],
            "rule": self.rule and {"words": self.rule[0].words, "cost": self.rule[1]},
            "strategy": self.said and self.said.to_dict(),
            "moves": [advice.to_dict() for advice in self.moves],
            "distribution": self.distribution and self.distribution.to_dict(),
        }

    def to_pandas(self) -> pd.DataFrame:
        """The moves as a data frame, the best first, with columns as in JSON. Needs the extra `data`."""
        with needs("to_pandas", "pandas", extra="data"):
            import pandas as pd
        moves = [advice.to_dict() for advice in self.moves]
        return pd.DataFrame(moves, columns=None if moves else ["words", *FIGURES]).astype(dict.fromkeys(FIGURES, float))

    def to_xarray(self) -> xr.Dataset:
        """The figures of the moves by the dimension `move`; and the distribution by `score`, if it was asked for.

        Needs the extra `data`.
        """
        with needs("to_xarray", "xarray", extra="data"):
            import xarray as xr
        moves = [advice.to_dict() for advice in self.moves]
        found = xr.Dataset(
            {name: ("move", np.array([move[name] for move in moves], float)) for name in FIGURES},
            {"move": [move["words"] for move in moves]},
            {"rules": self.rules.name, "goal": str(self.goal), "value": self.value, "source": self.source},
        )
        return found.assign(at_least=self.distribution.to_xarray()) if self.distribution else found
