"""Advice for a position: every legal move with its value, the best first.

Only the values of the states after this turn are looked up, a few dozen; one turn of the kernel then gives the values
of all moves.
They come from the table of expected scores, from a table on disk if it has them, or else from the rest of the game,
solved in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from yahtzee_cluster.analysis.forward import play_on
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rest import rest_of, to_rest
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.game.scorecard import legal_play
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.objectives.goals import WIN, Goal, parse_goal
from yahtzee_cluster.objectives.probabilities import Scores
from yahtzee_cluster.objectives.utility import MOST_WORTH
from yahtzee_cluster.play.aims import Aim, ByUtility, ForTheMean, ToReach
from yahtzee_cluster.play.answer import Advice, Answer, Distribution
from yahtzee_cluster.play.choices import Choices, Move, ranked, tie
from yahtzee_cluster.play.plan import Plan
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.rule import ByTheRule
from yahtzee_cluster.play.sources import LIMIT_S, Sources
from yahtzee_cluster.play.two_players import ToWin
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.table import Table

if TYPE_CHECKING:
    from yahtzee_cluster.play.consulted import Consulted

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
        self,
        rules: Rules,
        table: Table | None = None,
        *,
        threads: int | None = None,
        limit_bytes: int | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self.given = rules
        """The rules as they were given, perhaps those of the rest of a game; positions are those of the whole one."""
        self.rules = rules.whole or rules
        self._sources = Sources(self.rules, table, threads, limit_bytes, limit_s)
        self.anchors = self._sources.anchors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is being solved in the background."""
        self._sources.close()

    @property
    def goal(self) -> Goal:
        """The goal by default: that of the table, else the highest expected score."""
        return self._sources.goal

    @property
    def reaches_scores(self) -> bool:
        """Whether there is a table that says how to reach a score."""
        return self._sources.reaches_scores

    @property
    def expected(self) -> ExpectedTable:
        """The table of the highest expected scores."""
        return self._sources.whole.expected

    def advise(self, position: Position, goal: Asked = None) -> list[Advice]:
        """Every legal move, the best first, for a goal; by default for that of the table, or the expected score.

        Among moves of the same value, the expected score decides, then the larger second moment. Both are those of
        playing on for the goal if the table has them, else for the highest mean.
        """
        if not position.anchor.free:
            raise UsageError("no box is free: the game is over")
        return self._evaluated(position, self._sources.aim(position, self._goal(goal, position)))

    def answer(
        self,
        position: Position,
        goal: Asked = None,
        *,
        with_distribution: bool = False,
        strategy: Consulted | None = None,
    ) -> Answer:
        """All that is to be known of a position, for a goal; the distribution of the final score only if asked for.

        A strategy is asked for its move, which is judged by the goal.
        """
        goal = self._goal(goal, position)
        self.check(position)
        if with_distribution and goal.is_played_at_a_table:
            raise UsageError("distribution: against other players it depends on their rolls, too; ask for another goal")
        if not position.anchor.free:
            return self._final(position, goal)
        aim = self._sources.aim(position, goal)
        moves = tuple(self._evaluated(position, aim))
        found = self._distribution(position, aim) if with_distribution else None
        rule = self._rule(position, moves) if isinstance(aim, ToWin) else None
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
            rule=rule,
            said=strategy.said(position, moves) if strategy else None,
            distribution=found,
        )

    def by_the_rule(self, position: Position) -> Move:
        """The best move by the rule for several players, where others are known."""
        return self._evaluated(position, ByTheRule(self._sources.whole, position))[0].move

    def prepare(self, position: Position, goal: Asked = None, within_s: float = 0.0) -> bool:
        """Begin to solve in the background what advice needs from this position on; whether it is there by then."""
        return self._sources.prepare(position, self._goal(goal, position), within_s)

    def plan(self, position: Position, goal: Asked = None) -> Plan:
        """What solving the rest of the game from a position takes, for a goal, before anything is solved."""
        return self._sources.plan(position, self._goal(goal, position))

    def check(self, position: Position) -> None:
        """Refuse a position that no game reaches."""
        self._sources.check(position)

    def score(self, anchor: Anchor, roll: Sequence[int], category: int) -> tuple[Anchor, int]:
        """The state after scoring a roll in a box, and the points for it, bonuses included."""
        self.anchors.reachable(anchor)
        return self.anchors.after(anchor, legal_play(self.rules, anchor, roll, category))

    # ------------------------------------------------------------------------------------------------- the values

    def _goal(self, goal: Asked, position: Position) -> Goal:
        if isinstance(goal, int):
            return parse_goal(f"reach:{goal}")
        by_default = WIN if position.others else self.goal
        return parse_goal(goal) if isinstance(goal, str) else goal or by_default

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

    def _rule(self, position: Position, moves: Sequence[Advice]) -> tuple[Move, float] | None:
        """The best move by the rule for several players, and what it costs; None where nothing better is known."""
        best = self.by_the_rule(position)
        return next(((one.move, one.cost) for one in moves if one.move == best), None)

    # --------------------------------------------------------------------------------------------- the final score

    def _final(self, position: Position, goal: Goal) -> Answer:
        """The answer once the game is over."""
        score = position.score
        if goal.kind in {"mean", "quantile"}:
            value = float(score)
        elif goal.is_played_at_a_table:
            if not position.others or any(other.anchor.free for other in position.others):
                raise UsageError("others: whoever is to move has a free box; here, only other players have")
            best = max(other.score for other in position.others)
            value = 0.5 * (score == best) + (score > best)
        elif goal.kind == "table":
            value = self._sources.worth_at_the_end(position)
        else:
            value = float(self._sources.worths(goal)[score])
            if not abs(value) <= MOST_WORTH:
                raise UsageError(
                    f"goal: expected every final score to be worth -1e+300 to 1e+300, found {value} for {score}"
                )
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
                memory = self._sources.solved(problem)
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
        played = play_on(states, aim.choices.expected, strategy, target, self._sources.threads)
        return Distribution(np.concatenate([np.ones(before), played.curve]))
