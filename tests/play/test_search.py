"""The search for the best strategy of a class."""

import json
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launch import mpirun
from small_games import SMALL

from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.play.rule_grammar import Draw, Grammar
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.rule_words import quoted
from yahtzee_cluster.play.search import Class, Search, value_of
from yahtzee_cluster.play.search_rules import Breeding, Lists, RuleLists
from yahtzee_cluster.play.search_weights import Weights
from yahtzee_cluster.play.strategy_files import toml_of

RULES = parse_rules(SMALL["free"], source="test")
START = {"worth": {"boxes": {"ones": 1.0, "twos": 2.0, "house": 2.0, "five": 3.0}, "chip": 1.0}}
OF = Weights(RULES, START, "mine.toml")
LISTS = {
    "keep": ["five", "pair, high first"],
    "score": ["five", "house", "twos"],
    "otherwise": ["ones", "twos", "house", "five"],
}
BY_RULES = RuleLists.of(RuleList.parse(LISTS | {"keep": ["pair, high first", "nothing"]}, "mine.toml", RULES), 8)
OPTIMAL_ROLLS = RuleLists.of(
    RuleList.parse({"rolls": "optimal", "score": ["ones"], "otherwise": LISTS["otherwise"]}, "mine.toml", RULES), 8
)


def searched(n_generations: int, seed: int = 1, of: Class[Any] = OF, goal: Goal = MEAN) -> Search[Any]:
    search = Search(of, goal, seed)
    for _ in range(n_generations):
        search.generation(lambda candidates: [value_of(of, goal, candidate) for candidate in candidates])
    return search


def test_search_finds_a_better_strategy() -> None:
    """Far better than the first one, and never better than optimal play."""
    search, best = searched(25), solve_expected(RULES)
    at_start, optimum = value_of(OF, MEAN, OF.start), best.mean[best.start]
    assert value_of(OF, MEAN, search.best_candidate) == search.best
    assert at_start < search.best <= optimum + 1e-12
    assert optimum - search.best < 0.5 * (optimum - at_start)


def test_seeds() -> None:
    """The same seed proposes the same, another one does not."""
    assert searched(2).values == searched(2).values != searched(2, seed=2).values


def test_numbers_of_a_file() -> None:
    """They are found, replaced and written in order, and everything else stays."""
    assert OF.start.tolist() == [1.0, 2.0, 2.0, 3.0, 1.0]
    assert OF.scale.tolist() == [2.0, 2.0, 2.0, 3.0, 1.0]
    filled = OF.table(np.arange(5.0))
    assert filled == {"worth": {"boxes": {"ones": 0.0, "twos": 1.0, "house": 2.0, "five": 3.0}, "chip": 4.0}}
    assert OF.fields == START
    layered: dict[str, Any] = {
        "name": "a b",
        "worth": {"network": {"layer": [{"weights": [[1.5], [2.0]]}, {"biases": [3]}]}},
    }
    assert tomllib.loads(toml_of(layered)) == layered
    assert tomllib.loads(toml_of(START)) == START


def test_no_negative_variance() -> None:
    """Proposals with a negative variance count as 0."""
    of = Weights(RULES, {"worth": {"bonus": {"mean": 2.0, "variance": 1.0}}}, "mine.toml")
    assert of.table(np.array([-1.0, -1.0])) == {"worth": {"bonus": {"mean": -1.0, "variance": 0.0}}}


def test_never_worse_than_the_start() -> None:
    """Where no candidate is better, the search ends where it began."""
    best = searched(40)
    again = Weights(RULES, OF.table(best.best_candidate), "mine.toml")
    found, value = searched(1, of=again).simplest()
    assert value >= best.best - 1e-4
    assert len(found) == 5


def test_what_a_file_names_is_part_of_a_search(tmp_path: Path) -> None:
    """A checkpoint is of another search once the numbers in another file, or the worths of a goal, have changed."""
    numbers, worths, path = tmp_path / "numbers.txt", tmp_path / "worths.txt", tmp_path / "state.json"
    table = {"worth": {"boxes": START["worth"]["boxes"], "table": {"file": "numbers.txt"}}}
    numbers.write_text(" ".join(["1"] * 16))
    of = Weights(RULES, table, str(tmp_path / "mine.toml"))
    searched(1, of=of).save(path)
    numbers.write_text(" ".join(["2"] * 16))
    with pytest.raises(UsageError, match="is of another search"):
        Search.begun_or_continued(of, MEAN, 1, None, path)
    worths.write_text("0 1 2 3")
    goal = parse_goal(f"worth:{worths}")
    searched(1, goal=goal).save(path)
    assert len(Search.begun_or_continued(OF, goal, 1, None, path).values) == 1


