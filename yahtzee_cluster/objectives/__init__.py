"""The objectives: each is a recurrence around a kernel."""

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
"""By name: each makes a recurrence from rules and a target."""

CHOICES = (*OBJECTIVES, "utility")
"""The names of all objectives; `utility` takes a utility function in place of a target."""

WITHOUT_TARGET = {"expected", "race", "race-wins", "utility"}
"""The objectives that do not depend on a target."""
