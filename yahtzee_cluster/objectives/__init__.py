"""What to optimise: each objective is a recursion around a kernel."""

from __future__ import annotations

from collections.abc import Callable

from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.expected import Expected
from yahtzee_cluster.objectives.probabilities import Approximated, Distribution, MaxProb, Scores
from yahtzee_cluster.objectives.race import Race, RaceWins

OBJECTIVES: dict[str, Callable[[Rules, int], Recurrence]] = {
    "maxprob": MaxProb,
    "expected": lambda rules, _: Expected(rules),
    "distribution": Distribution,
    "scores": Scores,
    "approx": Approximated,
    "race": lambda rules, _: Race(rules),
    "race-wins": lambda rules, _: RaceWins(rules),
}
"""By name; with a game and a target, each makes a problem."""

CHOICES = (*OBJECTIVES, "utility")
"""All of them; what a final score is worth to `utility` is no target."""

WITHOUT_TARGET = {"expected", "race", "race-wins", "utility"}
"""Those to which the target makes no difference."""