def test_a_box_called_variance() -> None:
    """Only the variances of the bonus cannot be negative."""
    rules = parse_rules(
        'name = "x"\n[[category]]\nname = "variance"\nface = 1\n[[category]]\nname = "b"\nface = 2\n', "x"
    )
    of = Weights(rules, {"worth": {"boxes": {"variance": -8.0, "b": 1.0}}}, "mine.toml")
    assert of.table(np.array([-8.0, 1e12])) == {"worth": {"boxes": {"variance": -8.0, "b": 1e9}}}


def test_one_box() -> None:
    """Rules for a game with a single box can be searched, too."""
    rules = parse_rules('name = "x"\n[[category]]\nname = "a"\nface = 1\n', "x")
    of = RuleLists(rules, Lists(("nothing",), ("a",), (0,)), 9)
    assert searched(3, of=of).best > value_of(of, MEAN, of.start)


def test_few_digits() -> None:
    """Numbers are rounded as far as that costs next to nothing."""
    short = OF.simplified(OF.start + 1e-7, lambda numbers: value_of(OF, MEAN, numbers))
    assert short.tolist() == OF.start.tolist()


@pytest.mark.parametrize("of", [OF, BY_RULES, OPTIMAL_ROLLS])
def test_checkpoint(tmp_path: Path, of: Class[Any]) -> None:
    """A search that goes on from a checkpoint finds what one finds that was never stopped."""
    path = tmp_path / "state.json"
    searched(3, of=of).save(path)
    search = Search.begun_or_continued(of, MEAN, 1, None, path)
    assert len(search.values) == 3
    for _ in range(2):
        search.generation(lambda candidates: [value_of(of, MEAN, candidate) for candidate in candidates])
    whole = searched(5, of=of)
    assert search.values == whole.values
    assert of.table(search.best_candidate) == of.table(whole.best_candidate)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[:-20], "is damaged; remove it"),
        (lambda text: text.replace('"seed": 1', '"seed": 2'), "is of another search"),
        (lambda text: text.replace('"chip": 1.0', '"chip": 2.0'), "is of another search"),
        (lambda text: text.replace('"values": [[', '"values": [[NaN, '), "is damaged; remove it"),
        (lambda _: "[1]", "is of another search"),
        (lambda _: "[" * 100_000, "is damaged"),
    ],
)
def test_other_checkpoints_are_refused(tmp_path: Path, damage: Any, message: str) -> None:
    """In one line."""
    path = tmp_path / "state.json"
    searched(1).save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(UsageError, match=f"checkpoint: .*{message}") as refusal:
        Search.begun_or_continued(OF, MEAN, 1, None, path)
    assert "\n" not in str(refusal.value)


def test_nothing_to_search_for() -> None:
    """A strategy without numbers is no class."""
    with pytest.raises(FileError, match="expected 2 to 2000 numbers to search for, found 0"):
        Weights(RULES, {"worth": {}}, "mine.toml")


# ------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize("of", [BY_RULES, OPTIMAL_ROLLS])
def test_search_finds_better_rules(of: RuleLists) -> None:
    """Better ones than those it begins with, never better than optimal play, and never more than allowed."""
    best = solve_expected(RULES)
    search = searched(8, of=of)
    at_start, optimum = value_of(of, MEAN, of.start), best.mean[best.start]
    assert at_start < search.best <= optimum + 1e-12
    assert search.best_candidate.n_rules <= of.most_rules
    assert value_of(of, MEAN, search.best_candidate) == search.best
    assert RuleList.parse(of.table(search.best_candidate), "mine.toml", RULES).mean(best) == search.best


def test_no_candidate_comes_twice() -> None:
    """Which would waste an evaluation."""
    breeding = Breeding(BY_RULES, 1, 20)
    seen: list[Lists] = []
    for number in range(10):
        candidates = breeding.ask()
        assert all(candidate.n_rules <= 8 for candidate in candidates)
        seen += candidates
        breeding.tell(candidates, [float(number) for _ in candidates])
    assert len(set(seen)) == len(seen) == 200


