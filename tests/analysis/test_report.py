"""The report: one page that holds everything, figures as SVG and PNG, tables as CSV."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from xml.etree import ElementTree

import numpy as np
import pytest
from in_process import command
from launch import computed, program
from small_games import SMALL

from yahtzee_cluster.analysis.forward import compare, play_for_mean
from yahtzee_cluster.analysis.report import SHEETS
from yahtzee_cluster.analysis.statistics import percentile, statistics
from yahtzee_cluster.tables.table import Table

FIGURES = [
    *("boxes", "correlations", "curves", "distribution", "gain", "logarithmic", "maxprob", "parting", "relative"),
    "scores",
]
TARGET = 20
COMPARED = {*SHEETS} - {"goal"}
"""The tables of a report with `--for`."""
FORMULA = re.compile(r" *[=+@-]|[\t\r]")
"""How text begins that a spreadsheet computes."""
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return computed(SMALL["free"], tmp_path_factory.mktemp("report") / "table", "scores")


@pytest.fixture(scope="module")
def written(table: Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report, and where it is."""
    out = tmp_path_factory.mktemp("out") / "deep" / "report"
    result = command("report", "--store", table.path, "--for", TARGET, "--out", out)
    assert (result.returncode, result.stdout) == (0, f"{out / 'index.html'}\n"), result.stderr
    return out


