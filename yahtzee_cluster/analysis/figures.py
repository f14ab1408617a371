"""The figures of a report, labelled and readable in greyscale."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from yahtzee_cluster.analysis.comparison import STAGES
from yahtzee_cluster.analysis.findings import Findings
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.text import short

SIZE = (6.3, 3.7)
"""In inches: the width of a page's text, and the height of most figures."""
USUAL = 600
"""Linear scales end at this score, or at the highest; one game of Yahtzee in a thousand goes beyond."""
LONGEST_NAME = 24
"""The most characters of a box's name that are shown."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

BLACK: dict[str, Any] = {"color": "black", "linewidth": 1.2, "clip_on": False}
GREY: dict[str, Any] = BLACK | {"color": "0.4", "linestyle": (0, (4, 1.5))}
LIGHT: dict[str, Any] = BLACK | {"color": "0.5", "linestyle": (0, (1, 1))}

TO_REACH = "score to reach, points"

Draw = Callable[[Any, Findings], None]


def drawn(draw: Draw, findings: Findings, form: str) -> bytes:
    """A figure as SVG or PNG; the same findings make the same file."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError('report: needs matplotlib; install it with pip install "yahtzee_cluster[plot]"') from error
    settings: Any = {
        "svg.hashsalt": "yahtzee_cluster",
        "font.size": 10,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "0.9",
        "legend.frameon": False,
        "legend.borderaxespad": 0.2,
        "legend.columnspacing": 1.2,
        "text.parse_math": False,  # names are no formulas; logarithmic axes are labelled by `_plain`
    }
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # whatever the user's own figures look like
        mpl.rcParams.update(settings)
        warnings.filterwarnings("ignore", "Glyph")  # a name of a game may be more than a font can show
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure, findings)
        out = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        figure.savefig(out, format=form, dpi=200, metadata=metadata)
    return out.getvalue()


def curves(figure: Any, found: Findings) -> None:
    """The probability of at least each score, on a linear scale."""
    axes = figure.subplots()
    last = min(USUAL, found.highest)
    axes.plot(100 * found.maxprob[: last + 1], label="MaxProb", **BLACK)
    axes.plot(100 * found.expected[: last + 1], label="playing for the highest expected score", **GREY)
    axes.set(xlabel=TO_REACH, ylabel="probability of at least that score, %", xlim=(0, last), ylim=(0, 100))
    _legend(axes)


def tails(figure: Any, found: Findings) -> None:
    """The same for all scores, on a logarithmic scale."""
    axes = figure.subplots()
    last = found.highest
    for curve, style, label in (
        (found.maxprob, BLACK, "MaxProb"),
        (found.expected, GREY, "playing for the highest expected score"),
    ):
        axes.plot(np.where(curve > 0, curve, np.nan)[: last + 1], label=label, **style)
    axes.set(xlabel=TO_REACH, ylabel="probability of at least that score", xlim=(0, last))
    _logarithmic(axes)
    axes.set_ylim(top=1)
    _legend(axes)


def gain(figure: Any, found: Findings) -> None:
    """The gain in probability from playing for a score."""
    axes = figure.subplots()
    last = min(USUAL, found.highest)
    axes.plot(100 * found.gain[: last + 1], **BLACK)
    axes.set(xlabel=TO_REACH, ylabel="gained by MaxProb, percentage points", xlim=(0, last))
    axes.set_ylim(0, None if found.gain.any() else 1)


def ratio(figure: Any, found: Findings) -> None:
    """The ratio of the probabilities of a score with and without playing for it."""
    axes = figure.subplots()
    nothing = np.full_like(found.maxprob, np.nan)
    usual = found.expected[: found.target + 1]
    quotient = np.divide(found.maxprob, usual, where=usual > 0, out=nothing)[: found.highest + 1]
    axes.plot(quotient, **BLACK)
    axes.set(xlabel=TO_REACH, ylabel="how many times as likely by MaxProb", xlim=(0, found.highest))
    highest = np.nanmax(quotient)
    if highest > 10:
        _logarithmic(axes)
    axes.set_ylim(1, None if highest > 1.1 else 1.1)


def scores(figure: Any, found: Findings) -> None:
    """Mean and standard deviation of the final score when playing for a score."""
    figure.set_figheight(5)
    mean, deviation = figure.subplots(2, 1, sharex=True)
    last = found.highest
    targets = np.arange(1, last + 1)
    mean.plot(targets, found.means[1 : last + 1], label="playing for T", **BLACK)
    mean.axhline(found.means[0], label="playing for the highest expected score", **GREY)
    mean.set_ylabel("mean of the final\nscore, points")
    _legend(mean)
    deviation.plot(targets, found.deviations[1 : last + 1], **BLACK)
    deviation.axhline(found.deviations[0], **GREY)
    deviation.set(xlabel="score that is played for, T", ylabel="its standard\ndeviation, points", xlim=(0, last))


