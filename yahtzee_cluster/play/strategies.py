"""Strategies by name: for the highest expected score, by a table, or with regard to the opponents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yahtzee_cluster.analysis.forward import Played, play_by, play_for, play_for_mean
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import is_there, whole_number
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import highest_score
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.objectives.goals import FORMS, MEAN, CurveOf, Goal, parse_goal, words_of_table
from yahtzee_cluster.objectives.opponents import EXPECTED
from yahtzee_cluster.objectives.probabilities import Scores
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.monte_carlo import Seat
from yahtzee_cluster.play.policies import ByTable, ForTheMean
from yahtzee_cluster.play.several_players import ForTheChance, Perfectly
from yahtzee_cluster.play.strategy import ByAnchorAlone, Strategy
from yahtzee_cluster.play.strategy_files import is_known, load_strategy
from yahtzee_cluster.tables import open_table, table_of
from yahtzee_cluster.tables.memory import Memory, half_of_memory, solve_in_memory
from yahtzee_cluster.tables.probabilities import StrategyTable
from yahtzee_cluster.tables.race import RaceTable
from yahtzee_cluster.tables.utility import UtilityTable
from yahtzee_cluster.text import printable, shown


class BestMean(ByAnchorAlone):
    """Plays for the highest expected score."""

    words = MEAN.words

    def decider(self, turn: Turn, expected: ExpectedTable) -> Decider:
        """The kernel that decides by the expected scores."""
        return expected.decider(turn)


class BestChance(Strategy):
    """Plays for the probability of winning, with a normal approximation of the points still to come."""

    words = "the best chance to win"
    looks_on = True

    def seat(self, expected: ExpectedTable) -> Seat:
        """A player who decides by all scorecards."""
        return ForTheChance(expected)


@dataclass(frozen=True)
class OfTable(Strategy):
    """Plays for the utility of a table, or for a target by a table of scores or approx."""

    table: StrategyTable | UtilityTable
    target: int | None = None

    @property
    def words(self) -> str:  # type: ignore[override]
        """The objective in words."""
        return words_of_table(self.name)

    @property
    def name(self) -> str:
        """The name of the utility, or the target and the kind of the table."""
        return self.table.goal or f"at least {self.target} points ({self.table.objective})"

    @property
    def rules(self) -> Rules:
        """The rules of the table."""
        return self.table.rules

    def seat(self, expected: ExpectedTable) -> Seat:  # noqa: ARG002
        """A player who decides by the anchor and the score so far."""
        return ByTable(self.table, self.target or 0)

    def played(self, rules: Rules) -> Played:  # noqa: ARG002
        """All games of this strategy, exactly."""
        return play_by(self.table) if self.target is None else play_for(self.target, self.table)


@dataclass(frozen=True)
class OfGoal(Strategy):
    """Plays for a goal from a score on; what that takes is solved in memory when it is first needed."""

    goal: Goal
    before: int = 0
    """The score so far, where the game is the rest of another."""

    @property
    def words(self) -> str:  # type: ignore[override]
        """The goal in words."""
        return self.goal.words

    @property
    def name(self) -> str:
        """The goal."""
        return str(self.goal)

    def seat(self, expected: ExpectedTable) -> Seat:
        """A player who decides by the anchor and the score so far."""
        strategy = self._solved(expected.anchors.rules)
        return strategy.seat(expected) if strategy else ForTheMean(expected)

    def played(self, rules: Rules) -> Played:
        """All games of this strategy, exactly."""
        strategy = self._solved(rules)
        return strategy.played(rules) if strategy else play_for_mean(rules)

    def _solved(self, rules: Rules) -> OfTable | None:
        """The strategy of the goal's table, solved in memory; None if the goal is reached already or out of reach."""
        goal = self.goal
        if goal.kind == "quantile" or goal.is_played_at_a_table:
            raise UsageError(f"goal: {goal} is for positions; ask `yahtzee-cluster probe`")
        if goal.reach is not None:
            target = goal.reach - self.before
            if not 0 < target <= highest_score(Anchors(rules)):
                return None
            scores = Scores(rules, target)
            return OfTable(table_of(scores, self._in_memory(scores)).for_target(target), target)
        worths = goal.worths(Utility.count_scores(rules.whole or rules), self._curve_of(rules))
        worths = worths[self.before : self.before + Utility.count_scores(rules)]
        utility = Utility(rules, str(goal), tuple(worths.tolist()), before=self.before)
        return OfTable(table_of(utility, self._in_memory(utility)).for_goal())

    @staticmethod
    def _curve_of(rules: Rules) -> CurveOf:
        from yahtzee_cluster.play.opponents import curve_of  # noqa: PLC0415  # which finds strategies here

        return lambda opponent: curve_of(opponent, rules)

    @staticmethod
    def _in_memory(problem: Scorecards) -> Memory:
        return solve_in_memory(problem, limit_bytes=half_of_memory(), keeps_all=True)


@dataclass(frozen=True)
class Perfect(Strategy):
    """Plays by a table of two players, as the first or the second."""

    table: RaceTable
    words = "a win, perfectly"
    looks_on = True

    @property
    def rules(self) -> Rules:
        """The rules of the table."""
        return self.table.rules

    def seat(self, expected: ExpectedTable) -> Seat:  # noqa: ARG002
        """A player who decides by both scorecards."""
        return Perfectly(self.table)


BY_NAME: dict[str, Strategy] = {EXPECTED: BestMean(), "chance": BestChance()}


def parse_strategy(text: str) -> Strategy:
    """The strategy that a text names.

    That is `expected` or `chance`, the name of one that comes with the program, a TOML file, a goal, the directory of a
    table of some utility or of two players, or DIR:N, to reach N by a table of scores or approx.
    """
    if text in BY_NAME:
        return BY_NAME[text]
    if text.partition(":")[0] in FORMS and not is_there(Path(text.partition(":")[0])):
        goal = parse_goal(text)
        return BY_NAME[EXPECTED] if goal == MEAN else OfGoal(goal)
    if is_known(text):
        return load_strategy(text)
    directory, colon, number = text.rpartition(":")
    if not text or (colon and not directory):
        raise UsageError(f"no strategy {shown(text)}; expected {', '.join(BY_NAME)}, a goal, a directory, or DIR:N")
    if colon and (target := whole_number(number)) is not None and not is_there(Path(text)):
        return OfTable(open_table(directory).for_target(target), target)
    table = open_table(text)
    if isinstance(table, RaceTable):
        return Perfect(table)
    if table.goal is not None:
        return OfTable(table.for_goal())
    raise UsageError(f"{printable(shown(text))}: holds {table.objective}; say what is played for, as in DIR:250")


def common_rules(strategies: Sequence[Strategy], rules: Rules | None = None) -> Rules:
    """The rules that all strategies play by: those given, else those of their tables."""
    known = [strategy.rules for strategy in strategies if strategy.rules]
    rules = rules or (known[0] if known else load_rules("yahtzee"))
    if any(other.table != rules.table for other in known):
        raise UsageError("all have to play the same game; these tables hold different rules")
    return rules
