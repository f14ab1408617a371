"""The figures of a report: labelled, readable in grey, fit for a thesis."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from yahtzee_cluster.errors import UsageError, short
from yahtzee_cluster.findings import Findings
from yahtzee_cluster.likeness import STAGES

SIZE = (6.3, 3.7)
"""In inches: the width of a page's text."""

BLACK: dict[str, Any] = {"color": "black", "linewidth": 1.2}
GREY: dict[str, Any] = {"color": "0.45", "linewidth": 1.2, "linestyle": (0, (4, 1.5))}
LIGHT: dict[str, Any] = {"color": "0.65", "linewidth": 1.2, "linestyle": (0, (1, 1))}

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
        "font.size": 9,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "0.9",
        "legend.framealpha": 1,
        "legend.edgecolor": "none",
        "legend.fancybox": False,
        "text.parse_math": False,
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
    """How likely every score is, where most games end."""
    axes = figure.subplots()
    last = min(500, found.target)
    axes.plot(100 * found.maxprob[: last + 1], label="MaxProb: the best chance of each score", **BLACK)
    axes.plot(100 * found.expected[: last + 1], label="playing for the highest expected score", **GREY)
    axes.set(xlabel="final score, at least so many points", ylabel="probability, %", xlim=(0, last), ylim=(0, 102))
    axes.legend()


def tails(figure: Any, found: Findings) -> None:
    """The same for high scores."""
    axes = figure.subplots()
    usual = found.expected[: found.target + 1]
    for curve, style, label in ((found.maxprob, BLACK, "MaxProb"), (usual, GREY, "highest expected score")):
        axes.semilogy(np.where(curve > 0, curve, np.nan), label=label, **style)
    axes.set(xlabel="final score, at least so many points", ylabel="probability", xlim=(0, found.target))
    axes.legend()


def gain(figure: Any, found: Findings) -> None:
    """What there is to gain by playing for a score."""
    axes = figure.subplots()
    last = min(800, found.target)
    axes.plot(100 * found.gain[: last + 1], **BLACK)
    axes.set(
        xlabel="final score, at least so many points", ylabel="gained by MaxProb, percentage points", xlim=(0, last)
    )
    axes.set_ylim(bottom=0)


def ratio(figure: Any, found: Findings) -> None:
    """How many times more likely a score gets."""
    from matplotlib.ticker import LogLocator

    axes = figure.subplots()
    nothing = np.full_like(found.maxprob, np.nan)
    usual = found.expected[: found.target + 1]
    quotient = np.divide(found.maxprob, usual, where=usual > 0, out=nothing)
    axes.plot(quotient, **BLACK)
    axes.set(
        xlabel="final score, at least so many points", ylabel="MaxProb / highest expected score", xlim=(0, found.target)
    )
    if np.nanmax(quotient) > 3:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")


def scores(figure: Any, found: Findings) -> None:
    """What is scored by who plays for a score."""
    mean, deviation = figure.subplots(2, 1, sharex=True)
    mean.plot(np.arange(1, found.target + 1), found.means[1:], **BLACK)
    mean.axhline(found.means[0], label="highest expected score", **LIGHT)
    mean.set_ylabel("mean of the final\nscore, points")
    mean.legend()
    deviation.plot(np.arange(1, found.target + 1), found.deviations[1:], **BLACK)
    deviation.axhline(found.deviations[0], **LIGHT)
    deviation.set(
        xlabel="score that is played for, T", ylabel="its standard\ndeviation, points", xlim=(0, found.target)
    )


def distribution(figure: Any, found: Findings) -> None:
    """The probability of every single final score."""
    axes = figure.subplots()
    last = min(600, len(found.expected) - 1)
    single = 100 * -np.diff(np.append(found.expected, 0.0))[: last + 1]
    axes.fill_between(np.arange(last + 1), single, color="0.75", linewidth=0)
    axes.plot(single, color="black", linewidth=0.6)
    median = found.percentile(0.5)
    axes.axvline(median, label=f"median, {median}", **GREY)
    axes.axvline(found.means[0], label=f"mean, {found.means[0]:.1f}", **BLACK | {"linestyle": (0, (1, 1))})
    axes.legend()
    axes.set(xlabel="final score, points", ylabel="probability, %", xlim=(0, last))
    axes.set_ylim(bottom=0)


def boxes(figure: Any, found: Findings) -> None:
    """What every box and bonus brings, and how they hang together."""
    bars, matrix = figure.subplots(1, 2, width_ratios=(1, 1.1))
    names, places = [short(name, 24) for name in found.names], np.arange(len(found.names))
    deviation = found.deviation_of_boxes
    bars.barh(places, found.box_means, color="0.8", edgecolor="black", linewidth=0.6)
    bars.errorbar(found.box_means, places, xerr=deviation, fmt="none", ecolor="0.3", elinewidth=0.8, capsize=2)
    bars.set_yticks(places, names, fontsize=7)
    bars.invert_yaxis()
    bars.set(xlabel="mean, and one standard\ndeviation, points", xlim=(0, None))
    both = np.outer(deviation, deviation)
    correlation = np.divide(found.covariances, both, where=both > 0, out=np.zeros_like(both))
    np.fill_diagonal(correlation, 0)
    matrix.imshow(np.abs(correlation), cmap="Greys", vmin=0, vmax=1)
    for row, column in np.argwhere(np.abs(correlation) >= 0.05):
        matrix.text(column, row, f"{100 * correlation[row, column]:.0f}", ha="center", va="center", fontsize=5)
    matrix.set_xticks(places, names, rotation=90, fontsize=6)
    matrix.set_yticks(places, names, fontsize=6)
    matrix.set_title("correlation, % (from 5 % on)", fontsize=9)
    matrix.grid(visible=False)


def parting(figure: Any, found: Findings) -> None:
    """Where playing for a score and for the expected score part."""
    assert found.comparison
    by_mean, _ = found.comparison
    share, cost = figure.subplots(1, 2)
    turns = np.arange(1, len(by_mean.taken) + 1)
    for stage, (name, style) in enumerate(zip(STAGES, (BLACK, GREY, LIGHT), strict=True)):
        taken = by_mean.taken[:, stage]
        part = np.divide(by_mean.otherwise[:, stage], taken, where=taken > 0, out=np.full_like(taken, np.nan))
        share.plot(turns, 100 * part, label=name, marker="os^"[stage], markersize=3.5, **style)
    share.set(xlabel="turn", ylabel="decided otherwise by MaxProb, %", ylim=(0, None))
    share.set_xticks(turns[::2])
    share.legend()
    bottom = np.zeros(len(turns))
    for stage, (name, color) in enumerate(zip(STAGES, ("0.25", "0.6", "0.9"), strict=True)):
        height = 100 * by_mean.cost[:, stage]
        cost.bar(turns, height, bottom=bottom, color=color, edgecolor="black", linewidth=0.5, label=name)
        bottom += height
    cost.set(xlabel="turn", ylabel=f"chance of at least {found.compared_for}\ngiven away, percentage points")
    cost.set_xticks(turns[::2])
    cost.set_ylim(0, None if bottom.any() else 1)
    cost.grid(visible=False, axis="x")
    cost.legend()
