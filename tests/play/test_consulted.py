"""Strategies that are asked what they would do in a position."""

import json
from pathlib import Path
from random import Random

import pytest
from launch import computed
from positions import somewhere
from small_games import SMALL

from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import Said
from yahtzee_cluster.play.choices import Choices
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.game import new_game
from yahtzee_cluster.play.position import Position, Standing
from yahtzee_cluster.play.strategies import BY_NAME
from yahtzee_cluster.play.strategy_files import load_strategy
from yahtzee_cluster.play.worth import Worth

YAHTZEE = Adviser(load_rules("yahtzee"))


def said(position: Position, strategy: str, goal: str = "mean", adviser: Adviser = YAHTZEE) -> Said:
    found = adviser.answer(position, goal, strategy=Consulted(strategy, adviser))
    assert found.said
    assert found.said.cost == next(one.cost for one in found.moves if one.move == found.said.move)
    return found.said


@pytest.mark.parametrize("name", ["greedy", "category-means", "upper-lower"])
def test_by_the_worth_of_a_scorecard(name: str) -> None:
    """The move has the highest value by the points of the turn and the worth after it, with the best rolls for that."""
    strategy, choices, random = load_strategy(name).strategy, Choices(YAHTZEE.rules), Random(name)
    assert isinstance(strategy, Worth)
    worth = strategy.values(solve_expected(YAHTZEE.rules))
    for number in range(40):
        anchor, score = somewhere(YAHTZEE.rules, 1 + number % 13, random)
        position = Position(anchor, random.choice(ROLLS), number % 3, score)
        after = choices.after(anchor)
        values = (after.points + worth[after.places])[None, :, None]
        moves, found = choices.evaluated(anchor, position.dice, position.rolls_left, values)
        mine = moves.index(said(position, name).move)
        assert found[0, mine, 0] == pytest.approx(found.max(), rel=1e-12)


@pytest.mark.parametrize(
    ("card", "dice", "rolls_left", "move"),
    [
        ("", "12345", 2, "keep all dice"),
        ("", "12346", 2, "keep 1 2 3 4"),
        ("", "22256", 1, "keep 2 2 2"),
        ("deuces=6", "22256", 1, "keep 2 2 2"),
        ("yahtzee=0", "55555", 0, "score fives for 25"),
        ("", "66612", 0, "score sixes for 18"),
        ("", "11256", 0, "score aces for 2"),
        ("aces=3", "13466", 0, "score sixes for 12"),
    ],
)
def test_by_rules(card: str, dice: str, rolls_left: int, move: str) -> None:
    """As the list of `glenn-rules` says."""
    game = new_game().with_card(card).with_dice(dice, rolls_left)
    found = game.advise(strategy="glenn-rules").said
    assert found
    assert found.move.words == move


def test_other_strategies(tmp_path: Path) -> None:
    """A goal, a table, the highest mean, and the rule for several players."""
    rules = parse_rules(SMALL["free"], source="test")
    table, adviser, random = computed(SMALL["free"], tmp_path / "scores", "scores"), Adviser(rules), Random(1)
    for number in range(12):
        anchor, score = somewhere(rules, 1 + number % 4, random)
        position = Position(anchor, random.choice(ROLLS), number % 3, score)
        assert said(position, "expected", adviser=adviser).cost == 0
        for_score = said(position, f"reach:{score + 9}", adviser=adviser)
        assert for_score.move == adviser.advise(position, f"reach:{score + 9}")[0].move
        by_table = said(position, f"{table.path}:9", adviser=adviser)
        assert by_table.move == Adviser(rules, table).advise(position, "reach:9")[0].move
    anchor, score = somewhere(rules, 2, random)
    others = Position(anchor, random.choice(ROLLS), 1, score, others=(Standing(*somewhere(rules, 2, random)),))
    consulted = Consulted(BY_NAME["chance"], adviser)
    answer = adviser.answer(others, "win", strategy=consulted)
    assert answer.rule
    assert answer.said == Said("the best chance to win", *answer.rule)
    with pytest.raises(UsageError, match="depends on the other players; name them with --other"):
        adviser.answer(position, "mean", strategy=consulted)


def test_nothing_to_say() -> None:
    """Before the first roll, and once the game is over."""
    consulted = Consulted("greedy", YAHTZEE)
    assert YAHTZEE.answer(Position(Anchor(YAHTZEE.rules.all_free, 0)), strategy=consulted).said is None


def test_at_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    """Below the moves, in the object, and for every line of a stream."""
    flags = ["--dice", "22256", "--rolls-left", "1", "--strategy", "greedy"]
    assert cli.main(["advise", *flags]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "greedy says keep 5 6, which costs 7.49"
    late = ["--card", "aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18,3k=20,4k=22,fh=25"]
    assert cli.main(["probe", *late, *flags, "--goal", "reach:250"]) == 0
    assert "strategy   greedy says keep " in capsys.readouterr().out
    assert cli.main(["probe", *flags, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["strategy"] == {"name": "greedy", "words": "keep 5 6", "cost": pytest.approx(7.4933, abs=1e-4)}


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("ecker-additive", "all have to play the same game"),
        ("chance", "depends on the other players; name them with --other"),
        ("gredy.toml", "gredy.toml: cannot be read: No such file"),
        ("win", "goal: say against whom"),
    ],
)
def test_refusals(strategy: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2."""
    assert cli.main(["advise", "--dice", "22256", "--strategy", strategy]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
