"""Where the values for a goal come from: the expected scores, a table on disk, the rest of the game, or the rule."""

from __future__ import annotations

import os
from concurrent.futures import wait
from functools import cached_property, lru_cache
from pathlib import Path

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import check_score, highest_score, scores_so_far
from yahtzee_cluster.game.rest import rest_of, to_rest
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.goals import MEAN, WIN, Goal, Values, goal_of_table
from yahtzee_cluster.objectives.opponents import Opponent
from yahtzee_cluster.objectives.probabilities import MaxProb, Reach
from yahtzee_cluster.objectives.race import Begun, Race, RaceWins
from yahtzee_cluster.objectives.race_forecast import forecast
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.aims import Aim, ByUtility, ForQuantile, ForTheMean, ToReach
from yahtzee_cluster.play.choices import Choices
from yahtzee_cluster.play.from_here import FromHere, ProblemOf
from yahtzee_cluster.play.opponents import curve_of
from yahtzee_cluster.play.plan import Plan
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.rule import ByTheRule
from yahtzee_cluster.play.two_players import ToWin, race_from
from yahtzee_cluster.tables.memory import DEFAULT_BYTES, Memory, solve_in_memory
from yahtzee_cluster.tables.race import RaceTable
from yahtzee_cluster.tables.table import Table
from yahtzee_cluster.tables.utility import UtilityTable

LIMIT_S = 30.0
"""The default limit of the time for solving a game of two players from a position."""
RACES = 16
"""Races that are remembered, so that a turn asks only once whether its race fits."""


