"""What to optimise: each objective is a recursion around a kernel."""

from __future__ import annotations

from yahtzee_cluster.objectives.expected import Expected
from yahtzee_cluster.objectives.probabilities import Approximated, Distribution, MaxProb, Scores
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.rules import Rules

OBJECTIVES = ("maxprob", "expected", "distribution", "scores", "approx")


def problem_of(objective: str, rules: Rules, target: int) -> Scorecards:
    """The problem that an objective makes of a game."""
    if objective == "expected":
        return Expected(rules)
    of_needs: dict[str, type[Approximated | Distribution | MaxProb | Scores]] = {
        "maxprob": MaxProb,
        "distribution": Distribution,
        "scores": Scores,
        "approx": Approximated,
    }
    return of_needs[objective](rules, target)
