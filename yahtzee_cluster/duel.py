"""Two strategies that do not look at each other, against each other: who has more points in the end, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yahtzee_cluster.errors import UsageError, shown
from yahtzee_cluster.games import Played, play_by, play_for, play_for_mean
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.rules import Rules, load_rules
from yahtzee_cluster.table import Table, open_table

EXPECTED = "expected"


@dataclass(frozen=True)
class Strategy:
    """How somebody plays: for the highest expected score, by a table, or by a table for some score."""

    table: Table | None
    target: int | None

    @property
    def words(self) -> str:
        """What it plays for."""
        if self.table is None:
            return "the highest expected score"
        if isinstance(self.table.problem, Utility):
            return self.table.problem.goal
        return f"at least {self.target} points ({self.table.objective})"

    def played(self, rules: Rules) -> Played:
        """All games of it."""
        if self.table is None:
            return play_for_mean(rules)
        return play_by(self.table) if self.target is None else play_for(self.target, self.table)


@dataclass(frozen=True)
class Duel:
    """How likely each outcome is to the first."""

    win: float
    tie: float
    loss: float

    @property
    def value(self) -> float:
        """A tie counted half."""
        return self.win + self.tie / 2


def parse_strategy(text: str) -> Strategy:
    """`expected`, the directory of a table of some utility, or DIR:N for a table of scores or approx, and a score."""
    if text == EXPECTED:
        return Strategy(None, None)
    directory, colon, number = text.rpartition(":")
    if colon and number.isdecimal() and len(number) < 10 and not Path(text).exists():
        return Strategy(open_table(directory), int(number))
    table = open_table(text)
    if not isinstance(table.problem, Utility):
        raise UsageError(f"{shown(text)}: holds {table.objective}; say what is played for, as in DIR:250")
    return Strategy(table, None)


def duel(one: Strategy, other: Strategy, rules: Rules | None = None) -> Duel:
    """Both play a game alone; the rules are those of their tables."""
    known = [strategy.table.rules for strategy in (one, other) if strategy.table]
    if rules is None:
        rules = known[0] if known else load_rules("yahtzee")
    if any(other_rules.table != rules.table for other_rules in known):
        raise UsageError("both have to play the same game; these tables hold different rules")
    first = one.played(rules).curve
    second = first if other == one else other.played(rules).curve
    length = max(len(first), len(second)) + 1
    one_at_least, other_at_least = (np.append(curve, np.zeros(length - len(curve))) for curve in (first, second))
    mine, theirs = (-np.diff(curve) for curve in (one_at_least, other_at_least))
    less = mine @ (1 - other_at_least[:-1])
    return Duel(float(less), float(mine @ theirs), float(theirs @ (1 - one_at_least[:-1])))
