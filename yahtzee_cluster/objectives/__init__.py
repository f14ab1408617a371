"""What to optimise: each objective is a recursion around a kernel."""

from __future__ import annotations

from yahtzee_cluster.objectives.expected import Expected
from yahtzee_cluster.objectives.probabilities import Distribution, MaxProb
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.rules import Rules

OBJECTIVES = ("maxprob", "expected", "distribution")


def problem_of(objective: str, rules: Rules, target: int) -> Scorecards:
    """The problem that an objective makes of a game."""
    if objective == "expected":
        return Expected(rules)
    return {"maxprob": MaxProb, "distribution": Distribution}[objective](rules, target)
