"""The figures of a report as they are drawn: which text they show, where it stands, and that it can be read."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from launch import computed
from matplotlib.axes import Axes
from matplotlib.backend_bases import DrawEvent
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from yahtzee_cluster.analysis import figures
from yahtzee_cluster.analysis.findings import Findings, find
from yahtzee_cluster.analysis.report import FIGURES
from yahtzee_cluster.text import short

STRANGE = """
    name = "strange"
    upper_threshold = 10
    upper_bonus = 20
    [[category]]
    name = "$x_1$"
    face = 1
    [[category]]
    name = '\\frac{1}{2}'
    face = 2
    [[category]]
    name = "%"
    groups = [3]
    points = "sum"
    [[category]]
    name = "=cmd|' /C calc'!A0"
    groups = [3, 2]
    points = 25
    [[category]]
    name = "größter Überstraßenbonus"
    faces = [1, 2, 3, 4, 5]
    points = 40
    [[category]]
    name = "a name so long that it can hardly be anything but a mistake"
    run = 4
    points = 30
"""
CERTAIN = """
    name = "certain"
    [[category]]
    name = "always the same"
    points = 7
    [[category]]
    name = "the same again"
    points = 7
"""
CROWDED = 'name = "crowded"\n' + "".join(
    f'[[category]]\nname = "{number:2}: another long name"\n{pattern}\n'
    for number, pattern in enumerate(["face = 6", *["points = 9"] * 10])
)
WIDE = CERTAIN.replace("always the same", "W" * 50).replace("the same again", "盒" * 50)
GAMES = {
    "yacht": ("yacht", 300, 200),
    "strange": (STRANGE, 400, 60),
    "certain": (CERTAIN, 20, 14),
    "worthless": (CERTAIN.replace("7", "0"), 5, 1),
    "crowded": (CROWDED, 30, 20),
    "wide": (WIDE, 20, 14),
}
"""Rules, the target of the table, and the score to compare for."""
POWER = re.compile("([25]·)?10⁻?[⁰¹²³⁴-⁹]+")
PLAIN = re.compile("[125]0{0,3}|0\\.0?[125]")
SMALLEST = 8
"""The smallest type, in points, at the size of the printed figure."""


@dataclass
class Drawn:
    """What one figure shows: its texts and where they stand, in pixels of its canvas."""

    canvas: Bbox = field(default_factory=Bbox.null)
    texts: dict[Text, Bbox] = field(default_factory=dict)
    axes: list[Axes] = field(default_factory=list)
    plots: list[Bbox] = field(default_factory=list)
    legends: list[Bbox] = field(default_factory=list)


@pytest.fixture(scope="module", params=GAMES)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    rules, target, compared_for = GAMES[request.param]
    return find(computed(rules, tmp_path_factory.mktemp("figures") / "table", "scores", target), compared_for)


@pytest.fixture(scope="module")
def drawings(found: Findings) -> dict[figures.Draw, Drawn]:
    """All figures of a game, each watched while it is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        return {draw: watched(draw, found, patch) for draw in FIGURES}


def watched(draw: figures.Draw, found: Findings, patch: pytest.MonkeyPatch) -> Drawn:
    """What is on the canvas when a figure is written as PNG."""
    seen: list[Text] = []
    result = Drawn()
    paint: Callable[..., None] = Text.draw

    def note(text: Text, renderer: Any) -> None:
        seen.append(text)
        paint(text, renderer)

    def finish(event: Any) -> None:
        """Keep what was drawn last: the layout takes a first drawing for itself."""
        assert isinstance(event, DrawEvent)
        figure = event.canvas.figure
        shown = [text for text in seen if text.get_visible() and text.get_text()]
        result.texts = {text: text.get_window_extent(event.renderer) for text in shown}
        result.canvas, result.axes = figure.bbox.frozen(), figure.axes
        result.plots = [axes.get_window_extent().frozen() for axes in figure.axes]
        legends = [legend for axes in figure.axes if (legend := axes.get_legend())]
        result.legends = [legend.get_window_extent(event.renderer) for legend in legends]
        seen.clear()

    def draw_and_note(figure: Any, found: Findings) -> None:
        draw(figure, found)
        figure.canvas.mpl_connect("draw_event", finish)

    patch.setattr(Text, "draw", note)
    figures.drawn(draw_and_note, found, "png")
    patch.setattr(Text, "draw", paint)
    assert result.texts
    return result


