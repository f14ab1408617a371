"""The tables and the figure of published strategies."""

import json
from pathlib import Path

import pytest
import simplicity

from yahtzee_cluster.play.strategy_files import load_strategy


def test_figure(tmp_path: Path) -> None:
    """It has a label for every strategy, and is the same each time."""
    found = [(load_strategy(name), 240.0) for name in simplicity.LABELS]
    for name in ("one.svg", "two.svg"):
        simplicity.draw(tmp_path / name, found)
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for label, _ in simplicity.LABELS.values():
        assert f"<!-- {label.splitlines()[0]} -->" in text


def test_duels(capsys: pytest.CaptureFixture[str]) -> None:
    """Each of Ecker's strategies wins about as often as he says."""
    simplicity.duels(1000)
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["name"] for one in found] == [*simplicity.AGAINST_VARIANCE]
    for one in found:
        assert one["won_first"] == pytest.approx(one["published"], abs=0.07)
        assert one["won_second"] == pytest.approx(one["published"], abs=0.07)


@pytest.mark.whole
def test_iterates(capsys: pytest.CaptureFixture[str]) -> None:
    """Both readings begin with the category means; the figures in the documentation are these."""
    simplicity.iterates(simplicity.ITERATES[:1])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == 2
    document = Path("docs/explanation/strategies.md").read_text(encoding="utf-8")
    for one in found:
        assert f"{one['mean']:.4f}" in document
