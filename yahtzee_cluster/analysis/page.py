"""The page of a report: one HTML file that holds its figures, styles and script, and loads nothing."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib import resources

import numpy as np

from yahtzee_cluster import __version__
from yahtzee_cluster.analysis import comparison, figures
from yahtzee_cluster.analysis.captions import SPACE, WORDS, boxes_and_bonuses, numbered
from yahtzee_cluster.analysis.findings import Findings
from yahtzee_cluster.analysis.statistics import PERCENTILES
from yahtzee_cluster.game.notation import pattern_of, points_of
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.text import as_percent

PROMISE = "Every number is exact up to rounding; none is simulated."
"""The last sentence of every report; a page without it is never overwritten."""

THESIS = (
    "C. J. F. Cremers, <cite>How best to beat high scores in Yahtzee</cite>, master’s thesis, Eindhoven University "
    "of Technology, 2002"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The browser refuses whatever the page might load."""

FORM = """<form class="score" hidden>
<label>My score <input type="number" min="0" max="{last}" step="1" value="{start}" inputmode="numeric"></label>
<input type="range" min="0" max="{last}" step="1" value="{start}" aria-label="My score">
<output aria-live="polite"></output>
</form>"""

HEADINGS: dict[figures.Draw, str] = {
    figures.distribution: "<h2>The final score</h2>",
    figures.boxes: "</section>\n<h2>What every box brings</h2>",
    figures.goal: "<h2>Another way to play</h2>",
    figures.parting: "<h2>Where the strategies differ</h2>",
}
"""What stands between the figures, each above this one. The section is that of the figures over scores."""
GLYPH = re.compile(r'<path id="([^"]+)" d="[^"]*" transform="scale\(0\.015625\)"/>')


Plots = Mapping[str, figures.Drawing]
"""A figure as SVG, in each of its widths."""


