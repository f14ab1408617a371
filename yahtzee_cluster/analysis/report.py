"""Reports: one self-contained page, its figures as SVG and PNG, and its tables as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from yahtzee_cluster.analysis import comparison, figures
from yahtzee_cluster.analysis.captions import WORDS, numbered
from yahtzee_cluster.analysis.findings import Findings
from yahtzee_cluster.analysis.forward import Comparison
from yahtzee_cluster.analysis.page import PROMISE, page
from yahtzee_cluster.analysis.statistics import PERCENTILES
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.progress import tracked
from yahtzee_cluster.text import printable

PAGE = "index.html"


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
    with tracked([*numbered(found)], "figures") as draws:
        pictures = {draw: {kind: figures.drawn(draw, found, *kind) for kind in KINDS} for draw in draws}
    plots = {draw: {width: of[SVG, width] for width in figures.WIDTHS} for draw, of in pictures.items()}
    sheets = {sheet.name: _csv(sheet).encode() for sheet in _sheets(found)}
    text = page(found, plots, [*sheets])
    with _writing(out):
        for draw in WORDS:
            for form in (SVG, PNG):
                picture = pictures[draw][form, "wide"].content if draw in pictures else None
                _replace(out / "figures" / f"{draw.__name__}.{form}", picture)
        for name in SHEETS:
            _replace(out / "tables" / f"{name}.csv", sheets.get(name))
        (out / PAGE).write_text(text, encoding="utf-8")
    return out / PAGE


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


SVG, PNG = "svg", "png"
KINDS = ((SVG, "wide"), (PNG, "wide"), (SVG, "narrow"))
"""The drawings of each figure: both of the first are files, and both SVGs are on the page."""
SHEETS = ("scores", "boxes", "distributions", "covariances", "percentiles", "goal", "comparison", "costliest")

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
    spreads = [(name, spread) for name, spread in zip(found.names, found.box_distributions, strict=True) if spread]
    chances = [(name, int(points), p) for name, both in spreads for points, p in np.transpose(both).tolist()]
    yield Sheet("distributions", ("box", "points", "p"), chances)
    covariances = zip(found.names, found.covariances.tolist(), strict=True)
    yield Sheet("covariances", ("box", *found.names), [(name, *row) for name, row in covariances])
    percentiles = [(share, found.percentile(share / 100)) for share in PERCENTILES]
    yield Sheet("percentiles", ("percentile", "score"), percentiles)
    if found.another:
        yield Sheet("goal", ("score", "p"), list(enumerate(found.another.games.curve.tolist())))
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


def _csv(sheet: Sheet) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_inert(cell) for cell in row] for row in (sheet.heading, *sheet.rows))
    return text.getvalue()


def _inert(cell: Any) -> Any:
    """A cell as a spreadsheet may read it: an apostrophe goes before text that looks like a formula."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell
