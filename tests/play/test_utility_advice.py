"""Advice by a table of some utility, and by tables that cannot give any."""

import json
import subprocess
from pathlib import Path
from random import Random

import pytest
from in_process import command
from launch import compute, computed
from positions import judged, rest_of, somewhere
from small_games import SMALL, utility

from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.conversation import Conversation
from yahtzee_cluster.play.lines import answer
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.wording import listing
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table


def advise(*arguments: object, said: str = "") -> subprocess.CompletedProcess[str]:
    return command("advise", *arguments, said=said)


def talk(adviser: Adviser, *lines: str) -> list[str]:
    start = Position(Anchor(adviser.rules.all_free, 0, False))
    talking = Conversation(adviser, start, adviser.goal)
    return [talking.hear(line) for line in lines]


def with_utility(name: str, goal: str, path: Path) -> Table:
    """A table of some utility of a small game; "odd" stands for scores worth this or that, more of them maybe less."""
    rules = parse_rules(SMALL[name], name)
    worth = Random(goal).choices(range(-9, 10), k=Utility.count_scores(rules))
    compute(path, Utility(rules, goal, tuple(map(float, worth))) if goal == "odd" else utility(rules, goal), 0b11)
    return open_table(path)


@pytest.mark.parametrize(
    ("name", "goal"),
    [*((name, "odd") for name in sorted(SMALL)), ("exact", "beat:1"), ("free", "beat-all:2"), ("forced", "power:2")],
)
def test_playing_for_a_utility_agrees_with_the_judge(name: str, goal: str, tmp_path: Path) -> None:
    """By a table of some utility, every move is worth what trying out everything finds, and the mean breaks ties."""
    table = with_utility(name, goal, tmp_path)
    small, rules, random = Adviser(table.rules, table), table.rules, Random(name)
    assert isinstance(table.problem, Utility)
    worth = table.problem.worth
    judge, moments = reference.utility(rules, lambda score: worth[score]), rest_of(rules, None)
    score = 0

    def rest(after: reference.Anchor, paid: int) -> reference.Row:
        return judge(*after, score + paid), *moments(after, paid)

    for n_free, rolls_left in ((1, 0), (1, 2), (2, 0), (2, 1), (3, 2)):
        anchor, score = somewhere(rules, n_free, random)
        position = Position(anchor, random.choice(ROLLS), rolls_left, score)
        expected = judged(rules, position, rest)
        advice = small.advise(position)
        assert [one.expected for one in advice] == [None] * len(expected)
        found = {one.move.category or one.move.keep or (): one.worth if one.p is None else one.p for one in advice}
        assert found == {move: pytest.approx(row[0], rel=1e-11, abs=1e-13) for move, row in expected.items()}
        best = expected[advice[0].move.category or advice[0].move.keep or ()]
        assert best == pytest.approx(reference.pick(list(expected.values())), rel=1e-9, abs=1e-12)
        assert [one.cost for one in advice] == pytest.approx(
            sorted(best[0] - row[0] for row in expected.values()), abs=1e-9
        )
        assert {one.p is None for one in advice} == {not goal.startswith("beat")}


def test_a_table_of_some_utility_is_played_by(tmp_path: Path) -> None:
    """At a terminal, for one position and line by line, advice is by the table, unless the mean is asked for."""
    table = with_utility("free", "beat:1", tmp_path)
    start = table.worth(Anchor(0b1111, 0, False), 0)
    store = ["--store", table.path]
    assert json.loads(advise(*store, "--json").stdout)["goal"] == "win:expected"
    assert json.loads(advise(*store, "--json").stdout)["value"] == pytest.approx(start, rel=1e-12)
    assert f"a tie counted half: {100 * start:.4f} % to win." in advise(*store).stdout
    asked = ["--used", "house", "--score-so-far", "5", "--dice", "1,2,2,5,6", "--rolls-left", "1"]
    position = Position(Anchor(0b1011, 0, False), (1, 2, 2, 5, 6), 1, 5)
    small = Adviser(table.rules, table)
    advice = small.advise(position)
    assert advise(*store, *asked).stdout == listing(advice) + "\n"
    assert listing(advice).split()[:2] == ["goal", "cost"]
    assert answer("- - x - 0 False 1 1 2 2 5 6 5", small) == f"{advice[0].p:.12g} {advice[0].move.words}"
    assert advise(*store, "--lines", said="- - x - 0 False 1 1 2 2 5 6 5\n").stdout.startswith(
        f"{advice[0].p:.12g} keep"
    )
    mean = Adviser(table.rules).advise(position)
    assert advise(*store, *asked, "--goal", "expected").stdout == listing(mean) + "\n"
    answers = talk(small, "goal expected", "goal table", "goal beat 9")
    assert "Playing for the highest expected score" in answers[0]
    assert "Playing for a win against an opponent who plays for the highest expected score" in answers[1]
    assert "Playing for more than 9 points: " in answers[2]
    assert "there is no table of some utility" in talk(Adviser(table.rules), "goal table")[0]
    outright = Adviser(table.rules, with_utility("free", "beat-all:2", tmp_path / "outright"))
    assert talk(outright, "goal table")[0].endswith(" % to win.")
    daring = Adviser(table.rules, with_utility("free", "power:2", tmp_path / "daring"))
    assert listing(daring.advise(position)).split()[:2] == ["worth", "cost"]


def test_tables_that_cannot_advise(tmp_path: Path) -> None:
    """A table that does not say how to play for what is asked is refused in one line, and never left unread."""
    paths = {
        name: computed(SMALL["exact"], tmp_path / name, name).path for name in ("maxprob", "approx", "distribution")
    }
    paths["expected"] = computed(SMALL["exact"], tmp_path / "expected", "expected").path
    paths["utility"] = with_utility("exact", "reach:9", tmp_path / "utility").path
    race = Race(parse_rules(SMALL["exact"], "exact"))
    compute(tmp_path / "race", race, 0b11)
    for name, flags, complaint in (
        ("approx", [], "approx: holds approx; advice takes a table of maxprob, scores or some utility"),
        ("approx", ["--beat", "9"], "approx: holds approx; advice takes a table of maxprob, scores or some utility"),
        ("approx", ["--lines"], "approx: holds approx; advice takes a table of maxprob, scores or some utility"),
        (
            "maxprob",
            ["--lines"],
            "lines: none says what to beat or to reach; name the game with --rules; leave out --store",
        ),
        ("race", [], "goal: say against whom: with the cards of the other players"),
    ):
        refused = advise("--store", paths.get(name, tmp_path / name), *flags)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), (name, flags)
        assert complaint in refused.stderr
    for name in ("distribution", "expected"):  # both are for the highest expected score
        told = advise("--store", paths[name], "--lines", said="- - - 0 False 3 1 1 1 1 1\n").stdout
        assert told.startswith(f"{Adviser(race.rules).expected.mean[Adviser(race.rules).expected.start]:.6f} roll")