class Sources:
    """Finds the values for a goal in a position, or solves what has them, within limits of time and memory."""

    def __init__(
        self, rules: Rules, table: Table | None, threads: int | None, limit_bytes: int | None, limit_s: float
    ) -> None:
        if table and (table.rules.whole or table.rules).table != rules.table:
            raise UsageError(f"{table.path}: holds another game")
        self._race = table if isinstance(table, RaceTable) and table.problem.begun is None else None
        if table and not table.gives_advice and not self._race:
            raise table.refusal("; advice takes a table of maxprob, scores or some utility")
        self.rules = rules
        self.anchors = Anchors(rules)
        self.threads = threads
        self.limit_bytes = limit_bytes
        self._limit_s = limit_s
        self._table = None if self._race else table
        self._from_here = FromHere(rules, threads, limit_bytes)
        self._curves: dict[Opponent, Values] = {}
        self._race_from = lru_cache(RACES)(self._fitting)
        """The race that begins at two scorecards, if it fits into the time and memory allowed."""

    @property
    def _most_bytes(self) -> int:
        return DEFAULT_BYTES if self.limit_bytes is None else self.limit_bytes

    def close(self) -> None:
        """Give up what is being solved in the background."""
        self._from_here.close()

    def solved(self, problem: Scorecards) -> Memory:
        """All values of a problem, in memory."""
        return solve_in_memory(problem, threads=self.threads, limit_bytes=self.limit_bytes, keeps_all=True)

    def check(self, position: Position) -> None:
        """Refuse a position that no game reaches; a scorecard has been checked already."""
        if position.card is None:
            self.anchors.reachable(position.anchor)
            check_score(self.anchors, position.anchor, position.score)

    def prepare(self, position: Position, goal: Goal, within_s: float) -> bool:
        """Begin to solve in the background what a goal needs from a position on; whether it is there by then."""
        if not position.anchor.free:
            return True
        if goal.is_played_at_a_table:
            self._check_others(position)
            race = self._race_that_fits(position)
            to_be_solved = self._race_asked(position, race) if race else None
        elif self._is_to_be_solved(position, goal):
            to_be_solved = _name(goal), position.anchor, position.score, self._problem_of(goal, position.score)
        else:
            to_be_solved = None
        return to_be_solved is None or not wait([self._from_here.begin(*to_be_solved)], within_s).not_done

    @property
    def goal(self) -> Goal:
        """The goal by default: that of the table, else the highest expected score."""
        if self._race:
            return WIN
        name = self._table.goal if self._table else None
        return MEAN if name is None else _goal_named(name)

    def worths(self, goal: Goal) -> Values:
        """What every final score is worth by a goal."""
        return goal.worths(self.n_scores, self._curve_of)

    def _curve_of(self, opponent: Opponent) -> Values:
        """The distribution of an opponent's final score, kept unless it depends on a file."""
        if not opponent.is_known:
            return curve_of(opponent, self.rules)
        if opponent not in self._curves:
            self._curves[opponent] = curve_of(opponent, self.rules)
        return self._curves[opponent]

    def worth_at_the_end(self, position: Position) -> float:
        """The value of a finished game by the goal of the table."""
        assert self._table
        table = self._table.for_goal()
        return table.worth(to_rest(table.rules, position.anchor), position.score - table.problem.before)

    @property
    def reaches_scores(self) -> bool:
        """Whether the table says how to reach a score."""
        return self._table is not None and self._table.reaches_scores

    def plan(self, position: Position, goal: Goal) -> Plan:
        """What solving the rest of the game from a position takes, for a goal."""
        self.check(position)
        threads = self.threads or len(os.sched_getaffinity(0))
        if goal.is_played_at_a_table:
            self._check_others(position)
            if len(position.others) == 1 and not self._race:
                begun = race_from(position, position.others[0])
                needed = forecast(RaceWins(self.rules, begun), threads)
                return Plan.of_race(needed, self.limit_bytes, self._limit_s)
            return Plan.of_nothing()
        if not position.anchor.free or not self._is_to_be_solved(position, goal):
            return Plan.of_nothing()
        rest = rest_of(self.rules, position.anchor)
        if goal.reach is None and goal.kind != "quantile":  # its size does not depend on what scores are worth
            problem: Scorecards | Race = Utility(rest, str(goal), (0.0,) * Utility.count_scores(rest))
        else:
            problem = self._problem_of(goal, position.score)(rest)
        return Plan.of(problem, threads, self.limit_bytes)

    @cached_property
    def whole(self) -> Choices:
        """The choices of the whole game."""
        return Choices(self.rules)

    @cached_property
    def _of_table(self) -> Choices:
        assert self._table
        return self.whole if self._table.rules.whole is None else Choices(self._table.rules)

    def aim(self, position: Position, goal: Goal) -> Aim:
        """What moves are valued by in a position, which some game has to reach."""
        if goal == MEAN:
            self.anchors.reachable(position.anchor)
            return ForTheMean(self.whole, position.score)
        self.check(position)
        if goal.is_played_at_a_table:
            return self._aim_to_win(position)
        if goal.reach is not None and goal.reach <= position.score:
            return ToReach(self.whole, position.score, 0)
        if not self._is_to_be_solved(position, goal):
            assert self._table
            return self._aim_by(self._of_table, self._table, position, goal)
        problem_of = self._problem_of(goal, position.score)
        solved = self._from_here.solve(_name(goal), position.anchor, position.score, problem_of)
        return self._aim_by(solved.choices, solved.table, position, goal, "solved")

    def _aim_to_win(self, position: Position) -> Aim:
        """What moves are valued by against the other players: exactly, if there is one and it can be; else the rule."""
        self._check_others(position)
        if len(position.others) == 1:
            (other,) = position.others
            if self._race:
                return ToWin(Choices(rest_of(self.rules, position.anchor)), position, other, self._race)
            if race := self._race_that_fits(position):
                solved = self._from_here.solve(*self._race_asked(position, race))
                assert isinstance(solved.table, RaceTable)
                return ToWin(solved.choices, position, other, solved.table, "solved")
        return ByTheRule(self.whole, position)

    def _check_others(self, position: Position) -> None:
        """Refuse other players who cannot be in a game with this position."""
        if not position.others:
            raise UsageError("goal: say against whom: with the cards of the other players, or as in win:expected")
        for other in position.others:
            self.anchors.reachable(other.anchor)
            check_score(self.anchors, other.anchor, other.score)
        free = [position.anchor.free.bit_count() - other.anchor.free.bit_count() for other in position.others]
        if not set(free) <= {0, 1} or free != sorted(free):
            found = ", ".join(str(other.anchor.free.bit_count()) for other in position.others)
            raise UsageError(
                "others: whoever plays before the player to move has one free box less, the rest as many; found "
                f"{found}, and {position.anchor.free.bit_count()} of the player to move"
            )

    @staticmethod
    def _race_asked(position: Position, race: Race) -> tuple[str, Anchor, int, ProblemOf]:
        """What is to be solved for a race, with its name."""
        other = position.others[0]
        role = "first" if position.anchor.free.bit_count() == other.anchor.free.bit_count() else "second"
        return f"win as {role} against {other}", position.anchor, position.score, lambda _: race

    def _race_that_fits(self, position: Position) -> Race | None:
        """The race from a position, with wins apart from ties if that fits into the time and memory allowed.

        None if there is a table of it, or more than one other player.
        """
        if self._race or len(position.others) != 1:
            return None
        return self._race_from(race_from(position, position.others[0]))

    def _fitting(self, begun: Begun) -> Race | None:
        """The race that begins there, if it fits."""
        threads = self.threads or len(os.sched_getaffinity(0))
        for race in (RaceWins(self.rules, begun), Race(self.rules, begun)):
            needed = forecast(race, threads)
            if needed.seconds <= self._limit_s and needed.least_bytes <= self._most_bytes:
                return race
        return None

    @staticmethod
    def _aim_by(choices: Choices, table: Table, position: Position, goal: Goal, source: str = "table") -> Aim:
        """The aim of a goal by the values of a table."""
        if table.goal is not None:
            return ByUtility(choices, position.score, table.for_goal(), source)
        if goal.reach is not None:
            return ToReach(choices, position.score, goal.reach - position.score, table, source)
        return ForQuantile(choices, position.score, goal.number, table, source)

    def _is_to_be_solved(self, position: Position, goal: Goal) -> bool:
        """Whether no table has the values of the states after this turn."""
        if goal == MEAN or (goal.reach is not None and goal.reach <= position.score):
            return False
        table = self._table
        if table is None or not covers(table.rules, position.anchor):
            return True
        if goal.reach is not None and table.reaches_scores:
            return goal.reach - position.score > table.target
        return goal != self.goal or not self._continues(position, table.for_goal())

    @staticmethod
    def _continues(position: Position, table: UtilityTable) -> bool:
        """Whether play may have led to a position from where the table of a utility begins, with the score there."""
        score = position.score - table.problem.before
        return score in scores_so_far(table.anchors, to_rest(table.rules, position.anchor))

    @cached_property
    def n_scores(self) -> int:
        """The number of final scores of the whole game."""
        return Utility.count_scores(self.rules)

    def _problem_of(self, goal: Goal, score: int) -> ProblemOf:
        """Makes the problem of a goal from the rules of the rest of a game that begins with this score."""

        def problem_of(rest: Rules) -> Scorecards:
            if goal.reach is not None:
                return Reach(rest, goal.reach - score)
            if goal.kind == "quantile":
                return MaxProb(rest, max(1, highest_score(Anchors(rest))))
            worths = self.worths(goal)[score : score + Utility.count_scores(rest)]
            return Utility(rest, str(goal), tuple(worths.tolist()), before=score)

        return problem_of


def _name(goal: Goal) -> str:
    """The goal as text, with the state of the files that it depends on, which may change."""
    files = [goal.file, *(one.text for one, _ in goal.opponents if not one.is_known)]
    stamps = [(status.st_mtime_ns, status.st_size) for file in files if file and (status := _status(file))]
    return f"{goal} {stamps}" if stamps else str(goal)


def _status(file: str) -> os.stat_result | None:
    try:
        return Path(file).stat()
    except OSError:
        return None


def _goal_named(name: str) -> Goal:
    """The goal of a table by its name, unless that depends on files, which may have changed or be other ones."""
    goal = goal_of_table(name)
    if goal and not goal.file and all(one.is_known for one, _ in goal.opponents):
        return goal
    return Goal("table", file=name)


def covers(rules: Rules, anchor: Anchor) -> bool:
    """Whether an anchor of a whole game is one of this game, which may be the rest of it."""
    try:
        to_rest(rules, anchor)
    except UsageError:
        return False
    return True