def sheet(written: Path, name: str) -> list[dict[str, str]]:
    with (written / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tables_hold_what_was_computed(table: Table, written: Path) -> None:
    """The CSV files have every digit of the curves, moments, covariances and comparisons."""
    rows = sheet(written, "scores")
    assert [float(row["p_maxprob"]) for row in rows] == table.curve().tolist()
    means, deviations = table.score_curve()
    assert [float(row["mean_of_maxprob"]) for row in rows] == means.tolist()
    assert [float(row["deviation_of_maxprob"]) for row in rows] == deviations.tolist()
    games = play_for_mean(table.rules).curve
    expected = [float(row["p_highest_mean"]) for row in rows]
    assert expected[: len(games)] == games.tolist()[: len(expected)]
    found = statistics(table.rules)
    assert [float(row["mean"]) for row in sheet(written, "boxes")] == found.mean.tolist()
    for name, spread in zip(found.names, found.distributions, strict=True):
        listed = [row for row in sheet(written, "distributions") if row["box"] == name]
        chances = [[float(row["points"]), float(row["p"])] for row in listed]
        assert chances == ([] if spread is None else np.transpose(spread).tolist())
    covariances = [[float(row[name]) for name in found.names] for row in sheet(written, "covariances")]
    assert covariances == found.covariance.tolist()
    by_mean, by_target = compare(TARGET, table)
    costs = [float(row["cost"]) for row in sheet(written, "comparison")]
    assert [float(row["cost"]) for row in sheet(written, "costliest")] == [
        one.cost for both in (by_mean, by_target) for one in both.costliest
    ]
    assert costs == [*by_mean.cost.ravel().tolist(), *by_target.cost.ravel().tolist()]
    assert [int(row["percentile"]) for row in sheet(written, "percentiles")] == [1, 5, 10, 25, 50, 75, 90, 95, 99]


def test_figures(written: Path) -> None:
    """Every figure is there as SVG and as PNG; its axes are labelled."""
    assert sorted(path.stem for path in (written / "figures").glob("*.svg")) == FIGURES
    for name in FIGURES:
        root = ElementTree.parse(written / "figures" / f"{name}.svg").getroot()  # noqa: S314  # made here
        assert root.tag.endswith("svg")
        assert "mathdefault" not in (written / "figures" / f"{name}.svg").read_text()
        assert (written / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def page(written: Path) -> str:
    return (written / "index.html").read_text(encoding="utf-8")


def test_page_stands_alone(written: Path, page: str) -> None:
    """The page holds all it shows, its links are to files of the report, and it names no other place."""
    links = [link for link in re.findall(r'(?:src|href)="([^"]*)"', page) if not link.startswith("#")]
    assert len(links) == 2 * len(FIGURES) + len(COMPARED)
    assert all((written / link).is_file() for link in links)
    assert "//" not in re.sub(r"^\s*//.*$", "", page, flags=re.MULTILINE)
    assert {"#"} == set(re.findall(r"url\((.)", page))
    assert """content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">""" in page
    assert "free: exact optimal play" in page


def test_figures_of_the_page(page: str) -> None:
    """Every figure is there for a screen and for a phone, in colours of the theme, and what it refers to is there."""
    pictures = re.findall(r'<div class="plot (\w+)" data-figure="(\w+)"[^>]*>(<svg .*?</svg>)', page)
    assert sorted((name, width) for width, name, _ in pictures) == [(n, w) for n in FIGURES for w in ("narrow", "wide")]
    for _, _, svg in pictures:
        assert "var(--ink)" in svg
        assert not re.search("#[0-9a-f]{6}", svg)
    identifiers = re.findall(r' id="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', page)) <= set(identifiers)


def test_figures_are_numbered_as_in_the_thesis(page: str) -> None:
    """Figures 6.1 to 6.5 are MaxProb, both curves, both on a logarithmic scale, and both differences; more follow."""
    captions = re.findall(r'<figure id="(\w+)">.*?<figcaption><b>Figure 6\.(\d+)\.</b>', page)
    assert [name for name, _ in captions[:5]] == ["maxprob", "curves", "logarithmic", "gain", "relative"]
    assert [int(number) for _, number in captions] == list(range(1, len(FIGURES) + 1))


def test_page_on_a_phone(page: str) -> None:
    """The page is laid out for the width of its screen, and every table scrolls by itself where it is wider."""
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert page.count("<table") == len(re.findall(r'<div class="scrolls" [^>]* tabindex="0"><table', page)) == 5
    assert "<pre" not in page


def test_page_on_dark_paper(page: str) -> None:
    """Every colour that the page uses is defined for light and for dark paper."""
    light, dark = re.findall(r":root \{ (.*?) \}", page)
    defined = [set(re.findall(r"--(\w+):", theme)) for theme in (light, dark)]
    assert defined[0] == defined[1] == set(re.findall(r"var\(--(\w+)\)", page))
    assert page.index(light) < page.index("@media (prefers-color-scheme: dark)") < page.index(dark)


def test_alternatives_do_not_repeat_captions(page: str) -> None:
    """Every figure has a text of its own for those who do not see it, which says what is seen in numbers."""
    alternatives = set(re.findall(r'role="img" aria-label="(.+?)"', page))
    captions = set(re.findall(r"<figcaption>(.+?) <nav>", page))
    assert (len(alternatives), len(captions)) == (len(FIGURES), len(FIGURES))
    assert all(re.search(r"\d", alternative) for alternative in alternatives)
    assert not alternatives & captions


def test_page_says_where_it_is_from(table: Table, page: str) -> None:
    """The page has the digest of the table, the commands, the rules, and no date that the table does not know."""
    assert f"SHA-256 <code>{table.store.table_digest}</code>" in page
    assert f"<code>yahtzee-cluster report --store DIR --out DIR --for {TARGET}</code>" in page
    assert "--rules FILE --objective scores --target 60" in page
    boxes = re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", page.partition("<h2>The game")[2])
    assert [name for name, _, _ in boxes] == [box.name for box in table.rules.categories]
    assert boxes[0] == ("ones", "any roll", "the sum of its dice with face 1")
    assert boxes[2] == ("house", "3 and 2 equal dice", "5")
    assert "Besides: 7 points for 6 or more in the boxes for one face; 9 points for every further Yahtzee" in page
    assert table.computed_on is None
    assert not re.search(r"20\d\d-\d\d-\d\d", page)


def test_the_day_of_the_table(tmp_path: Path) -> None:
    """The report of a table that says when it was begun says that day, and no time of its own."""
    run = [sys.executable, "-m", "yahtzee_cluster.run", "--rules", "yaht", "--objective", "scores", "--target", "60"]
    subprocess.run([*run, "--G", "3", "--store", str(tmp_path / "table")], check=True, capture_output=True)
    header = json.loads((tmp_path / "table" / "zarr.json").read_text())["attributes"]["yahtzee_cluster"]
    assert command("report", "--store", tmp_path / "table", "--out", tmp_path / "out").returncode == 0
    dates = re.findall(r"20\d\d-\d\d-\d\d", (tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert dates == [header["provenance"]["began"][:10]]


def test_table_of_scores_ends_at_the_highest(tmp_path: Path) -> None:
    """A small game has a table of scores in small steps, with no scores that cannot be reached."""
    table = computed(SMALL["free"], tmp_path / "table", "scores", 300)
    assert command("report", "--store", table.path, "--out", tmp_path).returncode == 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    first, *_ = re.findall(r"<table.*?>(.*?)</table>", page, re.DOTALL)
    listed = [int(score) for score in re.findall(r"<tr><td>(\d+)</td>", first)]
    highest = max(score for score, chance in enumerate(table.curve()) if chance > 0)
    assert 10 < len(listed) <= 21
    assert highest - listed[1] < listed[-1] <= highest


def test_table_of_scores_is_written_as_in_the_result_of_a_run(table: Table, page: str) -> None:
    """The page and the command that made the table print P(score at least) with the same digits, tiny ones included."""
    assert "Table 6.1. P(score at least), by MaxProb and " in page
    cells = dict(re.findall(r"<tr><td>(\d+)</td><td>([^<]*)</td>", page.partition("Table 6.1.")[2]))
    heading, *printed = (re.split("  +", line.strip()) for line in table.headline())
    assert heading[:2] == ["score", "P(score at least)"]
    both = [(cells[score], share) for score, share, *_ in printed if score in cells]
    assert len(both) >= 2
    assert all(share == f"{cell} %" for cell, share in both)
    assert any("e-" in cell for cell in cells.values())


def test_same_bytes_again(table: Table, written: Path, tmp_path: Path) -> None:
    """The same table makes the same report, and an older one may be written over."""
    for _ in range(2):
        assert command("report", "--store", table.path, "--for", TARGET, "--out", tmp_path).returncode == 0
    for path in written.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / path.relative_to(written)).read_bytes(), path.name


def test_the_user_s_own_figures_do_not_matter(table: Table, tmp_path: Path) -> None:
    """However somebody has set up matplotlib, the report is the same."""
    (tmp_path / "matplotlibrc").write_text("lines.marker: x\nfont.size: 30\n")
    pages = []
    for name, environment in (("own", {"MATPLOTLIBRC": str(tmp_path / "matplotlibrc")}), ("plain", {})):
        flags = ["--store", table.path, "--for", TARGET, "--out", tmp_path / name]
        assert program("report", *flags, **environment).returncode == 0
        pages.append((tmp_path / name / "index.html").read_bytes())
    assert pages[0] == pages[1]


def test_short_table(tmp_path: Path) -> None:
    """A table that ends far below the highest score makes no difference to what does not depend on it."""
    table = computed(SMALL["free"], tmp_path / "table", "scores", 6)
    assert command("report", "--store", table.path, "--for", 6, "--out", tmp_path).returncode == 0
    found = json.loads(command("statistics", "--store", table.path, "--for", 6, "--json").stdout)
    assert max(found["percentiles"].values()) > 6
    curve = play_for_mean(table.rules).curve
    for row in sheet(tmp_path, "percentiles"):
        assert int(row["score"]) == percentile(curve, int(row["percentile"]) / 100)


def test_strange_games(tmp_path: Path) -> None:
    """Names that mean something to a program that draws, boxes that always bring the same, nothing to gain."""
    boxes = "".join(f'[[category]]\nname = "{name}"\npoints = 7\n' for name in ("$\\\\frac$", "盒子", "long name" * 20))
    table = computed('name = "strange"\n' + boxes, tmp_path / "table", "scores")
    result = command("report", "--store", table.path, "--for", 21, "--out", tmp_path)
    assert (result.returncode, "arning" in result.stderr) == (0, False)
    assert {row["deviation"] for row in sheet(tmp_path, "boxes")} == {"0.0"}
    assert {row["variance"] for row in sheet(tmp_path, "boxes")} == {"0.0"}
    assert sheet(tmp_path, "costliest") == []
    (tmp_path / "rules.toml").write_text('name = "strange"\n' + boxes)
    shown = command("statistics", "--rules", tmp_path / "rules.toml").stdout.splitlines()
    assert shown[6].split() == ["$\\frac$", "7.0000", "0.0000", "0.0000"]


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """No cell of any CSV file is text that a spreadsheet computes, whatever boxes are called; names stay readable."""
    names = ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", " =1", "plain"]
    boxes = "".join(f'[[category]]\nname = "{name}"\nface = {face}\n' for face, name in enumerate(names, start=1))
    table = computed('name = "=1+1"\n' + boxes, tmp_path / "table", "scores", 40)
    assert command("report", "--store", table.path, "--for", 40, "--out", tmp_path).returncode == 0
    sheets = sorted((tmp_path / "tables").glob("*.csv"))
    assert [path.stem for path in sheets] == sorted(COMPARED)
    for path in sheets:
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if FORMULA.match(cell) and (cell in names or not NUMBER.fullmatch(cell))]
    assert [row["box"].removeprefix("'") for row in sheet(tmp_path, "boxes")] == names
    assert sheet(tmp_path, "costliest")


def test_a_box_called_like_a_bonus(tmp_path: Path) -> None:
    """Boxes and bonuses add up to the score, whatever they are called."""
    rules = tmp_path / "rules.toml"
    rules.write_text(SMALL["free"].replace('name = "house"', 'name = "upper bonus"'))
    found = json.loads(command("statistics", "--rules", rules, "--json").stdout)
    assert len(set(found["names"])) == len(found["names"])
    assert sum(found["means"]) == pytest.approx(found["mean"], rel=1e-12)


def test_without_a_comparison(table: Table, written: Path, tmp_path: Path) -> None:
    """Without a score to compare for, the page has no such figure, and none is left of an older report."""
    copytree(written, tmp_path, dirs_exist_ok=True)
    assert command("report", "--store", table.path, "--out", tmp_path).returncode == 0
    assert not (tmp_path / "figures" / "parting.svg").exists()
    assert not (tmp_path / "tables" / "comparison.csv").exists()
    assert "Where the strategies differ" in (written / "index.html").read_text(encoding="utf-8")
    assert "Where the strategies differ" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_another_goal(table: Table, written: Path, tmp_path: Path) -> None:
    """Playing for a goal is drawn beside playing for the mean; to reach a score is the comparison by another name."""
    report = ("report", "--store", table.path, "--out", tmp_path)
    (tmp_path / "free.toml").write_text(SMALL["free"])
    assert command(*report, "--goal", "power:2").returncode == 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    told = json.loads(command("statistics", "--rules", tmp_path / "free.toml", "--goal", "power:2", "--json").stdout)
    assert [float(row["p"]) for row in sheet(tmp_path, "goal")] == told["p"]
    assert told["p"] != json.loads(command("statistics", "--rules", tmp_path / "free.toml", "--json").stdout)["p"]
    brings = f"brings {told['mean']:.4f} points on average, with a standard deviation of {told['std']:.4f}"
    assert brings in page
    assert "<h2>Another way to play</h2>" in page
    assert "report --store DIR --out DIR --goal power:2</code>" in page
    assert (tmp_path / "figures" / "goal.svg").exists()
    assert command(*report, "--goal", f"reach:{TARGET}").returncode == 0
    assert (tmp_path / "index.html").read_bytes() == (written / "index.html").read_bytes()
    assert not (tmp_path / "figures" / "goal.svg").exists()


def test_other_pages_stay(table: Table, written: Path, tmp_path: Path) -> None:
    """A page that is no report is not written over; an older report is."""
    page = tmp_path / "index.html"
    page.write_text("<p>What I did on my holidays.</p>")
    result = command("report", "--store", table.path, "--out", tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"yahtzee-cluster: out: {page}: is no report; name another directory with --out\n"
    assert [*tmp_path.iterdir()] == [page]
    assert page.read_text() == "<p>What I did on my holidays.</p>"
    page.write_bytes((written / "index.html").read_bytes())
    assert command("report", "--store", table.path, "--out", tmp_path).returncode == 0


def test_refusals(table: Table, tmp_path: Path) -> None:
    """A directory that cannot be written, another table, a score beyond it: one line each."""
    (tmp_path / "file").write_text("")
    computed(SMALL["free"], tmp_path / "other")
    for flags, complaint in (
        (["--store", table.path, "--out", tmp_path / "file"], "name another directory with --out"),
        (
            ["--store", tmp_path / "other", "--out", tmp_path],
            "holds maxprob; expected a table of scores: `python -m yahtzee_cluster.run --rules FILE --objective",
        ),
        (["--store", table.path, "--out", ""], "out: name a directory with --out"),
        (["--store", table.path, "--out", tmp_path, "--for", 61], "knows how to play for 1 to 60, found 61"),
        (["--store", table.path, "--out", tmp_path, "--goal", "above:60"], "to play for 1 to 60, found 61"),
        (["--store", table.path, "--out", tmp_path, "--goal", "mean"], "a report always has the highest expected"),
        (["--store", table.path, "--out", tmp_path, "--goal", "quantile:0.5"], "goal: quantile:0.5 is for positions"),
        (["--store", table.path, "--out", tmp_path, "--goal", "win"], "goal: win is for positions"),
        (["--store", table.path, "--out", tmp_path, "--goal", "reach:9", "--for", "9"], "not allowed with argument"),
    ):
        refused = command("report", *flags)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
        assert complaint in refused.stderr
