"""The figures of a report as they are drawn: which text they show, where it stands, and that it can be read."""

import math
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
from yahtzee_cluster.analysis.captions import numbered
from yahtzee_cluster.analysis.findings import Another, Findings, find
from yahtzee_cluster.objectives.goals import parse_goal
from yahtzee_cluster.play.strategies import OfGoal
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
    area: figures.Area | None = None


@pytest.fixture(scope="module", params=GAMES)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    rules, target, compared_for = GAMES[request.param]
    table = computed(rules, tmp_path_factory.mktemp("figures") / "table", "scores", target)
    goal = parse_goal("power:2")
    return find(
        table, compared_for, Another("goal", str(goal), f"playing for {goal.words}", OfGoal(goal).played(table.rules))
    )


@pytest.fixture(scope="module", params=figures.WIDTHS)
def width(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def drawings(found: Findings, width: str) -> dict[figures.Draw, Drawn]:
    """All figures of a game, each watched while it is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        return {draw: watched(draw, found, width, patch) for draw in numbered(found)}


def watched(draw: figures.Draw, found: Findings, width: str, patch: pytest.MonkeyPatch) -> Drawn:
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
    result.area = figures.drawn(draw_and_note, found, "png", width).area
    patch.setattr(Text, "draw", paint)
    assert result.texts
    return result


def names_shown(found: Findings, width: str) -> list[str]:
    return [short(name, figures.LONGEST_NAME[width]) for name in found.names]


def test_text_is_plain(drawings: dict[figures.Draw, Drawn], found: Findings, width: str) -> None:
    """No text shows the source of a formula; only names may hold its characters, and they are shown as they are."""
    names = names_shown(found, width)
    for drawn in drawings.values():
        for text in drawn.texts:
            assert not text.get_parse_math()
            lines = [line for line in text.get_text().split("\n") if line not in names]
            assert not set("".join(lines)) & set("$\\{}^_"), text


def test_names_are_shown_literally(drawings: dict[figures.Draw, Drawn], found: Findings, width: str) -> None:
    """The figure of the boxes shows every name, a dollar sign as a dollar sign."""
    names = names_shown(found, width)
    assert {*names} <= {text.get_text() for text in drawings[figures.boxes].texts}
    svg = figures.drawn(figures.boxes, found, "svg", width).content.decode()
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
    for draw in (figures.logarithmic, figures.relative):
        (axes,) = drawings[draw].axes
        if axes.get_yscale() == "log":
            ticks = axes.get_yticklabels(which="both")
            labels = [text.get_text() for text in drawings[draw].texts if text in ticks]
            assert all(PLAIN.fullmatch(label) or POWER.fullmatch(label) for label in labels), labels
            assert len(labels) >= 3 or set(found.maxprob) <= {0, 1}, labels


def test_axes_of_scores(drawings: dict[figures.Draw, Drawn], found: Findings) -> None:
    """Cremers' figures go to 800 or to the highest score; what is said of where a plot is, a pointer can be read by."""
    last = min(800, found.highest)
    for draw in (figures.maxprob, figures.curves, figures.logarithmic, figures.gain, figures.relative):
        assert {axes.get_xlim() for axes in drawings[draw].axes} == {(0, last)}
    assert not found.maxprob[found.highest + 1 :].any()
    for drawn in drawings.values():
        over_scores = [(axes, plot) for axes, plot in zip(drawn.axes, drawn.plots, strict=True) if axes.get_label()]
        assert bool(over_scores) == bool(drawn.area)
        for axes, plot in over_scores:
            assert drawn.area
            assert axes.get_xlim() == (0, drawn.area.last)
            shares = (plot.x0 / drawn.canvas.width, plot.x1 / drawn.canvas.width)
            assert shares == pytest.approx((drawn.area.left, drawn.area.right), abs=1e-3)


def test_difference_is_relative_as_defined(found: Findings) -> None:
    """Figure 6.5 shows (MaxProb − OptExpected) / OptExpected, wherever the latter is not 0."""
    for best, usual, relative in zip(found.maxprob, found.expected, found.relative_gain, strict=False):
        if usual:
            assert relative == pytest.approx((best - usual) / usual, abs=1e-9 / usual)
        else:
            assert math.isnan(relative)


def luminance(color: str) -> float:
    """The relative luminance of a colour, as WCAG 2 defines it."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_contrast(theme: int) -> None:
    """Text and lines stand out from the paper at 4.5 to 1; fills that adjoin each other differ in grey as well."""
    colors = {name: both[theme] for name, both in figures.PALETTE.items()}
    assert all(contrast(colors[name], colors["paper"]) >= 4.5 for name in ("ink", "best", "mean", "third", "deep"))
    assert contrast(colors["deep"], colors["middle"]) > 2
    assert contrast(colors["middle"], colors["pale"]) > 2


def test_lines_differ_in_more_than_colour() -> None:
    """Lines that share a plot differ in their dashes, so that they are told apart in grey."""
    assert len({style.get("linestyle") for style in (figures.BEST, figures.MEAN, figures.THIRD)}) == 3