def test_text_is_plain(drawings: dict[figures.Draw, Drawn], found: Findings) -> None:
    """No text shows the source of a formula; only names may hold its characters, and they are shown as they are."""
    names = [short(name, figures.LONGEST_NAME) for name in found.names]
    for drawn in drawings.values():
        for text in drawn.texts:
            assert not text.get_parse_math()
            assert text.get_text() in names or not set(text.get_text()) & set("$\\{}^_"), text


def test_names_are_shown_literally(drawings: dict[figures.Draw, Drawn], found: Findings) -> None:
    """Figures with names show every one of them, a dollar sign as a dollar sign."""
    names = [short(name, figures.LONGEST_NAME) for name in found.names]
    for draw in (figures.boxes, figures.correlations):
        assert {*names} <= {text.get_text() for text in drawings[draw].texts}
        svg = figures.drawn(draw, found, "svg").decode()
        for name in names:
            glyphs = svg.partition(f"<!-- {name} -->")[2].partition("</g>")[0].count("<use ")
            assert glyphs == len(name) or name.isalpha(), name  # the letters fi are one glyph


def test_text_is_inside_and_apart(drawings: dict[figures.Draw, Drawn]) -> None:
    """No text leaves the canvas, and no two texts overlap."""
    for drawn in drawings.values():
        for text, box in drawn.texts.items():
            assert drawn.canvas.x0 <= box.x0 <= box.x1 <= drawn.canvas.x1, text
            assert drawn.canvas.y0 <= box.y0 <= box.y1 <= drawn.canvas.y1, text
        for (one, here), (other, there) in combinations(drawn.texts.items(), 2):
            assert not here.overlaps(there), (one, other)


def test_text_is_large_enough(drawings: dict[figures.Draw, Drawn]) -> None:
    """Nothing is set in smaller type than can be read in print."""
    for drawn in drawings.values():
        assert min(text.get_fontproperties().get_size_in_points() for text in drawn.texts) >= SMALLEST


def test_legends_hide_no_data(drawings: dict[figures.Draw, Drawn]) -> None:
    """Every legend is complete, and stands beside the plots, which keep a good part of the width."""
    for drawn in drawings.values():
        for legend in drawn.legends:
            assert not any(legend.overlaps(plot.shrunk(0.99, 0.99)) for plot in drawn.plots)
            assert drawn.canvas.x0 <= legend.x0 <= legend.x1 <= drawn.canvas.x1
            assert all(plot.width > 0.4 * drawn.canvas.width for plot in drawn.plots)


def test_logarithmic_axes_are_labelled(drawings: dict[figures.Draw, Drawn], found: Findings) -> None:
    """On a logarithmic axis every label is a plain number or a power of ten, and there are several."""
    for draw in (figures.tails, figures.ratio):
        (axes,) = drawings[draw].axes
        if axes.get_yscale() == "log":
            ticks = axes.get_yticklabels(which="both")
            labels = [text.get_text() for text in drawings[draw].texts if text in ticks]
            assert all(PLAIN.fullmatch(label) or POWER.fullmatch(label) for label in labels), labels
            assert len(labels) >= 3 or set(found.maxprob) <= {0, 1}, labels


def test_axes_of_scores_end_at_the_highest(drawings: dict[figures.Draw, Drawn], found: Findings) -> None:
    """However far the table goes, no axis of scores goes beyond the highest score there is."""
    for draw in (figures.curves, figures.tails, figures.gain, figures.ratio, figures.scores):
        assert {axes.get_xlim() for axes in drawings[draw].axes} == {(0, found.highest)}
    assert not found.maxprob[found.highest + 1 :].any()
