"""What every move is worth against another player who plays perfectly."""

from dataclasses import astuple
from pathlib import Path
from random import Random
from typing import Any

import pytest
from launch import compute
from positions import judged, somewhere
from small_games import SMALL, race_table

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.rest import rest_of, to_rest
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.race import Begun, Race, RaceWins
from yahtzee_cluster.play.answer import Chances
from yahtzee_cluster.play.choices import Choices, Move, ranked
from yahtzee_cluster.play.position import Position, Standing
from yahtzee_cluster.play.two_players import ToWin, race_from
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import solve_in_memory
from yahtzee_cluster.tables.race import RaceTable


def evaluated(table: RaceTable, position: Position, opponent: Standing) -> tuple[ToWin, list[tuple[Move, list[float]]]]:
    """Every legal move with its value by all criteria, the best first."""
    aim = ToWin(Choices(table.rules), position, opponent, table)
    moves, values = aim.evaluated(position.anchor, position.dice, position.rolls_left)
    return aim, [(moves[at], values[:, at].tolist()) for at in ranked(values)]


def worths(table: RaceTable, position: Position, opponent: Standing) -> dict[object, list[float]]:
    return {move.category or move.keep or (): worth for move, worth in evaluated(table, position, opponent)[1]}


def solved(problem: Race) -> RaceTable:
    table = table_of(problem, solve_in_memory(problem, threads=1))
    assert isinstance(table, RaceTable)
    return table


Judged = dict[object, tuple[float, Chances]]
"""The value of every move, and the chances."""


def as_judged(rules: Rules, judge: Any, position: Position, opponent: Standing) -> Judged:
    """Value and chances for the player to move, trying out everything."""
    first = opponent.anchor.free.bit_count() == position.anchor.free.bit_count()
    upper = rules.upper_threshold if opponent.anchor.upper is None else opponent.anchor.upper
    theirs = opponent.anchor.free, upper, opponent.anchor.chip

    def rest(after: reference.Anchor, points: int) -> reference.Row:
        ahead = position.score + points - opponent.score
        return tuple(judge(after, theirs, ahead)) if first else tuple(-x for x in judge(theirs, after, -ahead))

    found: Judged = {}
    for move, row in judged(rules, position, rest).items():
        value, win = row if first else (-row[0], -row[1])
        tie = 2 * (value - win)
        chances = Chances(win, tie, 1 - win - tie) if first else Chances(1 - win - tie, tie, win)
        found[move] = (value if first else 1 - value), chances
    return found


def agrees(table: RaceTable, position: Position, opponent: Standing, expected: Judged) -> None:
    """Every move is worth what the reference says, and the best is first."""
    aim, found = evaluated(table, position, opponent)
    assert {move.category or move.keep or () for move, _ in found} == {*expected}
    ps = [aim.figures(worth)["p"] for _, worth in found]
    assert ps == pytest.approx(sorted(ps, reverse=True), abs=1e-11)
    for p, (move, worth) in zip(ps, found, strict=True):
        value, chances = expected[move.category or move.keep or ()]
        assert p == pytest.approx(value, abs=1e-12)
        told = aim.chances(worth)
        assert (told is None) == (table.quantities == 1)
        if told:
            assert astuple(told) == pytest.approx(astuple(chances), abs=1e-11)
            assert sum(astuple(told)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("mine", "theirs"), [(1, 0), (1, 1), (2, 1), pytest.param(2, 2, marks=pytest.mark.whole)], ids=str
)
def test_every_move_is_worth_what_the_reference_finds(small_rules: Rules, mine: int, theirs: int) -> None:
    """For either player to move, by the table of the whole race and by one from here, with every number of rolls."""
    random = Random(f"{small_rules.name} {mine} {theirs}")
    opponent = Standing(*somewhere(small_rules, theirs, random))
    anchor, score = somewhere(small_rules, mine, random)
    position = Position(anchor, random.choice(ROLLS), random.randrange(3), score)
    whole = solved(RaceWins(small_rules))
    here = [solved(kind(small_rules, race_from(position, opponent))) for kind in (Race, RaceWins)]
    judge = reference.race(small_rules)
    expected = as_judged(small_rules, judge, position, opponent)
    for table in (whole, *here):
        agrees(table, position, opponent, expected)
    other = Position(anchor, random.choice(ROLLS), (position.rolls_left + 1) % 3, score)
    agrees(here[1], other, opponent, as_judged(small_rules, judge, other, opponent))


