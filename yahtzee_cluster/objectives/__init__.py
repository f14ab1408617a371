"""What to optimise: each objective is a recursion around a kernel."""

from __future__ import annotations

from yahtzee_cluster.objectives.expected import Expected
from yahtzee_cluster.objectives.maxprob import MaxProb
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.rules import Rules

OBJECTIVES = ("maxprob", "expected")


def problem_of(objective: str, rules: Rules, target: int) -> Scorecards:
    """The problem that an objective makes of a game."""
    return MaxProb(rules, target) if objective == "maxprob" else Expected(rules)
