"""Reports: one self-contained page, its figures as SVG and PNG, and its tables as CSV."""

from __future__ import annotations

import csv
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from yahtzee_cluster import __version__
from yahtzee_cluster.analysis import comparison, figures
from yahtzee_cluster.analysis.findings import Findings
from yahtzee_cluster.analysis.forward import Comparison
from yahtzee_cluster.analysis.statistics import PERCENTILES
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.text import printable

STYLE = """
body { font: 16px/1.5 Georgia, serif; color: #111; background: #fff; }
body { max-width: 46em; margin: 2em auto; padding: 0 1em; }
h1, h2 { line-height: 1.2; font-weight: normal; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .8em; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid #333; font-weight: normal; vertical-align: bottom; }
th { max-width: 9em; white-space: normal; }
td:first-child, th:first-child { text-align: left; padding-left: 0; white-space: normal; }
li, td:first-child { min-width: 2.5em; overflow-wrap: anywhere; } .wide { overflow-x: auto; }
figure { margin: 2em 0; } figure img { display: block; width: 100%; }
figcaption { color: #444; font-size: .9em; }
@media (max-width: 32em) {
  table { font-size: .85em; } th, td { padding: .15em .3em; }
  figure img { width: 100vw; margin-left: -1em; }
}
"""
"""The styles of a page. On a phone, figures take the full width, and wide tables scroll by themselves."""

PAGE = "index.html"
PROMISE = "Every number is exact up to rounding; none is simulated."
"""The last sentence of every report; a page without it is never overwritten."""


@dataclass(frozen=True)
class Words:
    """The texts of a figure: the alternative text and the caption."""

    alternative: str
    caption: str


@dataclass(frozen=True)
class Sheet:
    """A table of a report, which becomes a CSV file."""

    name: str
    heading: Sequence[str]
    rows: Sequence[Sequence[Any]]


def prepare(out: Path) -> None:
    """Make the directories of a report; an error if they cannot be made, or hold a page that is not a report."""
    page = out / PAGE
    with _writing(out):
        if page.exists() and PROMISE.encode() not in page.read_bytes():
            raise UsageError(f"out: {printable(str(page))}: is no report; name another directory with --out")
        for folder in ("figures", "tables"):
            (out / folder).mkdir(parents=True, exist_ok=True)


def write(found: Findings, out: Path) -> Path:
    """Write a report into a directory, replacing an older one; return the path of its page."""
    prepare(out)
    pictures = {draw: {form: figures.drawn(draw, found, form) for form in FORMS} for draw in _drawings(found)}
    sheets = list(_sheets(found))
    page = out / PAGE
    with _writing(out):
        for draw in FIGURES:
            for form in FORMS:
                _replace(out / "figures" / f"{_name(draw)}.{form}", pictures.get(draw, {}).get(form))
        for name in SHEETS:
            text = next((_csv(sheet) for sheet in sheets if sheet.name == name), None)
            _replace(out / "tables" / f"{name}.csv", None if text is None else text.encode())
        page.write_text(_page(found, {draw: forms["svg"] for draw, forms in pictures.items()}), encoding="utf-8")
    return page


def _drawings(found: Findings) -> list[figures.Draw]:
    return [draw for draw in FIGURES if found.comparison or draw is not figures.parting]


def _replace(file: Path, content: bytes | None) -> None:
    """Write a file, or remove that of an older report."""
    if content is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(content)


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = printable(str(error.filename or out))
        raise UsageError(f"out: {where}: {error.strerror}; name another directory with --out") from error


FORMS = ("svg", "png")
SHEETS = ("scores", "boxes", "covariances", "percentiles", "comparison", "costliest")

FIGURES: dict[figures.Draw, Words] = {
    figures.curves: Words(
        "Two falling curves on a linear scale, MaxProb above the other.",
        "The probability of at least each score: the best that play can do for that score alone (MaxProb), and when "
        "playing for the highest expected score.",
    ),
    figures.tails: Words(
        "The same two curves for all scores on a logarithmic scale.",
        "The same up to the highest score, on a logarithmic scale.",
    ),
    figures.gain: Words(
        "A curve: the distance between the two probabilities at each score.",
        "What playing for a score adds to its probability, compared with playing for the highest expected score.",
    ),
    figures.ratio: Words(
        "A curve: the ratio of the two probabilities at each score.",
        "How many times as likely a score is when it is played for: its probability by MaxProb, divided by its "
        "probability when playing for the highest expected score.",
    ),
    figures.scores: Words(
        "Two curves over T, mean above and standard deviation below, each with a level line for comparison.",
        "Mean and standard deviation of the final score when playing for T; once T is reached, or out of reach, play "
        "goes on for the expected score.",
    ),
    figures.distribution: Words(
        "A shaded curve with vertical lines at median and mean.",
        "The probability of every single final score when playing for the highest expected score.",
    ),
    figures.boxes: Words(
        "Horizontal bars for the means, dots for the standard deviations; the table above has the numbers.",
        "What every box and bonus brings on average when playing for the highest expected score, and its standard "
        "deviation.",
    ),
    figures.correlations: Words(
        "A triangular grid of boxes and bonuses, darker where two of them correlate more.",
        "How boxes and bonuses correlate when playing for the highest expected score; smaller values than 5 % are left "
        "out.",
    ),
    figures.parting: Words(
        "Above, three curves over the turns; below, stacked bars. The tables below have the numbers.",
        "Where playing for a score differs from playing for the highest expected score: the share of decisions that "
        "are made otherwise, and the chance that is given away, turn by turn.",
    ),
}

FORMULA = re.compile(r"\s*[=+@-]")
"""The beginning of a text that a spreadsheet takes for a formula."""


