"""What to optimise: each objective is a recursion around a kernel."""

from __future__ import annotations

from collections.abc import Callable

from yahtzee_cluster.objectives.expected import Expected
from yahtzee_cluster.objectives.probabilities import Approximated, Distribution, MaxProb, Scores
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.rules import Rules

OBJECTIVES: dict[str, Callable[[Rules, int], Scorecards]] = {
    "maxprob": MaxProb,
    "expected": lambda rules, _: Expected(rules),
    "distribution": Distribution,
    "scores": Scores,
    "approx": Approximated,
}
"""By name; with a game and a target, each makes a problem."""
