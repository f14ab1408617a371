"""A report: one page that holds everything, its figures as SVG and PNG, its tables as CSV."""

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

from yahtzee_cluster import __version__, figures, likeness
from yahtzee_cluster.errors import UsageError, printable
from yahtzee_cluster.findings import Findings
from yahtzee_cluster.games import Comparison
from yahtzee_cluster.statistics import PERCENTILES

STYLE = """
body { font: 16px/1.5 Georgia, serif; max-width: 46em; margin: 2em auto; padding: 0 1em; color: #111; }
h1, h2 { line-height: 1.2; font-weight: normal; }
table { border-collapse: collapse; margin: 1em 0; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .8em; text-align: right; } th { border-bottom: 1px solid #333; font-weight: normal; }
td:first-child, th:first-child { text-align: left; } pre { font-size: .7em; overflow-x: auto; }
figure { margin: 2em 0; } figure img { width: 100%; } figcaption { color: #444; font-size: .9em; }
"""


PAGE = "index.html"
PROMISE = "Every number is exact up to rounding; none is simulated."
"""What every page ends with, and no other page does."""


@dataclass(frozen=True)
class Sheet:
    """One table, by the name of its file."""

    name: str
    heading: Sequence[str]
    rows: Sequence[Sequence[Any]]


def prepare(out: Path) -> None:
    """Make the directories of a report, or say why that cannot be; no page goes over one that is no report."""
    page = out / PAGE
    with _writing(out):
        if page.exists() and PROMISE.encode() not in page.read_bytes():
            raise UsageError(f"out: {printable(str(page))}: is no report; name another directory with --out")
        for folder in ("figures", "tables"):
            (out / folder).mkdir(parents=True, exist_ok=True)


def write(found: Findings, out: Path) -> Path:
    """Write a report into a directory, over an older one; return its page."""
    prepare(out)
    pictures = {draw: {form: figures.drawn(draw, found, form) for form in FORMS} for draw in _drawings(found)}
    sheets = list(_sheets(found))
    page = out / PAGE
    with _writing(out):
        for draw in CAPTIONS:
            for form in FORMS:
                _replace(out / "figures" / f"{_name(draw)}.{form}", pictures.get(draw, {}).get(form))
        for name in SHEETS:
            text = next((_csv(sheet) for sheet in sheets if sheet.name == name), None)
            _replace(out / "tables" / f"{name}.csv", None if text is None else text.encode())
        page.write_text(_page(found, {draw: forms["svg"] for draw, forms in pictures.items()}), encoding="utf-8")
    return page


def _drawings(found: Findings) -> list[figures.Draw]:
    return [draw for draw in CAPTIONS if found.comparison or draw is not figures.parting]


def _replace(file: Path, content: bytes | None) -> None:
    """Write a file, or take an older report's away."""
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

CAPTIONS: dict[figures.Draw, str] = {
    figures.curves: "How likely each final score is at least: the best chance that play can have for that score, and "
    "the chance of who plays for the highest expected score (exact, not simulated).",
    figures.tails: "The same for all scores, to the end.",
    figures.gain: "What playing for a score gains over playing for the highest expected score.",
    figures.ratio: "How many times more likely a score gets when it is played for.",
    figures.scores: "What is scored on average by who plays for T, and its standard deviation; once T is reached, or "
    "out of reach, the game goes on for the expected score.",
    figures.distribution: "The probability of every single final score of who plays for the highest expected score.",
    figures.boxes: "What every box and bonus brings to who plays for the highest expected score, and how they hang "
    "together.",
    figures.parting: "Where playing for a score and for the highest expected score part: the share of decisions, and "
    "what is given away, turn by turn.",
}


FORMULA = re.compile(r"\s*[=+@-]")
"""How a text begins that a spreadsheet would compute."""


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
        facts = likeness.facts(found.compared_for or 0, found.comparison, found.rules)
        positions = [(who, one) for who in ("by_mean", "by_target") for one in facts[who]["costliest"]]
        keys = list(positions[0][1]) if positions else []
        yield Sheet("costliest", ("played", *keys), [(who, *map(_cell, one.values())) for who, one in positions])


def _decisions(one: Comparison) -> Iterator[tuple[Any, ...]]:
    for turn, stage in np.ndindex(one.taken.shape):
        yield (
            turn + 1,
            likeness.STAGES[stage],
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
    """A cell that no spreadsheet takes for a formula: such a text gets an apostrophe in front."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def _page(found: Findings, pictures: dict[figures.Draw, bytes]) -> str:
    title = f"{found.rules.name}: exact optimal play"
    body = [f"<h1>{escape(title)}</h1>", f"<p>{_summary(found)}</p>"]
    body += ["<h2>How likely each score is</h2>", _table_6_1(found)]
    for draw, svg in pictures.items():
        if draw is figures.boxes:
            body += ["<h2>What every box brings</h2>", _boxes(found)]
        source, caption = f"data:image/svg+xml;base64,{b64encode(svg).decode()}", escape(CAPTIONS[draw])
        if draw is figures.parting:
            body.append("<h2>Where the two part</h2>")
        body.append(f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>')
    if found.comparison:
        words = likeness.words(found.compared_for or 0, found.comparison, found.rules)
        body.append(f"<pre>{escape(words)}</pre>")
    body.append(f"<p>yahtzee_cluster {__version__}. {PROMISE}</p>")
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _summary(found: Findings) -> str:
    shares = ", ".join(f"{share} %: {found.percentile(share / 100)}" for share in PERCENTILES)
    return (
        f"Who plays for the highest expected score has {found.means[0]:.4f} points on average, with a standard "
        f"deviation of {found.deviations[0]:.4f}. Percentiles of the final score: {shares}."
    )


def _table_6_1(found: Findings) -> str:
    published = dict(found.rules.published_maxprob)
    heading = [
        "score",
        "MaxProb",
        *(["published"] if published else []),
        "highest expected score",
        "gained, percentage points",
    ]
    rows = []
    for score in range(0, min(800, found.target) + 1, 50):
        best, usual, gain = (100 * curve[score] for curve in (found.maxprob, found.expected, found.gain))
        beside = [f"{published.get(score, '')} %" if score in published else ""] if published else []
        rows.append([str(score), _percent(best), *beside, _percent(usual), f"{gain:.6f}"])
    return _html(heading, rows)


def _boxes(found: Findings) -> str:
    columns = (found.box_means, np.diag(found.covariances), found.deviation_of_boxes)
    rows = [[name, *(f"{column[row]:.4f}" for column in columns)] for row, name in enumerate(found.names)]
    return _html(["box or bonus", "mean", "variance", "deviation"], rows)


def _percent(value: float) -> str:
    return f"{value:.6f} %"


def _html(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in heading) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>\n" + "\n".join(lines) + "\n</table>"
