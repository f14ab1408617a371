"""The texts of a report's figures: captions, and for those who do not see the figures what can be seen there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from yahtzee_cluster.analysis import figures
from yahtzee_cluster.analysis.findings import Findings, Values
from yahtzee_cluster.objectives.expected import std_of

SPACE = "\N{NO-BREAK SPACE}"
FOR_MEAN = figures.FOR_MEAN


@dataclass(frozen=True)
class Words:
    """The texts of a figure."""

    alternative: str
    caption: str


def percent(share: float) -> str:
    """A probability in percent, with three significant digits."""
    number = 100 * share
    if number and abs(number) < 1e-4:
        digits, exponent = f"{number:.1e}".split("e")
        return f"{digits}·10{str(int(exponent)).translate(figures.SUPERSCRIPT)}{SPACE}%"
    return f"{np.format_float_positional(number, 3, fractional=False, trim='-')}{SPACE}%"


def _maxprob(found: Findings) -> Words:
    last = figures.last_of_thesis(found)
    steps = [f"{percent(share)} at {_last_with(found.maxprob, share)} points" for share in (0.9, 0.5, 0.1)]
    return Words(
        f"A falling curve: {', '.join(steps)}, {percent(found.maxprob[last])} at {last}.",
        f"MaxProb: for each score s from 0 to {last}, the highest probability of a final score of at least s.",
    )


def _curves(found: Findings) -> Words:
    best, usual = (_last_with(curve, 0.5) for curve in (found.maxprob, found.expected))
    return Words(
        f"Two falling curves, MaxProb never below the other: it passes 50{SPACE}% at {best} points, the other at "
        f"{usual}.",
        f"Probability of a final score of at least s: MaxProb, and {FOR_MEAN}.",
    )


def _logarithmic(found: Findings) -> Words:
    last = figures.last_of_thesis(found)
    return Words(
        f"The same two curves. {_ends(found, last)}",
        f"Probability of a final score of at least s on a logarithmic scale: MaxProb, and {FOR_MEAN}.",
    )


def _tails(found: Findings) -> Words:
    return Words(
        f"Two curves that fall in steps over many orders of magnitude. {_ends(found, found.highest)}",
        f"Probability of every score up to the highest, {found.highest}, on a logarithmic scale: MaxProb, and "
        f"{FOR_MEAN}.",
    )


def _gain(found: Findings) -> Words:
    at = int(np.argmax(found.gain))
    return Words(
        f"A curve that is highest at {at} points: {100 * found.gain[at]:.2f} percentage points.",
        "Absolute difference: the probability of at least s by MaxProb, minus the probability when playing for the "
        "highest expected score.",
    )


def _relative(found: Findings) -> Words:
    gained = found.relative_gain[: figures.last_of_thesis(found) + 1]
    at = int(np.nanargmax(gained))
    return Words(
        f"A curve that is highest at {at} points, where MaxProb adds {percent(gained[at])}.",
        "Relative difference: the probability of at least s by MaxProb, minus the probability when playing for the "
        "highest expected score, divided by the latter.",
    )


def _distribution(found: Findings) -> Words:
    single = -np.diff(found.expected, append=0.0)
    likeliest = int(np.argmax(single))
    low, median, high = (found.percentile(share) for share in (0.25, 0.5, 0.75))
    return Words(
        f"The most likely score is {likeliest} ({percent(single[likeliest])}). Half of all games end between {low} and "
        f"{high}; the median, {median}, and the mean, {found.means[0]:.1f}, are marked.",
        f"Probability of every final score up to {figures.last_usual(found)} when {FOR_MEAN}.",
    )


def _scores(found: Findings) -> Words:
    means = found.means[1 : found.highest + 1]
    lowest = int(np.argmin(means)) + 1
    widest = int(np.argmax(found.deviations[1 : found.highest + 1])) + 1
    return Words(
        f"The mean is lowest at T = {lowest}, {means[lowest - 1]:.1f} points, against {found.means[0]:.1f} when "
        f"{FOR_MEAN}; the standard deviation is highest at T = {widest}, {found.deviations[widest]:.1f} points.",
        "Mean and standard deviation of the final score when playing for T. Once T is reached, or out of reach, play "
        "goes on for the highest expected score.",
    )


def _boxes(found: Findings) -> Words:
    zero = {name: found.chance_of_nothing(row) for row, name in enumerate(found.names) if found.box_distributions[row]}
    often, seldom = max(zero, key=lambda name: zero[name]), min(zero, key=lambda name: zero[name])
    paid_once = [f"the {name}" for name in found.bonuses if name in zero]
    others = [f"the {name}" for name in found.bonuses if name not in zero]
    elsewhere = "".join(f" A game may pay {name} several times; it is in the table only." for name in others)
    return Words(
        f"A row of bars for every box. The one most often without points is {often}, in {percent(zero[often])} of all "
        f"games; the one least often is {seldom}, in {percent(zero[seldom])}.",
        f"Distribution of the points in {_and(['each box', *paid_once])} when {FOR_MEAN}. Bars are scaled to the "
        f"tallest of their row; triangles mark means.{elsewhere}",
    )


def _correlations(found: Findings) -> Words:
    pairs = found.correlated(figures.LEAST_CORRELATION)
    shown = [f"{found.names[a]} and {found.names[b]} {100 * value:+.0f}{SPACE}%" for a, b, value in pairs[:3]]
    count = min(len(pairs), figures.SHOWN_PAIRS)
    total = len(found.names) * (len(found.names) - 1) // 2
    next_one = abs(pairs[count][2]) if count < len(pairs) else figures.LEAST_CORRELATION
    which = f"the {count} strongest of {total}. None of the others exceeds {percent(next_one)} in size."
    if not pairs:
        which = f"none of {total} exceeds {percent(next_one)} in size."
    elif count == total:
        which = f"all {total}, the strongest first."
    return Words(
        f"Bars, the longest first: {'; '.join(shown)}." if shown else "An empty plot.",
        f"Correlations between {boxes_and_bonuses(found)} when {FOR_MEAN}: {which}",
    )


def _goal(found: Findings) -> Words:
    assert found.another
    mean, second_moment = found.another.games.moments
    median, usual = (_last_with(curve, 0.5) for curve in (found.another.games.curve, found.expected))
    return Words(
        f"Two falling curves: when {found.another.short}, 50{SPACE}% is passed at {median} points; when {FOR_MEAN}, at "
        f"{usual}.",
        f"Probability of a final score of at least s when {found.another.words}, which brings {mean:.4f} "
        f"points on average, with a standard deviation of {std_of(mean, second_moment):.4f}; and when {FOR_MEAN}.",
    )


def _parting(found: Findings) -> Words:
    assert found.comparison
    by_mean, _ = found.comparison
    turn = int(np.argmax(by_mean.cost.sum(axis=1))) + 1
    total = 100 * by_mean.cost.sum()
    return Words(
        f"Above, three curves over the turns; below, stacked bars, the highest in turn {turn}. All bars together are "
        f"{total:.2f} percentage points.",
        f"Games played for the highest expected score, compared with playing for {found.compared_for} points: the "
        f"share of decisions that playing for {found.compared_for} would make otherwise, and the probability of "
        f"reaching {found.compared_for} that they give away, turn by turn.",
    )


def _ends(found: Findings, last: int) -> str:
    best, usual = percent(found.maxprob[last]), percent(found.expected[last])
    return f"At {last} points MaxProb is {best}, and {FOR_MEAN} {usual}."


def boxes_and_bonuses(found: Findings) -> str:
    """What a game pays for, in words: its boxes, and its bonuses if it has any."""
    return _and(["the boxes", *(f"the {name}" for name in found.bonuses)])


def _and(words: Sequence[str]) -> str:
    """A list in words: one, one and two, one, two and three."""
    return " and ".join(", ".join(words).rsplit(", ", 1))


def _last_with(curve: Values, share: float) -> int:
    """The highest score that is reached with at least such a probability."""
    return int(np.flatnonzero(curve >= share)[-1])


WORDS: dict[figures.Draw, Callable[[Findings], Words]] = {
    figures.maxprob: _maxprob,
    figures.curves: _curves,
    figures.logarithmic: _logarithmic,
    figures.gain: _gain,
    figures.relative: _relative,
    figures.tails: _tails,
    figures.distribution: _distribution,
    figures.scores: _scores,
    figures.boxes: _boxes,
    figures.correlations: _correlations,
    figures.goal: _goal,
    figures.parting: _parting,
}
"""All figures in the order of the page. The first five are figures 6.1 to 6.5 of Cremers' thesis."""


def numbered(found: Findings) -> dict[figures.Draw, str]:
    """The figures of a game with their numbers, which go on from those of the thesis."""
    present = dict.fromkeys(WORDS)
    if found.highest <= figures.THESIS:
        del present[figures.tails]
    if not found.another:
        del present[figures.goal]
    if not found.comparison:
        del present[figures.parting]
    return {draw: f"6.{number}" for number, draw in enumerate(present, start=1)}
