"""Lists of rules as a page to print."""

from dataclasses import replace
from pathlib import Path

import pytest

from yahtzee_cluster.commands import cli
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.rule_page import in_words, page
from yahtzee_cluster.play.strategy_files import load_strategy


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("triple if its box free", "triple if its box is free"),
        (
            "small straight if small-straight free or all of large-straight, chance free",
            "small straight if small straight is free or large straight and chance are free",
        ),
        ("pair if none of aces, deuces used", "pair if none of aces and deuces is used"),
        ("aces if any of chance free", "aces if chance is free"),
        ("single unless more than 4 upper boxes free", "single unless more than 4 upper boxes are free"),
        ("triple if yahtzee scored", "triple if yahtzee is filled with points"),
        ("deuces with at least 1 dice", "deuces with at least 1 die"),
        ("2 3 4 or 3 4 5 if 'full house' is free", "2 3 4 or 3 4 5 if full house is free"),
        ("pair if any of aces, deuces, or chance free", "pair if aces, deuces or chance is free"),
        (
            "pair if any of four-of-a-kind, chance unused and yahtzee free",
            "pair if four of a kind or chance is free and yahtzee is free",
        ),
        (
            "pair if all of fours, fives unused or sixes are used",
            "pair if fours and fives are free or sixes is used",
        ),
        ("pair if any of aces, chance are free", "pair if aces or chance is free"),
    ],
)
def test_in_words(rule: str, said: str) -> None:
    """As one would say it."""
    assert in_words(rule) == said


@pytest.mark.parametrize("name", ["glenn-rules", "all-by-rules", "boxes-by-rules", "yahtzee-bonus"])
def test_page(name: str) -> None:
    """Every rule and every box stands on it, and the exact mean."""
    strategy = load_strategy(name)
    assert isinstance(strategy.strategy, RuleList)
    text = page(strategy, strategy.strategy)
    n_lists = 1 if strategy.strategy.keep is None else 2
    assert text.count("<li>") == strategy.n_parameters + n_lists
    assert f"{strategy.recorded:.2f} points on average" in text
    assert "http" not in text
    for category in strategy.game.categories:
        assert category.name.replace("-", " ") in text


def test_nothing_in_a_file_becomes_a_tag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and descriptions are text."""
    mine, out = tmp_path / "mine.toml", tmp_path / "page.html"
    assert cli.main(["strategies", "glenn-rules"]) == 0
    text = capsys.readouterr().out
    mine.write_text(text.replace('about = "What', 'about = "<script>What').replace('name = "', 'name = "<b>', 1))
    assert cli.main(["strategies", str(mine), "--page", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert "<script>" not in out.read_text()
    assert "&lt;script&gt;What" in out.read_text()
    assert "<b>" not in out.read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--page", "x.html"], "page: name the strategy by rules"),
        (["greedy", "--page", "x.html"], "page: greedy has no rules to show"),
        (["glenn-rules", "--page", "/nowhere/x.html"], "/nowhere/x.html: cannot be written: No such directory"),
    ],
)
def test_refusals(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2."""
    assert cli.main(["strategies", *flags]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_the_mean_is_computed(tmp_path: Path) -> None:
    """Whatever the file says it is; and rules about boxes with odd names are shown as they are written."""
    strategy = load_strategy("glenn-rules")
    assert isinstance(strategy.strategy, RuleList)
    forged = replace(strategy, recorded=400.0)
    assert "scores 226.05 points" in page(forged, strategy.strategy)
    (tmp_path / "game.toml").write_text(
        'name = "<b>Odd Game</b>"\n[[category]]\nname = "free"\nface = 1\n[[category]]\nname = "its box"\npoints = 9\n'
    )
    (tmp_path / "mine.toml").write_text(
        'name = "odd"\nkind = "rules"\ngame = "game.toml"\nkeep = ["nothing"]\n'
        """score = ["'free' if 'its box' free"]\notherwise = ["free", "its box"]\n"""
    )
    odd = load_strategy(str(tmp_path / "mine.toml"))
    assert isinstance(odd.strategy, RuleList)
    text = page(odd, odd.strategy)
    assert "<li>&#x27;free&#x27; if &#x27;its box&#x27; free.</li>" in text
    assert "<h1>&lt;b&gt;Odd Game&lt;/b&gt; by 2 rules</h1>" in text


def test_rules_in_the_documentation() -> None:
    """The page for players has the rules of the strategy, in their order, and its mean."""
    strategy = load_strategy("all-by-rules")
    rules = strategy.strategy
    assert isinstance(rules, RuleList)
    assert rules.keep
    text = Path("docs/how-to/play-by-rules.md").read_text(encoding="utf-8")
    said = [in_words(rule) for rule in (*rules.keep, "otherwise, roll all dice again", *rules.score)]
    assert [line.partition(". ")[2] for line in text.splitlines() if line[:1].isdigit()] == [
        f"{one[:1].upper()}{one[1:]}." for one in [*said, "otherwise, sacrifice a box"]
    ]
    assert f"score {strategy.recorded:.2f} points on average" in text