def distribution(figure: Any, found: Findings) -> None:
    """The probability of every single final score."""
    axes = figure.subplots()
    last = max(1, min(USUAL, int(np.flatnonzero(found.expected)[-1])))
    single = 100 * -np.diff(found.expected[: last + 2], append=0.0)[: last + 1]
    axes.fill_between(np.arange(last + 1), single, color="0.75", linewidth=0)
    axes.plot(single, color="black", linewidth=0.6)
    median, mean = found.percentile(0.5), found.means[0]
    axes.axvline(median, label=f"median, {median}", color="0.5", linewidth=4)
    axes.axvline(mean, label=f"mean, {mean:.1f}", **BLACK | {"linestyle": (0, (3, 1.5))})
    axes.set(xlabel="final score, points", ylabel="probability, %", xlim=(0, last))
    axes.set_ylim(bottom=0)
    _legend(axes)


def boxes(figure: Any, found: Findings) -> None:
    """Mean and standard deviation of every box and bonus."""
    names, places = _names(found), np.arange(len(found.names))
    figure.set_figheight(1 + 0.22 * len(names))
    bars = figure.subplots()
    bars.barh(places, found.box_means, color="0.8", edgecolor="black", linewidth=0.6, label="mean")
    dots = {"markersize": 5, "markeredgecolor": "white", "clip_on": False, "zorder": 3}
    bars.plot(found.deviation_of_boxes, places, "o", color="black", label="standard deviation", **dots)
    bars.set_yticks(places, names, fontsize=9)
    bars.tick_params(axis="y", length=0)
    bars.grid(visible=False, axis="y")
    bars.set(xlabel="points", xlim=(0, None if found.box_means.any() else 1), ylim=(len(names) - 0.4, -0.6))
    _legend(bars, reverse=True)


def correlations(figure: Any, found: Findings) -> None:
    """The correlations of boxes and bonuses, each pair once, below the diagonal."""
    names, places = _names(found), np.arange(len(found.names))
    figure.set_figheight(0.6 + 0.125 * max(map(len, names)) + 0.27 * len(names))
    matrix = figure.subplots()
    both = np.outer(found.deviation_of_boxes, found.deviation_of_boxes)
    correlation = np.divide(found.covariances, both, where=both > 0, out=np.zeros_like(both))
    pairs = np.tri(len(names), k=-1, dtype=bool)
    matrix.imshow(np.where(pairs, np.abs(correlation), 0), cmap="Greys", vmin=0, vmax=1)
    for row, column in np.argwhere(pairs & (np.abs(correlation) >= 0.05)):
        value = correlation[row, column]
        shown = f"{100 * value:.0f}".replace("-", "−")
        color = "white" if abs(value) > 0.5 else "black"
        matrix.text(column, row, shown, ha="center", va="center", fontsize=8, color=color)
    matrix.set_xticks(places, names, rotation=90, fontsize=9)
    matrix.set_yticks(places, names, fontsize=9)
    matrix.set_xticks(places - 0.5, minor=True)
    matrix.set_yticks(places - 0.5, minor=True)
    matrix.tick_params(which="both", length=0)
    matrix.set_title("correlation, % (from 5 % on)")
    matrix.spines[["top", "right"]].set_visible(False)
    matrix.grid(visible=False, which="major")
    matrix.grid(which="minor")


def parting(figure: Any, found: Findings) -> None:
    """Where playing for a score and for the expected score differ."""
    assert found.comparison
    by_mean, _ = found.comparison
    figure.set_figheight(5.5)
    share, cost = figure.subplots(2, 1, sharex=True)
    turns = np.arange(1, len(by_mean.taken) + 1)
    for stage, (name, style) in enumerate(zip(STAGES, (BLACK, GREY, LIGHT), strict=True)):
        taken = by_mean.taken[:, stage]
        part = np.divide(by_mean.otherwise[:, stage], taken, where=taken > 0, out=np.full_like(taken, np.nan))
        share.plot(turns, 100 * part, label=name, marker="os^"[stage], markersize=3.5, **style)
    share.set(ylabel="decided otherwise by MaxProb, %", ylim=(0, None if by_mean.otherwise.any() else 1))
    bottom = np.zeros(len(turns))
    for stage, (name, color) in enumerate(zip(STAGES, ("0.25", "0.6", "0.9"), strict=True)):
        height = 100 * by_mean.cost[:, stage]
        cost.bar(turns, height, bottom=bottom, color=color, edgecolor="black", linewidth=0.5, label=name)
        bottom += height
    cost.set_ylabel(f"chance of at least {found.compared_for}\ngiven away, percentage points")
    cost.set_ylim(0, 1.05 * bottom.max() or 1)
    cost.grid(visible=False, axis="x")
    cost.set(xlabel="turn", xlim=(0.4, len(turns) + 0.6), xticks=turns)
    for axes in (share, cost):
        _legend(axes)


def _names(found: Findings) -> list[str]:
    return [short(name, LONGEST_NAME) for name in found.names]


def _legend(axes: Any, **style: Any) -> None:
    """Put the legend in one line above a plot, where it hides no data."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, **style)


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
