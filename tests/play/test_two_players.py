"""What every move is worth against another player who plays perfectly."""

from pathlib import Path
from random import Random

import pytest
from launch import compute
from positions import judged, somewhere
from small_games import SMALL, race_table

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.race import Begun, Race, RaceWins
from yahtzee_cluster.play.advice import Adviser, Aim, Goal, Position, Worth
from yahtzee_cluster.play.two_players import Chances, Opponent, ToWin, race_from
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import solve_in_memory
from yahtzee_cluster.tables.race import RaceTable


class ToWinAdviser(Adviser):
    """Plays against one opponent, by a table of two players."""

    def __init__(self, table: RaceTable, opponent: Opponent) -> None:
        super().__init__(table.rules)
        self.race, self.opponent = table, opponent

    def _aim(self, position: Position, goal: Goal | int | None) -> Aim:  # noqa: ARG002
        return ToWin(self.expected, position, self.opponent, self.race)

    def worths(self, position: Position) -> dict[object, Worth]:
        """The value of every move by all criteria."""
        aim = self._aim(position, None)
        assert position.roll
        roll = tuple(position.roll)
        if position.rolls_left == 0:
            found = self._boxes(position.anchor, roll, aim)
        else:
            found = self._keeps(position.anchor, roll, position.rolls_left, aim)
        return {move.category or move.keep or (): worth for move, worth in found}


def solved(problem: Race) -> RaceTable:
    table = table_of(problem, solve_in_memory(problem, threads=1))
    assert isinstance(table, RaceTable)
    return table


def as_judged(rules: Rules, position: Position, opponent: Opponent) -> dict[object, tuple[float, Chances]]:
    """Value and chances of every move for the player to move, trying out everything."""
    judge, first = reference.race(rules), opponent.anchor.free.bit_count() == position.anchor.free.bit_count()
    upper = rules.upper_threshold if opponent.anchor.upper is None else opponent.anchor.upper
    theirs = opponent.anchor.free, upper, opponent.anchor.chip

    def rest(after: reference.Anchor, points: int) -> reference.Row:
        ahead = position.score + points - opponent.score
        return judge(after, theirs, ahead) if first else tuple(-x for x in judge(theirs, after, -ahead))

    found: dict[object, tuple[float, Chances]] = {}
    for move, row in judged(rules, position, rest).items():
        value, win = row if first else (-row[0], -row[1])
        tie = 2 * (value - win)
        chances = Chances(win, tie, 1 - win - tie) if first else Chances(1 - win - tie, tie, win)
        found[move] = (value if first else 1 - value), chances
    return found


def agrees(table: RaceTable, position: Position, opponent: Opponent) -> None:
    """Every move is worth what the reference says, and the best is first."""
    expected = as_judged(table.rules, position, opponent)
    adviser = ToWinAdviser(table, opponent)
    aim = ToWin(adviser.expected, position, opponent, table)
    for move, worth in adviser.worths(position).items():
        value, chances = expected.pop(move)
        assert aim.figures(worth)["p"] == pytest.approx(value, abs=1e-12)
        found = aim.chances(worth)
        assert (found is None) == (table.quantities == 1)
        if found:
            assert (found.win, found.tie, found.loss) == pytest.approx(
                (chances.win, chances.tie, chances.loss), abs=1e-11
            )
    assert expected == {}
    advice = adviser.advise(position)
    ps = [one.p for one in advice if one.p is not None]
    assert ps == pytest.approx(sorted(ps, reverse=True), abs=1e-11)
    assert [one.cost for one in advice] == pytest.approx([ps[0] - p for p in ps], abs=1e-11)


@pytest.mark.parametrize(
    ("mine", "theirs"), [(1, 0), (1, 1), (2, 1), pytest.param(2, 2, marks=pytest.mark.whole)], ids=str
)
def test_every_move_is_worth_what_the_reference_finds(small_rules: Rules, mine: int, theirs: int) -> None:
    """For either player to move, by the table of the whole race and by one from here, with every number of rolls."""
    random = Random(f"{small_rules.name} {mine} {theirs}")
    opponent = Opponent(*somewhere(small_rules, theirs, random))
    anchor, score = somewhere(small_rules, mine, random)
    position = Position(anchor, random.choice(ROLLS), random.randrange(3), score)
    whole = solved(RaceWins(small_rules))
    here = [solved(kind(small_rules, race_from(position, opponent))) for kind in (Race, RaceWins)]
    for table in (whole, *here):
        agrees(table, position, opponent)
    three_more = Position(anchor, random.choice(ROLLS), (position.rolls_left + 1) % 3, score)
    agrees(here[1], three_more, opponent)


