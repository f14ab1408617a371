"""The opponents of a goal: the distribution of the final score of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.forward import play_for_mean
from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import read_numbers
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import SLACK
from yahtzee_cluster.objectives.opponents import Opponent
from yahtzee_cluster.play.strategies import common_rules, parse_strategy

ROUNDED = 1e-4
"""So far from 1 may the sum of probabilities be that a file has rounded."""

Values = NDArray[np.float64]


def curve_of(opponent: Opponent, rules: Rules) -> Values:
    """[s]: the probability that the final score of an opponent is at least s.

    Opponents play the whole game, also where `rules` are those of the rest of one.
    """
    game = rules.whole or rules
    match opponent.kind:
        case "score":
            return np.ones(int(opponent.text) + 1)
        case "file":
            return read_distribution(opponent.text)
        case "card":
            card = parse_scorecard(opponent.text, game)
            if not card.anchor.free:
                return np.ones(card.score + 1)
            return np.concatenate([np.ones(card.score), play_for_mean(rest_of(game, card.anchor)).curve])
    strategy = parse_strategy(opponent.text)
    return strategy.played(common_rules([strategy], game)).curve


def read_distribution(file: str) -> Values:
    """[s]: the probability of a score of at least s, from a file with a number for each score from 0 on.

    Numbers that begin with 1 and do not rise are these probabilities. Numbers that add up to 1 are those of exactly
    each score. If both hold, the score is 0 either way.
    """
    numbers = np.array(read_numbers(file))
    outside = numbers[(numbers < 0) | (numbers > 1 + SLACK)]
    if len(outside) or not len(numbers):
        found = f"{outside[0]:g}" if len(outside) else "none"
        raise FileError(file, f"expected probabilities, one for each final score from 0 on, found {found}")
    rises = np.flatnonzero(np.diff(numbers) > SLACK) + 1
    if numbers[0] >= 1 - SLACK:
        if len(rises):
            expected = "expected probabilities of at least each score from 0 on, because they begin with 1"
            raise FileError(file, f"{expected}; they rise at score {rises[0]}")
        return np.asarray(np.minimum(numbers, 1.0))
    if abs(numbers.sum() - 1) > ROUNDED:
        expected = (
            "expected probabilities of exactly each score from 0 on, which add up to 1, or of at least each score"
        )
        raise FileError(file, f"{expected}, which begin with 1; these add up to {numbers.sum():.9g}")
    at_least = np.cumsum(numbers[::-1])[::-1]
    return np.asarray(at_least / at_least[0])
