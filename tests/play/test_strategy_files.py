"""Strategies in files: those that come with the program, and one's own."""

import json
import math
from pathlib import Path

import pytest
from in_process import command

from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import parse_toml
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.play.strategies import parse_strategy
from yahtzee_cluster.play.strategy import ByAnchorAlone
from yahtzee_cluster.play.strategy_files import FOLDER, Described, load_strategy, strategy_names, strategy_of

GREEDY = """
name = "mine"
kind = "worth"
game = "yacht"
[worth]
"""
BY_RULES = """
name = "mine"
kind = "rules"
game = "yacht"
keep = []
score = []
otherwise = []
"""


@pytest.fixture(scope="module")
def expected() -> dict[str, ExpectedTable]:
    return {}


@pytest.mark.whole
@pytest.mark.parametrize("name", strategy_names())
def test_every_file_has_its_exact_mean(name: str, expected: dict[str, ExpectedTable]) -> None:
    """The mean in the header of a strategy is that of the strategy, to the last digit."""
    strategy = load_strategy(name)
    assert strategy.words == strategy.name == name
    table = expected.setdefault(strategy.game.name, solve_expected(strategy.game))
    assert strategy.recorded is not None
    assert f"{strategy.mean(table):.4f}" == f"{strategy.recorded:.4f}"
    assert strategy.mean(table) < table.mean[table.start]
    assert strategy.about
    assert strategy.source


def test_names_and_files(tmp_path: Path) -> None:
    """A strategy is found by its name or its file, and plays the game that it was made for."""
    mine = tmp_path / "mine.toml"
    mine.write_text(GREEDY)
    found = parse_strategy(str(mine))
    assert isinstance(found, Described)
    assert isinstance(found, ByAnchorAlone)
    assert (found.name, found.game.name, found.rules, found.n_parameters) == ("mine", "yacht", found.game, 0)
    assert parse_strategy("greedy") == load_strategy("greedy")
    assert (FOLDER / "greedy.toml").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("kind", "worht"), "mine: kind: no kind 'worht'; did you mean worth?"),
        (("name", None), "mine: name: expected a text, found nothing"),
        (("game", 5), "mine: game: expected a text on one line, of at most 200 characters, found 5"),
        (("game", "yahtze"), "yahtze: no such rule set or file; did you mean yahtzee?"),
        (("mean", "much"), "mine: mean: expected a number, found 'much'"),
        (("about", "two\nlines"), "mine: about: expected a text on one line"),
        (("game", "a\0b.toml"), "game: expected a text on one line"),
        (("mean", math.nan), "mine: mean: expected a number, found nan"),
        (("published", 10**5000), "mine: published: expected a number, found something too large to show"),
        (("published", True), "mine: published: expected a number, found True"),
        (("boxes", {}), "boxes"),
    ],
)
def test_headers_are_checked(change: tuple[str, object], complaint: str) -> None:
    """One line says what is wrong with the header of a file."""
    table = parse_toml(GREEDY, "mine")
    key, value = change
    table = {name: one for name, one in table.items() if name != key} | ({} if value is None else {key: value})
    with pytest.raises(FileError) as refused:
        strategy_of(table, "mine")
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_refused_at_the_shell(tmp_path: Path) -> None:
    """A file that is none, is too long, or has no strategy in it: one line each."""
    long, other = tmp_path / "long.toml", tmp_path / "rules.toml"
    long.write_text("# " + 200_000 * "x")
    other.write_text(BY_RULES)
    for text, complaint in (
        ("gredy.toml", "gredy.toml: cannot be read"),
        (str(long), "is too long: more than 100000 bytes"),
        (str(other), "keep: "),
        ("gredy", "gredy"),
    ):
        refused = command("evaluate", text)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused.stderr
        assert complaint in refused.stderr


def test_unknown_names() -> None:
    """A name that is none is answered with the one that is meant, or all there are."""
    assert "gredy: no such strategy or file; did you mean greedy?" in command("strategies", "gredy").stderr
    assert "whist: no such strategy or file; strategies are all-by-rules, " in command("strategies", "whist").stderr


def test_list() -> None:
    """The list has every strategy, in words and as JSON; one of them is printed as its file."""
    told = command("strategies").stdout.splitlines()
    assert [line.split()[0] for line in told[1:]] == strategy_names()
    facts = {one["name"]: one for one in json.loads(command("strategies", "--json").stdout)}
    assert (facts["upper-lower"]["published"], facts["upper-lower"]["mean"]) == (250.41, 250.4064)
    assert facts["greedy"]["parameters"] == 0
    assert command("strategies", "greedy").stdout.strip() == (FOLDER / "greedy.toml").read_text().strip()
    assert json.loads(command("strategies", "greedy", "--json").stdout) == facts["greedy"]