def _sheets(found: Findings) -> Iterator[Sheet]:
    columns = (found.maxprob, found.expected[: found.target + 1], found.means, found.deviations)
    heading = ("score", "p_maxprob", "p_highest_mean", "mean_of_maxprob", "deviation_of_maxprob")
    by_score = zip(*(column.tolist() for column in columns), strict=True)
    yield Sheet("scores", heading, [(score, *row) for score, row in enumerate(by_score)])
    variances, deviations = np.diag(found.covariances).tolist(), found.deviation_of_boxes.tolist()
    boxes = zip(found.names, found.box_means.tolist(), variances, deviations, strict=True)
    yield Sheet("boxes", ("box", "mean", "variance", "deviation"), list(boxes))
    covariances = zip(found.names, found.covariances.tolist(), strict=True)
    yield Sheet("covariances", ("box", *found.names), [(name, *row) for name, row in covariances])
    percentiles = [(share, found.percentile(share / 100)) for share in PERCENTILES]
    yield Sheet("percentiles", ("percentile", "score"), percentiles)
    if found.comparison:
        columns_compared = ("played_for", "turn", "decision", "taken", "otherwise", "cost")
        both = zip(("highest mean", f"at least {found.compared_for}"), found.comparison, strict=True)
        sheet = [(who, *row) for who, one in both for row in _decisions(one)]
        yield Sheet("comparison", columns_compared, sheet)
        facts = comparison.facts(found.compared_for or 0, found.comparison, found.rules)
        positions = [(who, one) for who in ("by_mean", "by_target") for one in facts[who]["costliest"]]
        keys = list(positions[0][1]) if positions else []
        yield Sheet("costliest", ("played", *keys), [(who, *map(_cell, one.values())) for who, one in positions])


def _decisions(one: Comparison) -> Iterator[tuple[Any, ...]]:
    for turn, stage in np.ndindex(one.taken.shape):
        yield (
            turn + 1,
            comparison.STAGES[stage],
            *(float(column[turn, stage]) for column in (one.taken, one.otherwise, one.cost)),
        )


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _name(draw: figures.Draw) -> str:
    return str(draw.__name__)


def _csv(sheet: Sheet) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_inert(cell) for cell in row] for row in (sheet.heading, *sheet.rows))
    return text.getvalue()


def _inert(cell: Any) -> Any:
    """A cell as a spreadsheet may read it: an apostrophe goes before text that looks like a formula."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def _page(found: Findings, pictures: dict[figures.Draw, bytes]) -> str:
    title = f"{found.rules.name}: exact optimal play"
    body = [f"<h1>{escape(title)}</h1>", f"<p>{_summary(found)}</p>"]
    body += ["<h2>How likely each score is</h2>", _table_6_1(found)]
    for draw, svg in pictures.items():
        if draw is figures.boxes:
            body += ["<h2>What every box brings</h2>", _boxes(found)]
        if draw is figures.parting:
            body.append("<h2>Where the two part</h2>")
        body.append(_figure(svg, FIGURES[draw]))
    if found.comparison:
        accounts = comparison.accounts(found.compared_for or 0, found.comparison, found.rules)
        body += [part for account in accounts for part in _account(account)]
    body.append(f"<p>yahtzee_cluster {__version__}. {PROMISE}</p>")
    screen = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{screen}<title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _figure(svg: bytes, words: Words) -> str:
    source = f"data:image/svg+xml;base64,{b64encode(svg).decode()}"
    image = f'<img src="{source}" alt="{escape(words.alternative)}">'
    return f"<figure>{image}<figcaption>{escape(words.caption)}</figcaption></figure>"


def _account(account: comparison.Account) -> list[str]:
    costliest = "".join(f"<li>{escape(f'{cost}: {where}')}</li>" for cost, where in account.costliest)
    return [
        f"<p>{escape(' '.join(account.summary)).replace(' %', '&nbsp;%')}.</p>",
        _html(account.heading, account.turns),
        f"<p>The costliest:</p><ol>{costliest}</ol>" if costliest else "",
    ]


def _summary(found: Findings) -> str:
    shares = ", ".join(f"{found.percentile(share / 100)} ({share}\N{NO-BREAK SPACE}%)" for share in PERCENTILES)
    return (
        f"Playing for the highest expected score brings {found.means[0]:.4f} points on average, with a standard "
        f"deviation of {found.deviations[0]:.4f}. Percentiles of the final score: {shares}."
    )


def _table_6_1(found: Findings) -> str:
    published = dict(found.rules.published_maxprob)
    heading = [
        "score",
        "MaxProb,\N{NO-BREAK SPACE}%",
        *(["published,\N{NO-BREAK SPACE}%"] if published else []),
        "playing for the highest expected score,\N{NO-BREAK SPACE}%",
        "gained, percentage points",
    ]
    rows = []
    for score in _listed(found):
        best, usual, gain = (f"{100 * curve[score]:.6f}" for curve in (found.maxprob, found.expected, found.gain))
        rows.append([str(score), best, *([published.get(score, "")] if published else []), usual, gain])
    return _html(heading, rows)


def _listed(found: Findings) -> range:
    """The scores of the first table: at most about twenty, in round steps, the published ones included."""
    last = min(800, found.highest)
    step = 50 if found.rules.published_maxprob else next(step for step in (1, 2, 5, 10, 20, 50) if last <= 20 * step)
    return range(0, last + 1, step)


def _boxes(found: Findings) -> str:
    columns = (found.box_means, np.diag(found.covariances), found.deviation_of_boxes)
    rows = [[name, *(f"{column[row]:.4f}" for column in columns)] for row, name in enumerate(found.names)]
    return _html(["box or bonus", "mean", "variance", "standard deviation"], rows)


def _html(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in heading) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return '<div class="wide" tabindex="0"><table>\n' + "\n".join(lines) + "\n</table></div>"