def test_a_table_on_disk_serves_as_well(tmp_path: Path) -> None:
    """Moves are worth the same by a table on disk and by one in memory, to the last bit."""
    rules = parse_rules(SMALL["plain"], "plain")
    compute(tmp_path, RaceWins(rules), 0b101)
    opponent, position = Standing(Anchor(0b011, None), 3), Position(Anchor(0b110, None), (1, 2, 2, 6, 6), 2, 20)
    whole, here = solved(RaceWins(rules)), solved(RaceWins(rules, race_from(position, opponent)))
    found = [worths(table, position, opponent) for table in (race_table(tmp_path), whole, here)]
    assert found[0] == found[1]
    assert found[2] == {move: pytest.approx(worth, abs=1e-12) for move, worth in found[0].items()}


def test_the_value_before_the_first_roll() -> None:
    """It is that of the state in the table; when the second player is to move, the table has the value of the first."""
    rules, mine = load_rules("yahtzee"), Anchor(0b1000000100010, 40)
    for theirs, score in ((Anchor(0b0101000000100, 50), 170), (Anchor(0b0100000000100, 50), 161)):
        position, opponent = Position(mine, score=180), Standing(theirs, score)
        begun = race_from(position, opponent)
        is_first = theirs.free.bit_count() == 3
        assert begun == (Begun(mine, theirs, 10) if is_first else Begun(theirs, mine, -19))
        table = solved(RaceWins(rules, begun))
        aim, ((move, worth),) = evaluated(table, position, opponent)
        value, win = table.opening()
        assert move.words == "roll all dice"
        assert aim.figures(worth)["p"] == pytest.approx(value if is_first else 1 - value, abs=1e-15)
        chances = aim.chances(worth)
        assert chances
        assert (chances.win if is_first else chances.loss) == pytest.approx(win, abs=1e-15)


def test_the_rest_of_the_game_is_enough() -> None:
    """With the choices of the rest of the game alone, moves are worth the same."""
    rules = load_rules("yahtzee")
    position, opponent = Position(Anchor(0b1000000100010, 40), (1, 2, 2, 5, 5), 1, 180), Standing(Anchor(0b11, 55), 171)
    table = solved(Race(rules, race_from(position, opponent)))
    rest = rest_of(rules, position.anchor)
    aim = ToWin(Choices(rest), position, opponent, table)
    moves, values = aim.evaluated(to_rest(rest, position.anchor), position.dice, position.rolls_left)
    expected = worths(table, position, opponent)
    assert {move.keep: values[:, at].tolist() for at, move in enumerate(moves)} == expected


def test_where_nothing_is_at_stake_points_decide() -> None:
    """In a game that is won already, all moves are worth 1, and the best is the one with the most points to come."""
    position = Position(Anchor(0b1000000000010, 40), (2, 2, 2, 5, 6), 0, 195)
    opponent = Standing(Anchor(0b11, 55), 60)
    table = solved(Race(load_rules("yahtzee"), race_from(position, opponent)))
    aim, found = evaluated(table, position, opponent)
    assert [aim.figures(worth)["p"] for _, worth in found] == [1.0, 1.0]
    assert [move.words for move, _ in found] == ["score deuces for 6", "score chance for 17"]


def test_refusals() -> None:
    """Players who cannot both be at this point, and scores that no game has, are refused in one line."""
    rules = load_rules("yahtzee")
    position = Position(Anchor(0b11, 50), score=170)
    table = solved(Race(rules, Begun(Anchor(0b11, 50), Anchor(0b101, 50), 0)))
    for opponent, complaint in (
        (
            Standing(Anchor(0b111, 50), 170),
            "whoever is to move has as many free boxes as the other, or one more; found 2",
        ),
        (Standing(Anchor(0, None), 170), "found 2, and 0 of the other player"),
        (Standing(Anchor(0b101, 50), 7), "score so far: no game has 7 points here"),
        (Standing(Anchor(0b101, 50), 169), "lead: no game comes to 1 here"),
        (Standing(Anchor(0b110, 50), 170), "none that play can lead to from the one where"),
        (Standing(Anchor(0b101, 99), 170), "upper: the used categories cannot bring an upper total of 99"),
    ):
        with pytest.raises(UsageError, match=complaint):
            evaluated(table, position, opponent)
    with pytest.raises(UsageError, match="memory: holds another game"):
        ToWin(Choices(load_rules("kniffel")), position, Standing(Anchor(0b101, 50), 170), table)