def test_crossing() -> None:
    """Rules of both parents, each half in the order of its parent; every box once in the order of sacrifice."""
    one = Lists(("nothing",), tuple("abcdef"), (0, 1, 2, 3))
    other = Lists(("pair",), tuple("uvwxyz"), (3, 2, 1, 0))
    breeding = Breeding(BY_RULES, 1, 20)
    children = [breeding.crossed(one, other) for _ in range(200)]
    for child in children:
        assert len(child.score) == 6
        for parent in (one.score, other.score):
            kept = [rule for rule in child.score if rule in parent]
            assert kept == sorted(kept)
        assert sorted(child.otherwise) == [0, 1, 2, 3]
    assert {rule for child in children for rule in child.score} == set("abcdefuvwxyz")
    assert len({child.otherwise for child in children}) > 4
    twice = breeding.crossed(one, one)
    assert len(set(twice.score)) == len(twice.score)


def test_order_of_both_parents() -> None:
    """Where both say the same, so does the child; in a conflict, the box from the first parent comes first."""
    breeding = Breeding(BY_RULES, 1, 20)
    found = {breeding.ordered((0, 1, 2, 3), (0, 2, 1, 3)) for _ in range(100)}
    assert found == {(0, 1, 2, 3), (0, 2, 1, 3)}


def test_superfluous_rules_are_dropped() -> None:
    """One that is never reached, and one that repeats what is done anyhow."""
    lists = Lists(("nothing", "pair"), ("five", "five", "house"), (0, 1, 2, 3))
    found = BY_RULES.simplified(lists, lambda candidate: value_of(BY_RULES, MEAN, candidate))
    assert found.n_rules < lists.n_rules
    assert value_of(BY_RULES, MEAN, found) >= value_of(BY_RULES, MEAN, lists)
    idle = Lists(("pair if more than 0 boxes free",), ("five with at least 3 points if five free",), (0, 1, 2, 3))
    found = BY_RULES.simplified(idle, lambda candidate: value_of(BY_RULES, MEAN, candidate))
    assert (found.keep, found.score) == (("pair",), ("five",))


@pytest.mark.parametrize("game", ["free", "forced", "yahtzee", "yatzy", "yacht"])
def test_random_rules_can_be_read(game: str) -> None:
    """Nearly all of them, in every game, and so can variations of them."""
    rules = parse_rules(SMALL[game], source="test") if game in SMALL else load_rules(game)
    of = RuleLists(rules, Lists(None, ("x",), tuple(range(len(rules.categories)))), 100)
    grammar = Grammar(rules, Draw(1))
    wrong = 0
    for number in range(300):
        key = ("keep", "score")[number % 2]
        rule = grammar.rule(key)
        for text in (rule, grammar.varied(key, rule)):
            score = text if key == "score" else quoted(rules.categories[0].name)
            lists = Lists(("nothing",) if key == "score" else (text,), (score,), of.start.otherwise)
            try:
                of.strategy(lists).check()
            except UsageError:
                wrong += 1
    assert wrong < 30


def test_another_goal() -> None:
    """A search for the chance to reach a score finds a better one, and tells it as evaluations do."""
    goal = parse_goal("reach:12")
    search = searched(4, of=BY_RULES, goal=goal)
    assert value_of(BY_RULES, goal, BY_RULES.start) < search.best <= 1
    played = BY_RULES.strategy(search.best_candidate).played(RULES)
    assert search.best == pytest.approx(played.curve[12], abs=1e-14)


def test_fit() -> None:
    """Where the numbers can be those of optimal play, a fit finds them."""
    game = """
        name = "two"
        [[category]]
        name = "ones"
        face = 1
        [[category]]
        name = "house"
        groups = [3, 2]
        points = 5
    """
    rules = parse_rules(game, source="test")
    table = {"worth": {"boxes": {"ones": 1.0, "house": 1.0}, "pairs": {"ones": {"house": 1.0}}}}
    expected = solve_expected(rules)
    found = Weights(rules, table, "mine.toml").fitted(1)
    assert found.start.tolist()[:2] == pytest.approx([expected.mean[at] for at in expected.anchors.place[[1, 2], 0]])
    assert value_of(found, MEAN, found.start) == pytest.approx(expected.mean[expected.start], abs=1e-9)
    assert value_of(found, MEAN, np.zeros(3)) < value_of(found, MEAN, found.start) - 0.01


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(UsageError, match=r"search: needs cmaes; .*yahtzee_cluster\[search\]"):
        Search(OF)


