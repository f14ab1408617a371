"""Values for advice without a table: the rest of the game is solved in memory, in the background if there is time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.possible_scores import check_score
from yahtzee_cluster.game.rest import rest_of, to_rest
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.play.choices import Choices
from yahtzee_cluster.progress import stage
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import Memory
from yahtzee_cluster.tables.table import Table

SHOW_EVERY_S = 0.1

ProblemOf = Callable[[Rules], Scorecards | Race]
"""Makes the problem of a goal from the rules of the rest of a game."""


@dataclass(frozen=True)
class Solved:
    """The rest of a game from some state on, solved for a goal."""

    goal: str
    begun: Anchor
    score: int
    """The score so far where the rest begins."""
    choices: Choices
    """Those of the rest of the game."""
    table: Table
    memory: Memory
    n_free_of_others: int = 0
    """Free categories of the other player, whose are elements of the same problem."""

    def covers(self, goal: str, anchor: Anchor, score: int) -> bool:
        """Whether play may have led to this state, and the values of the states after the next turn are here."""
        try:
            rest = to_rest(self.choices.rules, anchor)
            check_score(self.choices.anchors, rest, score - self.score)
        except UsageError:
            return False
        return goal == self.goal and rest.free.bit_count() + self.n_free_of_others - 1 in self.memory


class FromHere:
    """Solves the rest of a game from one state at a time; what is solved serves all states that play leads to."""

    def __init__(self, rules: Rules, threads: int | None = None, limit_bytes: int | None = None) -> None:
        self.rules = rules
        self._threads = threads
        self._limit_bytes = limit_bytes
        self._thread = ThreadPoolExecutor(1)
        self._solving: Future[Solved] | None = None
        self._asked: tuple[str, Anchor, int] | None = None
        self._cancelled = Event()
        self._share = 0.0

    def begin(self, goal: str, anchor: Anchor, score: int, problem_of: ProblemOf) -> Future[Solved]:
        """Begin to solve, unless what is solved, or being solved, will do."""
        if self._solving is not None and self._will_do(self._solving, goal, anchor, score):
            return self._solving
        self.cancel()
        self._cancelled, self._share, self._asked = Event(), 0.0, (goal, anchor, score)
        self._solving = self._thread.submit(self._solve, goal, anchor, score, problem_of, self._cancelled)
        return self._solving

    def solve(self, goal: str, anchor: Anchor, score: int, problem_of: ProblemOf) -> Solved:
        """What covers a state, as soon as it is solved."""
        solving = self.begin(goal, anchor, score, problem_of)
        with stage("solving from here") as report:
            try:
                while not solving.done():
                    report(self._share, "")
                    wait([solving], SHOW_EVERY_S)
            except BaseException:
                self.cancel()
                raise
        return solving.result()

    def cancel(self) -> None:
        """Give up what is being solved."""
        self._cancelled.set()
        if self._solving is not None and not self._solving.cancel():
            wait([self._solving])
        self._solving = None

    def close(self) -> None:
        """Give up what is being solved, and end the thread."""
        self.cancel()
        self._thread.shutdown()

    def _will_do(self, solving: Future[Solved], goal: str, anchor: Anchor, score: int) -> bool:
        if not solving.done():
            return self._asked == (goal, anchor, score)
        return solving.exception() is None and solving.result().covers(goal, anchor, score)

    def _solve(self, goal: str, anchor: Anchor, score: int, problem_of: ProblemOf, cancelled: Event) -> Solved:
        rules = rest_of(self.rules, anchor)
        problem = problem_of(rules)
        memory = Memory(problem)
        memory.solve(
            problem,
            threads=self._threads,
            limit_bytes=self._limit_bytes,
            report=self._report,
            is_cancelled=cancelled.is_set,
        )
        choices = Choices(rules)
        assert choices.expected
        others = len(problem.element_names) - len(rules.categories)
        return Solved(goal, anchor, score, choices, table_of(problem, memory), memory, others)

    def _report(self, share: float, _: str) -> None:
        self._share = share
