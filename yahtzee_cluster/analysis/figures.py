"""The figures of a report: labelled, in colours that differ in grey and for the colour-blind, for page and print."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from yahtzee_cluster.analysis.comparison import STAGES
from yahtzee_cluster.analysis.findings import Findings
from yahtzee_cluster.errors import needs
from yahtzee_cluster.text import short

PALETTE = {
    "ink": ("#1b1f24", "#e6e8ea"),
    "paper": ("#ffffff", "#15181c"),
    "grid": ("#e3e5e8", "#2f353c"),
    "best": ("#0a4a8f", "#7fbfff"),
    "mean": ("#a8440b", "#ffab66"),
    "third": ("#5a5f66", "#a9b0b8"),
    "deep": ("#2f4256", "#d3dfeb"),
    "middle": ("#8296ab", "#7f93a7"),
    "pale": ("#d5dee8", "#3b4856"),
}
"""Every colour by name, on light and on dark paper. Lines that share a plot also differ in their dashes."""

WIDTHS = {"wide": (6.3, 3.7, 10), "narrow": (3.9, 3.4, 9)}
"""Width and height in inches and type size in points: for a printed page or a screen, and for a phone."""
THESIS = 800
"""Cremers' figures end at this score."""
USUAL = 600
"""The distribution ends at this score, or at the highest; one game of Yahtzee in a thousand goes beyond."""
LONGEST_NAME = {"wide": 24, "narrow": 16}
"""The most characters of a box's name that are shown."""
SHOWN_PAIRS = 12
"""The most pairs of boxes whose correlation is shown, and the least correlation of a pair that is shown."""
LEAST_CORRELATION = 0.05
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

INK, PAPER, DEEP, MIDDLE, PALE = (PALETTE[name][0] for name in ("ink", "paper", "deep", "middle", "pale"))
BEST: dict[str, Any] = {"color": PALETTE["best"][0], "linewidth": 1.5, "clip_on": False}
MEAN: dict[str, Any] = BEST | {"color": PALETTE["mean"][0], "linestyle": (0, (4, 1.5))}
THIRD: dict[str, Any] = BEST | {"color": PALETTE["third"][0], "linestyle": (0, (1, 1))}

TO_REACH = "score to reach, points"
OVER_SCORES = "over-scores"
"""Marks the axes whose horizontal axis is the score."""
FOR_MEAN = "playing for the highest expected score"

Draw = Callable[[Any, Findings], None]


@dataclass(frozen=True)
class Area:
    """The rectangle between the axes of a plot over scores, as shares of the figure from its upper left corner."""

    left: float
    right: float
    top: float
    bottom: float
    last: int
    """The score at the right end; 0 is at the left end."""


@dataclass(frozen=True)
class Drawing:
    """A figure as a file, and where its plots over scores are, if it has any."""

    content: bytes
    area: Area | None