# ------------------------------------------------------------------------------------------- the command


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """A strategy file for the small game."""
    (tmp_path / "game.toml").write_text(SMALL["free"])
    path = tmp_path / "start.toml"
    path.write_text(toml_of({"name": "start", "kind": "worth", "game": str(tmp_path / "game.toml"), **START}))
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What the command finds."""
    assert cli.main(["search", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_any_number_of_workers(start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One thread and two find the same, and so they do in two steps; the file they write has the mean they tell."""
    one = printed(capsys, start, "--generations", 4, "--workers", 1)
    assert one == printed(capsys, start, "--generations", 4, "--workers", 2)
    state, out = tmp_path / "state.json", tmp_path / "found.toml"
    printed(capsys, start, "--generations", 2, "--checkpoint", state)
    assert one == printed(capsys, start, "--generations", 4, "--checkpoint", state, "--out", out)
    written = tomllib.loads(out.read_text())
    assert written["worth"] == one["strategy"]["worth"]
    assert written["mean"] == round(one["mean"], 4)
    assert one["evaluated"] == 4 * 8
    again = printed(capsys, out, "--generations", 1)
    assert again["generations"] == 1


@pytest.mark.program
@pytest.mark.parametrize(("n_ranks", "has_rules"), [(3, False), (5, True)])
def test_ranks_find_the_same(
    n_ranks: int, has_rules: bool, start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under mpirun, ranks evaluate the candidates, and one of them prints."""
    if has_rules:
        header = {"name": "start", "kind": "rules", "game": str(tmp_path / "game.toml")}
        start.write_text(toml_of(header | BY_RULES.table(BY_RULES.start)))
    alone = printed(capsys, start, "--generations", 3, "--workers", 1)
    result = mpirun(n_ranks, ["-m", "yahtzee_cluster", "search", start, "--generations", 3, "--json"])
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == alone
    assert result.stderr.count("generation 3 of 3: best") == 1


@pytest.mark.program
def test_interrupt(start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After Ctrl-C the checkpoint is there, nothing else is printed, and the same command goes on."""
    state = tmp_path / "state.json"
    command = [sys.executable, "-m", "yahtzee_cluster", "search", str(start), "--checkpoint", str(state)]
    with subprocess.Popen([*command, "--generations", "100000"], stderr=subprocess.PIPE, text=True) as process:
        while not state.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.communicate(timeout=60)[1]
    n_done = len(json.loads(state.read_text())["values"])
    assert printed(capsys, start, "--checkpoint", state, "--generations", n_done + 1)["generations"] == n_done + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing: no such strategy or file; "),
        (["START", "--population", "3"], "population: expected at least 4, found 3"),
        (["START", "--generations", "0"], "generations: expected at least 1, found 0"),
        (
            ["START", "--generations", "1", "--out", "/nowhere/x.toml"],
            "x.toml: cannot be written: No such directory",
        ),
        (["GAME"], "kind: expected a text, found nothing"),
        (["START", "--max-rules", "9"], "max-rules: this strategy has no rules"),
        (["glenn-rules", "--max-rules", "201"], "max-rules: expected at most 200, found 201"),
        (["glenn-rules", "--max-rules", "9"], "max-rules: the strategy has 26 rules, more than 9"),
        (["glenn-rules", "--fit"], "fit: only numbers can be fitted, and this strategy has rules"),
        (["START", "--goal", "quantile:0.5"], "goal: quantile"),
        (["START", "--goal", "reach:x"], "goal: expected reach:N"),
    ],
)
def test_refusals(start: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    """One line and exit code 2."""
    named = {"START": str(start), "GAME": str(start.with_name("game.toml"))}
    assert cli.main(["search", *(named.get(word, word) for word in arguments)]) == 2
    errors = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("generation ")]
    assert len(errors) == 1
    assert message in errors[0]
