"""How somebody plays, by name: for the highest expected score, by a table, or with an eye on the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yahtzee_cluster.analysis.forward import Played, play_by, play_for, play_for_mean
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import is_there, whole_number
from yahtzee_cluster.game.rules import Rules, load_rules
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.play.monte_carlo import Seat
from yahtzee_cluster.play.policies import ByTable, ForTheChance, ForTheMean, Perfectly
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.probabilities import StrategyTable
from yahtzee_cluster.tables.race import RaceTable
from yahtzee_cluster.tables.utility import UtilityTable
from yahtzee_cluster.text import printable, shown


class Strategy(ABC):
    """One way to play."""

    words: str
    """What it plays for."""
    looks_on = False
    """Whether it looks at what others do."""

    @property
    def rules(self) -> Rules | None:
        """Of the game that it knows; most know but one."""
        return None

    @abstractmethod
    def seat(self, expected: ExpectedTable) -> Seat:
        """Somebody who plays so, in a game whose expected scores are these."""

    def played(self, rules: Rules) -> Played:  # noqa: ARG002
        """All games of it, each alone; of one that looks at others there are none."""
        raise UsageError(
            f"who plays for {self.words} looks at the others: only games with dice can say what comes of it"
        )


class BestMean(Strategy):
    """Plays for the highest expected score."""

    words = "the highest expected score"

    def seat(self, expected: ExpectedTable) -> Seat:
        """Decides by the anchor alone."""
        return ForTheMean(expected)

    def played(self, rules: Rules) -> Played:
        """All games of it."""
        return play_for_mean(rules)


class BestChance(Strategy):
    """Plays for the chance to win, and takes what everybody will still score for normally distributed."""

    words = "the best chance to win"
    looks_on = True

    def seat(self, expected: ExpectedTable) -> Seat:
        """Decides by all scorecards."""
        return ForTheChance(expected)


@dataclass(frozen=True)
class OfTable(Strategy):
    """Plays by a table of some utility, or for a target by one that knows how to."""

    table: StrategyTable | UtilityTable
    target: int | None = None

    @property
    def words(self) -> str:  # type: ignore[override]
        """What it plays for."""
        return self.table.goal or f"at least {self.target} points ({self.table.objective})"

    @property
    def rules(self) -> Rules:
        """Of the table."""
        return self.table.rules

    def seat(self, expected: ExpectedTable) -> Seat:  # noqa: ARG002
        """Decides by the anchor and the score so far."""
        return ByTable(self.table, self.target or 0)

    def played(self, rules: Rules) -> Played:  # noqa: ARG002
        """All games of it."""
        return play_by(self.table) if self.target is None else play_for(self.target, self.table)


@dataclass(frozen=True)
class Perfect(Strategy):
    """Plays by a table of two players, as either of them."""

    table: RaceTable
    words = "a win, perfectly"
    looks_on = True

    @property
    def rules(self) -> Rules:
        """Of the table."""
        return self.table.rules

    def seat(self, expected: ExpectedTable) -> Seat:  # noqa: ARG002
        """Decides by both scorecards."""
        return Perfectly(self.table)


EXPECTED = "expected"
BY_NAME: dict[str, Strategy] = {EXPECTED: BestMean(), "chance": BestChance()}


def parse_strategy(text: str) -> Strategy:
    """A name, the directory of a table of some utility or of two players, or DIR:N, to reach N by a table of scores."""
    if text in BY_NAME:
        return BY_NAME[text]
    directory, colon, number = text.rpartition(":")
    if not text or (colon and not directory):
        raise UsageError(f"no strategy {shown(text)}; expected {', '.join(BY_NAME)}, a directory, or DIR:N")
    if colon and (target := whole_number(number)) is not None and not is_there(Path(text)):
        return OfTable(open_table(directory).for_target(target), target)
    table = open_table(text)
    if isinstance(table, RaceTable):
        return Perfect(table)
    if table.goal is not None:
        return OfTable(table.for_goal())
    raise UsageError(f"{printable(shown(text))}: holds {table.objective}; say what is played for, as in DIR:250")


def common_rules(strategies: Sequence[Strategy], rules: Rules | None = None) -> Rules:
    """Of the game that all of them play: one that is named, or that of their tables."""
    known = [strategy.rules for strategy in strategies if strategy.rules]
    rules = rules or (known[0] if known else load_rules("yahtzee"))
    if any(other.table != rules.table for other in known):
        raise UsageError("all have to play the same game; these tables hold different rules")
    return rules
