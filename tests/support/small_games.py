"""Rule sets small enough for the reference to solve, as TOML."""

from functools import partial
from pathlib import Path

from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.goals import parse_older
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.opponents import curve_of
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.race import RaceTable

SMALL = {
    # Bonus and jokers are all within reach in three or four turns.
    "free": """
        name = "free"
        upper_threshold = 6
        upper_bonus = 7
        extra_bonus = 9
        joker = "free"
        yahtzee = "five"
        [[category]]
        name = "ones"
        face = 1
        [[category]]
        name = "twos"
        face = 2
        [[category]]
        name = "house"
        groups = [3, 2]
        points = 5
        joker = true
        [[category]]
        name = "five"
        groups = [5]
        points = 11
    """,
    "forced": """
        name = "forced"
        upper_threshold = 9
        upper_bonus = 4
        extra_bonus = 6
        joker = "forced"
        yahtzee = "five"
        [[category]]
        name = "five"
        groups = [5]
        points = 8
        [[category]]
        name = "ones"
        face = 1
        [[category]]
        name = "threes"
        face = 3
        [[category]]
        name = "long"
        run = 5
        points = 12
        joker = true
    """,
    # The ones alone can bring exactly the threshold, and no more; the Yahtzee box never holds points.
    "exact": """
        name = "exact"
        upper_threshold = 5
        upper_bonus = 5
        extra_bonus = 4
        yahtzee = "nothing"
        [[category]]
        name = "ones"
        face = 1
        [[category]]
        name = "twos"
        face = 2
        [[category]]
        name = "nothing"
        groups = [5]
        points = 0
    """,
    "plain": """
        name = "plain"
        [[category]]
        name = "any"
        points = "sum"
        [[category]]
        name = "pairs"
        groups = [2, 2]
        distinct = false
        points = "matching"
        [[category]]
        name = "low"
        faces = [1, 2, 3]
        points = 3
    """,
    "two-sixes": """
        name = "two-sixes"
        upper_threshold = 40
        upper_bonus = 3
        extra_bonus = 2
        joker = "free"
        yahtzee = "five"
        [[category]]
        name = "sixes"
        face = 6
        [[category]]
        name = "sixes again"
        face = 6
        [[category]]
        name = "five"
        groups = [5]
        points = 1
    """,
}
TWO_BOXES = """
    name = "two boxes"
    [[category]]
    name = "twos"
    face = 2
    [[category]]
    name = "house"
    groups = [3, 2]
    points = 5
"""
BONUS = """
    name = "bonus"
    upper_threshold = 5
    upper_bonus = 3
    extra_bonus = 4
    joker = "free"
    yahtzee = "five"
    [[category]]
    name = "ones"
    face = 1
    [[category]]
    name = "five"
    groups = [5]
    points = 6
"""

# Jokers in a lower box, which may be worth any dice, and upper boxes that may have other faces than their own.
THREE_ABOVE = """
    name = "three above"
    upper_threshold = 13
    upper_bonus = 7
    extra_bonus = 100
    joker = "forced"
    yahtzee = "five"
    [[category]]
    name = "five"
    groups = [5]
    points = 11
    [[category]]
    name = "triple"
    groups = [3]
    points = "sum"
    [[category]]
    name = "ones"
    face = 1
    [[category]]
    name = "twos"
    face = 2
    [[category]]
    name = "sixes"
    face = 6
"""


def utility(rules: Rules, goal: str) -> Utility:
    """The table of a goal, by any name that a job may give it."""
    worths = parse_older(goal).worths(Utility.count_scores(rules), partial(curve_of, rules=rules))
    return Utility(rules, goal, tuple(worths.tolist()))


def race_table(path: Path) -> RaceTable:
    """The table of two players in a directory."""
    table = open_table(path)
    assert isinstance(table, RaceTable)
    return table
