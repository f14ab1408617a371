"""Advice for a position: every legal move with its value, the best first.

Only the values of the states after this turn are looked up, a few dozen; one turn of the kernel then gives the values
of all moves.
They come from the table of expected scores, from a table on disk if it has them, or else from the rest of the game,
solved in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from functools import cached_property
from typing import Self

import numpy as np

from yahtzee_cluster.analysis.forward import play_on
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import check_score, highest_score
from yahtzee_cluster.game.rest import rest_of, to_rest
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.game.scorecard import legal_play
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.objectives.goals import MEAN, Goal, goal_of_table, parse_goal
from yahtzee_cluster.objectives.probabilities import MaxProb, Reach, Scores
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.aims import Aim, ByUtility, ForQuantile, ForTheMean, ToReach
from yahtzee_cluster.play.answer import Advice, Answer, Distribution
from yahtzee_cluster.play.choices import Choices, ranked, tie
from yahtzee_cluster.play.from_here import FromHere, ProblemOf
from yahtzee_cluster.play.opponents import curve_of
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import solve_in_memory
from yahtzee_cluster.tables.table import Table

Asked = Goal | str | int | None
"""A goal; as `parse_goal` reads it; as a score to reach; or the one by default."""


class Adviser:
    """Gives advice for one game and any goal; a table is a short cut to goals for which it has the values.

    >>> adviser = yc.Adviser(yc.load_rules("yahtzee"))
    >>> start = yc.Anchor(adviser.rules.all_free, upper=0, chip=False)
    >>> for advice in adviser.advise(yc.Position(start, roll=(6, 2, 2, 5, 2), rolls_left=2))[:2]:
    ...     print(f"{advice.move.words} {advice.expected:.2f}")
    keep 2 2 2 257.71
    keep 2 2 2 6 254.46

    What no table has is solved from the position, in memory, with as many threads as there are cores:

    >>> adviser = yc.Adviser(yc.load_rules("yacht"))
    >>> position = yc.Position(yc.Anchor(0b111, upper=None), roll=(6, 2, 2, 1, 2), rolls_left=2, score=150)
    >>> best = adviser.advise(position, "reach:160")[0]
    >>> print(f"{best.move.words} {best.p:.4f}")
    keep 2 2 2 0.9896
    """

    def __init__(
        self, rules: Rules, table: Table | None = None, *, threads: int | None = None, limit_bytes: int | None = None
    ) -> None:
        self.rules = rules.whole or rules
        if table and (table.rules.whole or table.rules).table != self.rules.table:
            raise UsageError(f"{table.path}: holds another game")
        if table and not table.gives_advice:
            raise table.refusal("; advice takes a table of maxprob, scores or some utility")
        self.anchors = Anchors(self.rules)
        self._table = table
        self._threads = threads
        self._limit_bytes = limit_bytes
        self._from_here = FromHere(self.rules, threads, limit_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is being solved in the background."""
        self._from_here.close()

    @property
    def goal(self) -> Goal:
        """The goal by default: that of the table, else the highest expected score."""
        name = self._table.goal if self._table else None
        return MEAN if name is None else _goal_named(name)

    @property
    def reaches_scores(self) -> bool:
        """Whether the table says how to reach a score."""
        return self._table is not None and self._table.reaches_scores

    @property
    def expected(self) -> ExpectedTable:
        """The table of the highest expected scores."""
        return self._whole.expected

    def advise(self, position: Position, goal: Asked = None) -> list[Advice]:
        """Every legal move, the best first, for a goal; by default for that of the table, or the expected score.

        Among moves of the same value, the expected score decides, then the larger second moment. Both are those of
        playing on for the goal if the table has them, else for the highest mean.
        """
        if not position.anchor.free:
            raise UsageError("no box is free: the game is over")
        return self._evaluated(position, self._aim(position, self._goal(goal)))

    def answer(self, position: Position, goal: Asked = None, *, with_distribution: bool = False) -> Answer:
        """All that is to be known of a position, for a goal; the distribution of the final score only if asked for."""
        goal = self._goal(goal)
        if not position.anchor.free:
            return self._final(position, goal)
        aim = self._aim(position, goal)
        moves = tuple(self._evaluated(position, aim))
        found = self._distribution(position, aim) if with_distribution else None
        boxes: dict[str, float] = {}
        for outcome, chance in zip(*self._ends(position, aim), strict=True):
            name = aim.choices.name_of(outcome)
            boxes[name] = boxes.get(name, 0.0) + chance
        return Answer(
            rules=self.rules,
            position=position,
            goal=goal,
            value=moves[0].value,
            mean=found.mean if found else moves[0].expected,
            std=found.std if found else moves[0].std,
            moves=moves,
            ends=tuple(sorted(boxes.items(), key=lambda end: -end[1])),
            source=aim.source,
            distribution=found,
        )

    def prepare(self, position: Position, goal: Asked = None, within_s: float = 0.0) -> bool:
        """Begin to solve in the background what advice needs from this position on; whether it is there by then."""
        goal = self._goal(goal)
        if not position.anchor.free or not self._is_to_be_solved(position, goal):
            return True
        problem_of = self._problem_of(goal, position.score)
        solving = self._from_here.begin(str(goal), position.anchor, position.score, problem_of)
        return not wait([solving], within_s).not_done

    def check(self, position: Position) -> None:
        """Refuse a position that no game reaches."""
        self.anchors.reachable(position.anchor)
        check_score(self.anchors, position.anchor, position.score)

    def score(self, anchor: Anchor, roll: Sequence[int], category: int) -> tuple[Anchor, int]:
        """The state after scoring a roll in a box, and the points for it, bonuses included."""
        self.anchors.reachable(anchor)
        return self.anchors.after(anchor, legal_play(self.rules, anchor, roll, category))

    # ------------------------------------------------------------------------------------------------- the values

    def _goal(self, goal: Asked) -> Goal:
        if isinstance(goal, int):
            return parse_goal(f"reach:{goal}")
        return parse_goal(goal) if isinstance(goal, str) else goal or self.goal

    @cached_property
    def _whole(self) -> Choices:
        return Choices(self.rules)

    @cached_property
    def _of_table(self) -> Choices:
        assert self._table
        return self._whole if self._table.rules.whole is None else Choices(self._table.rules)

    def _evaluated(self, position: Position, aim: Aim) -> list[Advice]:
        moves, values = aim.evaluated(self._within(position, aim), position.dice, position.rolls_left)
        order, rows = ranked(values), values.T.tolist()
        best = rows[order[0]][0]
        costs = [0.0 if tie(best, rows[at][0]) else best - rows[at][0] for at in order]
        return [
            Advice(move=moves[at], cost=cost, **aim.figures(rows[at])) for at, cost in zip(order, costs, strict=True)
        ]

    def _ends(self, position: Position, aim: Aim) -> tuple[list[int], list[float]]:
        """The outcomes of the turn, and their probabilities if it is played on for the goal."""
        anchor = self._within(position, aim)
        chances = aim.ends(anchor, position.dice, position.rolls_left)
        found = np.flatnonzero(chances)
        return aim.choices.after(anchor).outcomes[found].tolist(), chances[found].tolist()

    @staticmethod
    def _within(position: Position, aim: Aim) -> Anchor:
        """The anchor of a position in the game of an aim, which may be the rest of one."""
        return to_rest(aim.choices.rules, position.anchor)

    def _aim(self, position: Position, goal: Goal) -> Aim:
        """What moves are valued by in a position, which some game has to reach."""
        if goal == MEAN:
            self.anchors.reachable(position.anchor)
            return ForTheMean(self._whole, position.score)
        self.check(position)
        if goal.reach is not None and goal.reach <= position.score:
            return ToReach(self._whole, position.score, 0)
        if not self._is_to_be_solved(position, goal):
            assert self._table
            return self._aim_by(self._of_table, self._table, position, goal)
        problem_of = self._problem_of(goal, position.score)
        solved = self._from_here.solve(str(goal), position.anchor, position.score, problem_of)
        return self._aim_by(solved.choices, solved.table, position, goal, "solved")

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
        return goal != self.goal

    def _problem_of(self, goal: Goal, score: int) -> ProblemOf:
        """Makes the problem of a goal from the rules of the rest of a game that begins with this score."""

        def problem_of(rest: Rules) -> Scorecards:
            if goal.reach is not None:
                return Reach(rest, goal.reach - score)
            if goal.kind == "quantile":
                return MaxProb(rest, max(1, highest_score(Anchors(rest))))
            n_rest = Utility.count_scores(rest)
            worths = goal.worths(score + n_rest, lambda opponent: curve_of(opponent, self.rules))
            return Utility(rest, str(goal), tuple(worths[score:].tolist()), before=score)

        return problem_of

    # --------------------------------------------------------------------------------------------- the final score

    def _final(self, position: Position, goal: Goal) -> Answer:
        """The answer once the game is over."""
        self.check(position)
        score = position.score
        if goal.kind in {"mean", "quantile"}:
            value = float(score)
        elif goal.kind == "table":
            assert self._table
            value = self._table.worth(position.anchor, score)
        else:
            value = float(goal.worths(score + 1, lambda opponent: curve_of(opponent, self.rules))[score])
        return Answer(
            rules=self.rules,
            position=position,
            goal=goal,
            value=value,
            mean=float(score),
            std=0.0,
            moves=(),
            ends=(),
            source="score",
            distribution=Distribution(np.ones(score + 1)),
        )

    def _distribution(self, position: Position, aim: Aim) -> Distribution:
        """How the final score is distributed when playing for a goal."""
        strategy: Table | None = None
        target, before = 0, position.score
        if isinstance(aim, ByUtility):
            strategy, before = aim.table, aim.table.problem.before
        else:
            choices = Choices(rest_of(self.rules, position.anchor))
            need = aim.need
            if need > 0:
                problem = Scores(choices.rules, need)
                memory = solve_in_memory(problem, threads=self._threads, limit_bytes=self._limit_bytes, keeps_all=True)
                strategy, target = table_of(problem, memory), need
                aim = ToReach(choices, position.score, need, strategy)
            else:
                aim = ForTheMean(choices, position.score)
        after = aim.choices.after(anchor := self._within(position, aim))
        chances = aim.ends(anchor, position.dice, position.rolls_left)
        states: dict[tuple[Anchor, int], float] = {}
        for place, points, chance in zip(after.places.tolist(), after.points.tolist(), chances.tolist(), strict=True):
            if chance:
                state = aim.choices.anchors.anchor(place), position.score - before + points
                states[state] = states.get(state, 0.0) + chance
        played = play_on(states, aim.choices.expected, strategy, target, self._threads)
        return Distribution(np.concatenate([np.ones(before), played.curve]))


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
