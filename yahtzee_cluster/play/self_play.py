"""Games that a strategy plays by itself, with dice, move by move, as records."""

from __future__ import annotations

from yahtzee_cluster.game.notation import find_box, words_of
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.choices import Move
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.game import Game
from yahtzee_cluster.play.record import Record, Roll, Turn


def played_by(strategy: Consulted, adviser: Adviser, seed: int) -> Record:
    """A whole game of a strategy; the same seed throws the same dice."""
    rules = adviser.rules
    game, record = Game(adviser, Scorecard.of(rules, {})), Record(rules, headers=(("player", strategy.words),))
    rolls: list[Roll] = []
    while not game.is_over:
        if game.is_to_roll:
            game = game.roll(seed)
        decision = strategy.decide(game.position)
        if isinstance(decision, str):
            while rolls and rolls[-1].kept == game.dice:  # to keep all dice and then score them is to score at once
                rolls.pop()
            record = record.with_turn(Turn((*rolls, Roll(game.dice)), find_box(decision, rules)))
            game, rolls = game.play(decision), []
        else:
            rolls.append(Roll(game.dice, decision))
            game = game.play(Move(words_of(decision), keep=decision))
    return record