def drawn(draw: Draw, findings: Findings, form: str, width: str = "wide") -> Drawing:
    """A figure as SVG or PNG; the same findings make the same file."""
    with needs("report", "matplotlib", extra="plot"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
    across, high, type_size = WIDTHS[width]
    ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    settings: Any = {
        **dict.fromkeys(ink, INK),
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "svg.hashsalt": "yahtzee_cluster",
        "font.size": type_size,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": PALETTE["grid"][0],
        "legend.frameon": False,
        "legend.borderaxespad": 0.2,
        "legend.columnspacing": 1.2,
        "text.parse_math": False,  # names are no formulas; logarithmic axes are labelled by `_plain`
    }
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # whatever the user's own figures look like
        mpl.rcParams.update(settings)
        warnings.filterwarnings("ignore", "Glyph")  # a name of a game may be more than a font can show
        figure = Figure(figsize=(across, high), layout="constrained")
        draw(figure, findings)
        out = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(out, format=form, dpi=200, metadata=metadata)
    return Drawing(out.getvalue(), _area(figure))


def last_of_thesis(found: Findings) -> int:
    """The last score of figures 6.1 to 6.5."""
    return min(THESIS, found.highest)


def last_usual(found: Findings) -> int:
    """The last score of the distribution."""
    return max(1, min(USUAL, int(np.flatnonzero(found.expected)[-1])))


def maxprob(figure: Any, found: Findings) -> None:
    """The highest probability of at least each score."""
    axes = figure.subplots()
    last = last_of_thesis(found)
    axes.plot(100 * found.maxprob[: last + 1], **BEST)
    axes.set(ylabel="probability of at least that score, %", ylim=(0, 100))
    _over_scores(axes, last)


def curves(figure: Any, found: Findings) -> None:
    """The same, and the probability when playing for the highest expected score."""
    axes = figure.subplots()
    _both(axes, found, last_of_thesis(found), 100)
    axes.set(ylabel="probability of at least that score, %", ylim=(0, 100))


def logarithmic(figure: Any, found: Findings) -> None:
    """Both on a logarithmic scale."""
    _both_logarithmic(figure, found, last_of_thesis(found))


def tails(figure: Any, found: Findings) -> None:
    """The same up to the highest score."""
    _both_logarithmic(figure, found, found.highest)


def gain(figure: Any, found: Findings) -> None:
    """The absolute difference of the two probabilities."""
    axes = figure.subplots()
    last = last_of_thesis(found)
    axes.plot(100 * found.gain[: last + 1], **BEST)
    axes.set_ylabel("gained by MaxProb, percentage points")
    axes.set_ylim(0, None if found.gain.any() else 1)
    _over_scores(axes, last)


def relative(figure: Any, found: Findings) -> None:
    """The difference of the two probabilities, relative to that when playing for the highest expected score."""
    axes = figure.subplots()
    last = last_of_thesis(found)
    gained = 100 * found.relative_gain[: last + 1]
    highest = np.nanmax(gained)
    logarithmic = highest > 1000
    axes.plot(np.where(gained >= 1, gained, np.nan) if logarithmic else gained, **BEST)
    axes.set_ylabel("gained by MaxProb, relative, %")
    _over_scores(axes, last)
    if logarithmic:
        axes.set_ylim(1, 2 * highest)
        _logarithmic(axes)
    else:
        axes.set_ylim(0, None if highest > 0 else 1)


def distribution(figure: Any, found: Findings) -> None:
    """The probability of every single final score."""
    axes = figure.subplots()
    last = last_usual(found)
    single = 100 * -np.diff(found.expected[: last + 2], append=0.0)[: last + 1]
    axes.fill_between(np.arange(last + 1), single, color=PALE, linewidth=0)
    axes.plot(single, color=DEEP, linewidth=0.6)
    median, mean = found.percentile(0.5), found.means[0]
    axes.axvline(median, label=f"median, {median}", **BEST)
    axes.axvline(mean, label=f"mean, {mean:.1f}", **MEAN)
    axes.set(ylabel="probability, %")
    axes.set_ylim(bottom=0)
    _over_scores(axes, last, "final score, points")
    _legend(axes)


def scores(figure: Any, found: Findings) -> None:
    """Mean and standard deviation of the final score when playing for a score."""
    figure.set_figheight(5)
    mean, deviation = figure.subplots(2, 1, sharex=True)
    last = found.highest
    targets = np.arange(1, last + 1)
    mean.plot(targets, found.means[1 : last + 1], label="playing for T", **BEST)
    mean.axhline(found.means[0], label=FOR_MEAN, **MEAN)
    mean.set_ylabel("mean of the final\nscore, points")
    _over_scores(mean, last, "")
    _legend(mean)
    deviation.plot(targets, found.deviations[1 : last + 1], **BEST)
    deviation.axhline(found.deviations[0], **MEAN)
    deviation.set_ylabel("its standard\ndeviation, points")
    _over_scores(deviation, last, "score that is played for, T")


def boxes(figure: Any, found: Findings) -> None:
    """The distribution of what every box and bonus brings: a row each, scaled to its tallest bar."""
    rows = [(row, spread) for row, spread in enumerate(found.box_distributions) if spread]
    names = _names(figure, found)
    figure.set_figheight(1.1 + 0.3 * len(rows))
    axes = figure.subplots()
    most = 1.0
    for place, (row, (points, chances)) in enumerate(rows):
        axes.vlines(points, place, place - 0.8 * chances / chances.max(), color=DEEP, linewidth=2.2)
        most = max(most, *points)
        label = {"label": "mean"} if not place else {}
        axes.plot(found.box_means[row], place, "^", color=MEAN["color"], markersize=5.5, clip_on=False, **label)
    axes.set_yticks(range(len(rows)), [names[row] for row, _ in rows], fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="points", xlim=(-0.02 * most, 1.02 * most), ylim=(len(rows) - 0.6, -1))
    _legend(axes)


def correlations(figure: Any, found: Findings) -> None:
    """The pairs of boxes and bonuses that correlate most."""
    pairs = found.correlated(LEAST_CORRELATION)[:SHOWN_PAIRS]
    names, places = _names(figure, found), np.arange(len(pairs))
    figure.set_figheight(1 + 0.38 * max(1, len(pairs)))
    axes = figure.subplots()
    percent = 100 * np.array([value for _, _, value in pairs])
    for sign, style in ((1, BEST), (-1, MEAN)):
        some = percent * sign > 0
        axes.barh(places[some], percent[some], height=0.6, color=style["color"])
    for place, value in zip(places, percent, strict=True):
        side = np.sign(value)
        shown = f"{value:+.0f}".replace("-", "−")
        ends = {"ha": "left" if side > 0 else "right", "va": "center", "fontsize": 9}
        axes.annotate(shown, (value, place), (4 * side, 0), textcoords="offset points", **ends)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(places, [f"{names[one]}\n{names[other]}" for one, other, _ in pairs], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    low = min([*percent, 0])
    high = max([*percent, low + 10])
    room = 0.15 * (high - low)
    axes.set(xlabel="correlation, %", xlim=(low - room * (low < 0), high + room), ylim=(max(len(pairs), 1) - 0.4, -0.6))


def goal(figure: Any, found: Findings) -> None:
    """The probability of at least each score when playing in another way, and for the highest expected score."""
    assert found.another
    axes = figure.subplots()
    last = last_usual(found)
    for curve, style, label in (
        (found.another.games.curve, BEST, found.another.short),
        (found.expected, MEAN, FOR_MEAN),
    ):
        axes.plot(100 * np.pad(curve, (0, last))[: last + 1], label=label, **style)
    axes.set(ylabel="probability of at least that score, %", ylim=(0, 100))
    _over_scores(axes, last)
    _legend(axes)


def parting(figure: Any, found: Findings) -> None:
    """Where playing for a score and for the expected score differ."""
    assert found.comparison
    by_mean, _ = found.comparison
    figure.set_figheight(5.5)
    share, cost = figure.subplots(2, 1, sharex=True)
    turns = np.arange(1, len(by_mean.taken) + 1)
    for stage, (name, style) in enumerate(zip(STAGES, (BEST, MEAN, THIRD), strict=True)):
        taken = by_mean.taken[:, stage]
        part = np.divide(by_mean.otherwise[:, stage], taken, where=taken > 0, out=np.full_like(taken, np.nan))
        share.plot(turns, 100 * part, label=name, marker="os^"[stage], markersize=4, **style)
    share.set(ylabel="decided otherwise by MaxProb, %", ylim=(0, None if by_mean.otherwise.any() else 1))
    bottom = np.zeros(len(turns))
    for stage, (name, color) in enumerate(zip(STAGES, (DEEP, MIDDLE, PALE), strict=True)):
        height = 100 * by_mean.cost[:, stage]
        cost.bar(turns, height, bottom=bottom, color=color, edgecolor=INK, linewidth=0.5, label=name)
        bottom += height
    cost.set_ylabel(f"chance of at least {found.compared_for}\ngiven away, percentage points")
    cost.set_ylim(0, 1.05 * bottom.max() or 1)
    cost.grid(visible=False, axis="x")
    cost.set(xlabel="turn", xlim=(0.4, len(turns) + 0.6), xticks=turns)
    for axes in (share, cost):
        _legend(axes)


def _both(axes: Any, found: Findings, last: int, scale: float) -> None:
    """Both probabilities of at least each score, where they are not 0."""
    for curve, style, label in ((found.maxprob, BEST, "MaxProb"), (found.expected, MEAN, FOR_MEAN)):
        axes.plot(scale * np.where(curve > 0, curve, np.nan)[: last + 1], label=label, **style)
    _over_scores(axes, last)
    _legend(axes)


def _both_logarithmic(figure: Any, found: Findings, last: int) -> None:
    axes = figure.subplots()
    _both(axes, found, last, 1)
    axes.set_ylabel("probability of at least that score")
    _logarithmic(axes)
    axes.set_ylim(top=1)


def _over_scores(axes: Any, last: int, label: str = TO_REACH) -> None:
    axes.set(xlim=(0, last), xlabel=label, label=OVER_SCORES)


def _area(figure: Any) -> Area | None:
    plots = [axes for axes in figure.axes if axes.get_label() == OVER_SCORES]
    if not plots:
        return None
    places = [axes.get_position() for axes in plots]
    top, bottom = 1 - max(place.y1 for place in places), 1 - min(place.y0 for place in places)
    return Area(places[0].x0, places[0].x1, top, bottom, int(plots[0].get_xlim()[1]))


def _names(figure: Any, found: Findings) -> Sequence[str]:
    return [short(name, LONGEST_NAME["narrow" if _is_narrow(figure) else "wide"]) for name in found.names]


def _is_narrow(figure: Any) -> bool:
    return bool(figure.get_figwidth() < WIDTHS["wide"][0])


def _legend(axes: Any) -> None:
    """Put the legend above a plot, where it hides no data; in one line if there is room."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1 if _is_narrow(axes.figure) else 3)


def _logarithmic(axes: Any) -> None:
    """Make the vertical axis of a plot logarithmic; over few decades, label 2 and 5 as well."""
    from matplotlib.ticker import LogLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    few = high < 1e4 * low
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axes.yaxis.set_major_formatter(_plain)
    axes.yaxis.set_minor_formatter("")


def _plain(value: float, _: Any) -> str:
    """The label of a tick on a logarithmic axis, as text that no formula is needed for: 0.05, 200, 10⁻³, 5·10⁴."""
    if 0.01 <= value <= 1000:
        return f"{value:g}"
    digit, exponent = f"{value:.0e}".split("e")
    power = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return power if digit == "1" else f"{digit}·{power}"
