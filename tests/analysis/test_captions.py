"""The texts of a report's figures: they say what the game at hand has, and nothing that it has not."""

import numpy as np
import pytest

from yahtzee_cluster.analysis import figures
from yahtzee_cluster.analysis.captions import WORDS, boxes_and_bonuses, numbered, percent
from yahtzee_cluster.analysis.findings import Findings
from yahtzee_cluster.analysis.statistics import Currencies
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.possible_scores import highest_score
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names
from yahtzee_cluster.game.rules import Rules

ONLY_EXTRA = """
    name = "only extra"
    extra_bonus = 50
    yahtzee = "five"
    [[category]]
    name = "five"
    groups = [5]
    points = 30
    [[category]]
    name = "any"
    points = "sum"
"""


def with_made_up_figures(rules: Rules, correlation: float = 0.5) -> Findings:
    """Findings whose boxes, bonuses and scores are those of a game, and whose probabilities are made up."""
    anchors = Anchors(rules)
    currencies, highest = Currencies.of(compile_moves(rules), anchors.bonus), highest_score(anchors)
    expected = 1 - np.arange(highest + 1) / (highest + 1)
    n = len(currencies.names)
    spreads = [(np.array([0.0, 10.0]), np.array([0.3, 0.7])) if once else None for once in currencies.once]
    return Findings(
        rules=rules,
        maxprob=np.sqrt(expected),
        expected=expected,
        means=np.linspace(100, 90, highest + 1),
        deviations=np.linspace(10, 20, highest + 1),
        names=currencies.names,
        box_means=np.full(n, 7.0),
        box_distributions=tuple(spreads),
        covariances=np.full((n, n), correlation) + (1 - correlation) * np.eye(n),
        table_sha256="",
        computed_on=None,
        compared_for=None,
        another=None,
        comparison=None,
    )


def captions(found: Findings) -> dict[str, str]:
    """The captions of all figures of a game."""
    return {draw.__name__: WORDS[draw](found).caption for draw in numbered(found)}


@pytest.mark.parametrize("name", [*preset_names(), "only extra"])
def test_captions_fit_the_game(name: str) -> None:
    """A caption speaks of a bonus if and only if the game has it, and of no score beyond the highest."""
    rules = parse_rules(ONLY_EXTRA, "test") if name == "only extra" else load_rules(name)
    found = with_made_up_figures(rules)
    texts = captions(found)
    text = " ".join([*texts.values(), boxes_and_bonuses(found)])
    assert ("upper bonus" in text) == ("upper bonus" in texts["boxes"]) == (rules.upper_bonus > 0)
    assert ("extra bonus" in text) == ("several times" in texts["boxes"]) == (rules.extra_bonus > 0)
    assert ("bonus" in text) == bool(rules.upper_bonus or rules.extra_bonus)
    highest = highest_score(Anchors(rules))
    assert f"from 0 to {min(figures.THESIS, highest)}," in texts["maxprob"]
    assert f"up to {min(figures.USUAL, highest)} " in texts["distribution"]
    assert ("tails" in texts) == (highest > figures.THESIS)
    assert list(numbered(found).values()) == [f"6.{number}" for number in range(1, len(texts) + 1)]
    assert "nan" not in text


def test_presets_differ_in_their_bonuses() -> None:
    """Among the built-in games are some with both bonuses, with the upper one only, and with none."""
    kinds = {boxes_and_bonuses(with_made_up_figures(load_rules(name))) for name in preset_names()}
    both = "the boxes, the upper bonus and the extra bonus"
    assert kinds == {"the boxes", "the boxes and the upper bonus", both}


def test_correlations_that_are_not_shown() -> None:
    """The caption says how many correlations are shown, and of no others that there are not."""
    yacht, small = load_rules("yacht"), parse_rules(ONLY_EXTRA, "test")
    twelve, none, all_of_them = (
        captions(with_made_up_figures(*of))["correlations"] for of in ((yacht,), (yacht, 0.01), (small,))
    )
    assert twelve.endswith(f": the 12 strongest of 66. None of the others exceeds {percent(0.5)} in size.")
    assert none.endswith(f": none of 66 exceeds {percent(0.05)} in size.")
    assert all_of_them.endswith(": all 3, the strongest first.")
