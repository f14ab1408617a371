"""Positions of games, and what the judge makes of every move in them."""

from collections.abc import Callable
from random import Random

from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import ROLLS, Keep
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.play.position import Position


def somewhere(rules: Rules, n_free: int, random: Random) -> tuple[Anchor, int]:
    """A state between turns that some game comes to, and what it has scored until then."""
    anchor, score = (rules.all_free, 0, False), 0
    while anchor[0].bit_count() > n_free:
        roll = random.choice(ROLLS) if random.random() < 0.7 else (random.randrange(1, 7),) * 5
        play = random.choice(rules.plays(anchor[0], anchor[2], roll))
        anchor, points = reference.after(rules, anchor[0], anchor[1], play)
        score += points
    return Anchor(*anchor), score


Rest = Callable[[reference.Anchor, int], reference.Row]
"""What the judge makes of a state and of the points paid on the way there: by every criterion, the first first."""


def rest_of(rules: Rules, need: int | None) -> Rest:
    """Moments, after the probability of what is needed if any is."""
    moments, scores = reference.moments(rules), reference.maxprob_scores(rules)

    def rest(after: reference.Anchor, points: int) -> reference.Row:
        *p, mean, square = moments(*after) if need is None else scores(*after, max(need - points, 0))
        return *p, mean + points, square + 2 * points * mean + points**2

    return rest


def judged(rules: Rules, position: Position, rest: Rest) -> dict[Keep | str, reference.Row]:
    """What every move is worth, trying out everything."""
    free, upper, chip = position.anchor.free, position.anchor.upper or 0, position.anchor.chip

    def options(roll: Keep) -> dict[str, reference.Row]:
        plays = rules.plays(free, chip, roll)
        return {
            rules.categories[play.category].name: rest(*reference.after(rules, free, upper, play)) for play in plays
        }

    assert position.roll
    rolled = tuple(position.roll)
    if position.rolls_left == 0:
        return {name: row for name, row in options(rolled).items()}  # noqa: C416  # keys of a wider type
    worth = {roll: reference.pick(options(roll).values()) for roll in reference.ROLLS}
    for rolls_left in range(1, position.rolls_left + 1):
        kept = {keep: reference.mean(reference.throws(keep), worth) for keep in reference.KEEPS}
        if rolls_left < position.rolls_left:
            worth = reference.kept_best(kept)
    return {keep: kept[keep] for keep in reference.keeps(rolled)}