def page(found: Findings, plots: Mapping[figures.Draw, Plots], sheets: Sequence[str]) -> str:
    """The page, with links to its figures and to these tables as files beside it."""
    title = f"{found.rules.name}: exact optimal play"
    glyphs: dict[str, str] = {}
    body = [f"<h1>{escape(title)}</h1>", f"<p>{_summary(found)}</p>", *_probabilities(found)]
    for draw, number in numbered(found).items():
        body += [HEADINGS.get(draw, ""), _boxes(found) if draw is figures.boxes else ""]
        body.append(_figure(found, draw, number, plots[draw], glyphs))
    if found.comparison:
        accounts = comparison.accounts(found.compared_for or 0, found.comparison, found.rules)
        body += [part for account in accounts for part in _account(account)]
    body += [*_rules(found.rules), *_provenance(found, sheets)]
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        f"<style>{_themes()}{_beside('page.css')}</style>",
    ]
    script = f'<script type="application/json" id="data">{_data(found)}</script>\n<script>{_beside("page.js")}</script>'
    lines = [
        "<!doctype html>",
        '<html lang="en"><head>',
        *head,
        "</head><body>",
        *body,
        _shared(glyphs),
        script,
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _beside(name: str) -> str:
    return (resources.files("yahtzee_cluster") / "analysis" / name).read_text(encoding="utf-8")


def _themes() -> str:
    """The colours of the figures as variables, which the styles of the page use as well."""
    light, dark = (
        "".join(f"--{name}: {colors[theme]}; " for name, colors in figures.PALETTE.items()) for theme in (0, 1)
    )
    return f"\n:root {{ {light}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"


def _data(found: Findings) -> str:
    """What the script reads: both curves and the scores of all strategies, with more digits than it shows."""
    curves = {
        "maxprob": [float(f"{p:.9g}") for p in found.maxprob],
        "expected": [float(f"{p:.9g}") for p in np.trim_zeros(found.expected, "b")],
        "means": [float(f"{mean:.4f}") for mean in found.means],
        "deviations": [float(f"{deviation:.4f}") for deviation in found.deviations],
    }
    return json.dumps(curves, separators=(",", ":"))


def _summary(found: Findings) -> str:
    shares = ", ".join(f"{found.percentile(share / 100)} ({share}{SPACE}%)" for share in PERCENTILES)
    return (
        f"Playing for the highest expected score brings {found.means[0]:.4f} points on average, with a standard "
        f"deviation of {found.deviations[0]:.4f}. Percentiles of the final score: {shares}."
    )


def _probabilities(found: Findings) -> Iterator[str]:
    yield "<section>\n<h2>How likely each score is</h2>"
    yield (
        "<p>For each score s, MaxProb is the strategy with the highest probability of a final score of at least s. "
        f"Table 6.1 and figures 6.1 to 6.5 are defined, and numbered, as in {THESIS}, which has them for Yahtzee.</p>"
    )
    start = found.compared_for or found.percentile(0.5)
    yield FORM.format(last=int(np.flatnonzero(found.expected)[-1]), start=start)
    yield _table_6_1(found)


def _table_6_1(found: Findings) -> str:
    published = dict(found.rules.published_maxprob)
    heading = ["score", "MaxProb, %", *(["published, %"] if published else []), "highest mean, %", "gain"]
    rows = []
    for score in _listed(found):
        best, usual, gain = (as_percent(curve[score]) for curve in (found.maxprob, found.expected, found.gain))
        between = [published.get(score, "")] if published else []
        rows.append([str(score), best, *between, usual, gain])
    about = (
        "Table 6.1. P(score at least), by MaxProb and when playing for the highest expected score (highest mean); and "
        "the gain in percentage points."
    )
    return _html(heading, rows, about)


def _listed(found: Findings) -> range:
    """The scores of the first table: at most about twenty, in round steps, the published ones included."""
    last = figures.last_of_thesis(found)
    step = 50 if found.rules.published_maxprob else next(step for step in (1, 2, 5, 10, 20, 50) if last <= 20 * step)
    return range(0, last + 1, step)


def _boxes(found: Findings) -> str:
    columns = (found.box_means, np.diag(found.covariances), found.deviation_of_boxes)
    rows = []
    for row, name in enumerate(found.names):
        nothing = f"{100 * found.chance_of_nothing(row):.4f}" if found.box_distributions[row] else "–"
        rows.append([name, *(f"{column[row]:.4f}" for column in columns), nothing])
    kind = "box or bonus" if found.bonuses else "box"
    heading = [kind, "mean", "variance", "standard deviation", "no points, %"]
    return _html(heading, rows, f"Points in {boxes_and_bonuses(found)}, over whole games.")


def _account(account: comparison.Account) -> list[str]:
    costliest = "".join(f"<li>{_text(f'{cost}: {where}')}</li>" for cost, where in account.costliest)
    return [
        f"<p>{_text(' '.join(account.summary))}.</p>",
        _html(account.heading, account.turns, "Decisions that would be made otherwise, and their cost, turn by turn."),
        f"<p>The costliest:</p><ol>{costliest}</ol>" if costliest else "",
    ]


def _rules(rules: Rules) -> Iterator[str]:
    yield "<h2>The game</h2>"
    rows = [[box.name, pattern_of(box), points_of(box)] for box in rules.categories]
    yield _html(["box", "accepts", "points"], rows, "What every box accepts, and what it pays.", kind="words")
    bonuses = []
    if rules.upper_bonus:
        bonuses.append(f"{rules.upper_bonus} points for {rules.upper_threshold} or more in the boxes for one face")
    if rules.extra_bonus:
        bonuses.append(f"{rules.extra_bonus} points for every further Yahtzee, once {rules.yahtzee} has brought points")
    if rules.joker != "none":
        jokers = ", ".join(box.name for box in rules.categories if box.joker) or "no box"
        bonuses.append(f"a further Yahtzee is a joker ({rules.joker}), which brings full points in {jokers}")
    if bonuses:
        yield f"<p>Besides: {_text('; '.join(bonuses))}.</p>"


def _provenance(found: Findings, sheets: Sequence[str]) -> Iterator[str]:
    """The origin of the page. No date but that of the table, and no path: the same table makes the same bytes."""
    yield "<h2>Origin</h2>"
    name = found.rules.name
    if name not in preset_names() or found.rules != load_rules(name):
        name = "FILE"
    asked = f" --for {found.compared_for}" if found.compared_for else ""
    asked += f" --{found.another.kind} {escape(shlex.quote(found.another.name))}" if found.another else ""
    date = f", computed on {found.computed_on}" if found.computed_on else ""
    links = ", ".join(f'<a href="tables/{sheet}.csv">{sheet}</a>' for sheet in sheets)
    yield (
        f'<p class="facts">Table of scores up to {found.target}{date}, SHA-256 <code>{found.table_sha256}</code>:<br>'
        f"<code>python -m yahtzee_cluster.run --rules {name} --objective scores --target {found.target}</code>"
        f"<br><code>yahtzee-cluster report --store DIR --out DIR{asked}</code></p>"
    )
    yield f"<p>All numbers in full precision, as CSV files beside this page: {links}.</p>"
    yield f"<p>yahtzee_cluster {__version__}. {PROMISE}</p>"


def _figure(found: Findings, draw: figures.Draw, number: str, plots: Plots, glyphs: dict[str, str]) -> str:
    words, name = WORDS[draw](found), draw.__name__
    shown = ""
    for width, drawing in plots.items():
        area = asdict(drawing.area) if drawing.area else {}
        where = "".join(f' data-{side}="{value:.6g}"' for side, value in area.items())
        picture = _inline(drawing.content.decode(), f"{name}-{width}", words.alternative, glyphs)
        shown += f'<div class="plot {width}" data-figure="{name}"{where}>{picture}</div>'
    links = " ".join(f'<a href="figures/{name}.{form}">{form.upper()}</a>' for form in ("svg", "png"))
    caption = f"<b>Figure {number}.</b> {escape(words.caption)} <nav>{links}</nav>"
    return f'<figure id="{name}">{shown}<figcaption>{caption}</figcaption></figure>'


def _inline(svg: str, name: str, alternative: str, glyphs: dict[str, str]) -> str:
    """An SVG file as a part of the page: in the colours of its theme, its glyphs put among those of all figures."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    glyphs |= {glyph[1]: glyph[0] for glyph in GLYPH.finditer(svg)}
    svg = re.sub(r' id="\w+_\d+"', "", GLYPH.sub("", svg))
    svg = re.sub(
        r'( id="|url\(#|href="#)([^")]+)', lambda to: to[0] if to[2] in glyphs else f"{to[1]}{name}-{to[2]}", svg
    )
    svg = re.sub(r"(\.\d\d)\d+(?=[^\d)])", r"\1", svg)
    for color, (light, _) in figures.PALETTE.items():
        svg = svg.replace(light, f"var(--{color})")
    view = re.search(r'viewBox="[^"]*"', svg)
    assert view
    opening = f'<svg {view[0]} role="img" aria-label="{escape(alternative)}">'
    return opening + _flat(svg[svg.index(">") + 1 :])


def _shared(glyphs: dict[str, str]) -> str:
    """The glyphs that all figures use."""
    shapes = _flat("".join(glyphs.values()))
    return f'<svg width="0" height="0" style="position: absolute"><defs>{shapes}</defs></svg>'


def _flat(svg: str) -> str:
    return re.sub(r"\s*\n\s*", " ", svg).strip()


def _text(plain: str) -> str:
    """Any text as HTML; a percent sign stays with its number."""
    return escape(plain).replace(" %", SPACE + "%")


def _html(heading: Sequence[str], rows: Sequence[Sequence[str]], about: str, kind: str = "numbers") -> str:
    lines = ["<tr>" + "".join(f'<th scope="col">{_text(cell)}</th>' for cell in heading) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    opening = f'<div class="scrolls" role="region" aria-label="{escape(about)}" tabindex="0">'
    caption = f"<caption>{escape(about)}</caption>"
    return f'{opening}<table class="{kind}">{caption}\n' + "\n".join(lines) + "\n</table></div>"