def test_a_table_on_disk_serves_as_well(tmp_path: Path) -> None:
    """Moves are worth the same by a table on disk and by one in memory, to the last bit."""
    rules = parse_rules(SMALL["plain"], "plain")
    compute(tmp_path, RaceWins(rules), 0b101)
    opponent, position = Opponent(Anchor(0b011, None), 3), Position(Anchor(0b110, None), (1, 2, 2, 6, 6), 2, 20)
    found = [
        ToWinAdviser(table, opponent).worths(position)
        for table in (
            race_table(tmp_path),
            solved(RaceWins(rules)),
            solved(RaceWins(rules, race_from(position, opponent))),
        )
    ]
    assert found[0] == found[1]
    assert found[2] == {move: pytest.approx(worth, abs=1e-13) for move, worth in found[0].items()}


def test_the_value_of_the_turn_is_that_of_the_best_moves() -> None:
    """Before the first roll, the value is that of the state in the table; both players' values add up to one."""
    rules = load_rules("yahtzee")
    mine, theirs = Anchor(0b1000000100010, 40), Anchor(0b0101000000100, 50)
    for scores in ((180, 170), (130, 171)):
        position, opponent = Position(mine, score=scores[0]), Opponent(theirs, scores[1])
        begun = race_from(position, opponent)
        assert begun == Begun(mine, theirs, scores[0] - scores[1])
        table = solved(RaceWins(rules, begun))
        (advice,) = ToWinAdviser(table, opponent).advise(position)
        assert advice.p == pytest.approx(table.opening()[0], abs=1e-15)
    # When the second player is to move, the table has the value of the first.
    later, theirs = Position(Anchor(0b1000000100010, 40), score=150), Opponent(Anchor(0b0100000000100, 50), 161)
    begun = race_from(later, theirs)
    assert begun == Begun(theirs.anchor, later.anchor, 11)
    table = solved(RaceWins(rules, begun))
    (advice,) = ToWinAdviser(table, theirs).advise(later)
    assert advice.p == pytest.approx(1 - table.opening()[0], abs=1e-15)


def test_where_nothing_is_at_stake_points_decide() -> None:
    """In a game that is won already, all moves are worth 1, and the best is the one with the most points to come."""
    rules = load_rules("yahtzee")
    position = Position(Anchor(0b1000000000010, 40), (2, 2, 2, 5, 6), 0, 195)
    opponent = Opponent(Anchor(0b11, 55), 60)
    table = solved(RaceWins(rules, race_from(position, opponent)))
    advice = ToWinAdviser(table, opponent).advise(position)
    assert [(one.p, one.cost) for one in advice] == [(1.0, 0.0)] * 2
    assert advice[0].move.words == "score deuces for 6"


def test_refusals() -> None:
    """Players who cannot both be at this point, and scores that no game has, are refused in one line."""
    rules = load_rules("yahtzee")
    position = Position(Anchor(0b11, 50), score=170)
    table = solved(Race(rules, Begun(Anchor(0b11, 50), Anchor(0b101, 50), 0)))
    for opponent, complaint in (
        (Opponent(Anchor(0b111, 50), 170), "whoever is to move has as many free boxes, or one more; found 2, and 3 of"),
        (Opponent(Anchor(0, None), 170), "found 2, and 0 of the other player"),
        (Opponent(Anchor(0b101, 50), 7), "score so far: no game has 7 points here"),
        (Opponent(Anchor(0b101, 50), 169), "lead: no game comes to 1 here"),
        (Opponent(Anchor(0b110, 50), 170), "none that play can lead to from the one where"),
        (Opponent(Anchor(0b101, 99), 170), "upper: the used categories cannot bring an upper total of 99"),
    ):
        with pytest.raises(UsageError, match=complaint):
            ToWinAdviser(table, opponent).advise(position)
