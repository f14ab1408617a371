"""The documents say what is true: their commands run, their links lead somewhere, their rule files are read."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import yahtzee_cluster
from yahtzee_cluster.fields import parse_toml
from yahtzee_cluster.game.rule_files import parse_rules, preset_names
from yahtzee_cluster.play.strategy_files import strategy_of
from yahtzee_cluster.storage.header import FORMAT

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

PROGRESS = re.compile(r"^yahtzee-cluster: .*, \d+ (s|min)( left)?\n", re.MULTILINE)
"""A line that a command prints where it takes more than ten seconds."""


def fenced(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def sessions(page: Path) -> list[tuple[str, str]]:
    """The commands of a page's console blocks, each with the output shown under it."""
    steps = [step for block in fenced(page, "console") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(step.partition("\n")[0], step.partition("\n")[2]) for step in steps]


def links(page: Path) -> list[str]:
    """The relative links of a page."""
    targets = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    return [target for target in targets if not target.startswith("http")]


def pages_with(content: Callable[[Path], Sequence[object]], at_least: int) -> pytest.MarkDecorator:
    """Run a test for every page with some content; that too few have it is an error."""
    pages = [page for page in PAGES if content(page)]
    assert len(pages) >= at_least
    return pytest.mark.parametrize("page", pages, ids=[str(page.relative_to(ROOT)) for page in pages])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with nothing but the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def in_a_shell(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory, with this environment activated."""
    here = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-c", command.replace(".venv/bin", str(here))],
        cwd=directory,
        env=os.environ | {"LC_ALL": "C.UTF-8", "PATH": f"{here}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


@pages_with(sessions, at_least=10)
def test_commands_print_what_is_shown(page: Path, folder: Path) -> None:
    """Every command in a console block prints what stands under it; … stands for anything on one line."""
    for command, shown in sessions(page):
        result = in_a_shell(command, folder)
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        assert re.fullmatch(pattern, PROGRESS.sub("", result.stdout)), f"{command}\n{result.stdout}"


@pages_with(lambda page: fenced(page, "python"), at_least=4)
def test_python_prints_what_is_shown(page: Path, folder: Path) -> None:
    """The Python blocks of a page, run one after the other, print what the text blocks show.

    If the page makes tables in its console blocks, they are there.
    """
    for command in (command for command, _ in sessions(page) if " --store " in command and "run " in command):
        assert in_a_shell(command, folder).returncode == 0, command
    program = "\n".join(fenced(page, "python"))
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.stdout == "".join(fenced(page, "text")), result.stderr


def test_text_blocks_are_the_output_of_python() -> None:
    """No page without Python has a text block, which nothing would check."""
    assert [page for page in PAGES if fenced(page, "text") and not fenced(page, "python")] == []


@pages_with(links, at_least=20)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link points at a file that exists."""
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


@pages_with(lambda page: fenced(page, "toml"), at_least=1)
def test_rule_files_are_read(page: Path) -> None:
    """Every TOML block is a complete rule set, or a complete strategy."""
    for text in fenced(page, "toml"):
        if "\nkind = " in text:
            assert strategy_of(parse_toml(text, page.name), page.name).name == "mine"
        else:
            assert parse_rules(text, source=page.name).categories


EXAMPLES = """
import doctest, sys
import numpy as np
import yahtzee_cluster as yc

known = {"np": np, "sys": sys, "yc": yc}
runner = doctest.DocTestRunner()
for name in sys.argv[1:]:
    for test in doctest.DocTestFinder(recurse=False).find(getattr(yc, name), name, module=False):
        test.globs = known
        assert test.examples, f"{name} has no example"
        runner.run(test, clear_globs=False)
raise SystemExit(runner.failures > 0)
"""


def test_public_names_have_examples(tmp_path: Path) -> None:
    """Every public name is described on the page, all but types have an example, and these print what they show."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    described = re.findall(r"^\.\. auto\w+:: yahtzee_cluster\.(\w+)(?:\(\))?$", page, re.MULTILINE)
    types = re.findall(r"^- `(\w+)`: ", page, re.MULTILINE)
    assert sorted(described + types) == sorted(yahtzee_cluster.__all__)
    listed = re.findall(r"`(\w+)`", page.partition("| --- | --- |")[2].partition("\n\n")[0])
    assert sorted(listed) == sorted(described + types)
    (command,) = re.findall(r"^    python (-m yahtzee_cluster.*)$", page, re.MULTILINE)
    subprocess.run([sys.executable, *command.split()], cwd=tmp_path, capture_output=True, timeout=120, check=True)
    result = subprocess.run(
        [sys.executable, "-c", EXAMPLES, *described],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_the_site_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """The site has every page, and no page loads a script, a style sheet, an image or a font from another host."""
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-c", str(ROOT / "docs")]
    subprocess.run([*build, str(ROOT), str(tmp_path)], check=True, capture_output=True, timeout=300)
    for page in (ROOT / "docs").glob("*/*.md"):
        assert (tmp_path / page.relative_to(ROOT)).with_suffix(".html").exists()
    html = "".join(page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html"))
    loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*? (?:src|href)=\"([^\"]*)\"", html)
    assert len(loaded) > 400
    assert [url for url in loaded if re.match("(https?:)?//", url)] == []
    styles = "".join(page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.css"))
    assert re.findall(r"@import|url\([\"']?(?:https?:)?//", styles + html) == []


def test_pages_name_the_format_of_tables() -> None:
    """The policy for tables, and the description of their format, name the format that the program writes."""
    reference = ROOT / "docs" / "reference"
    assert f"this version reads and writes format {FORMAT}." in (reference / "compatibility.md").read_text()
    assert f"\nThis is format {FORMAT}.\n" in (reference / "store.md").read_text()


def test_every_page_is_reachable() -> None:
    """Every page of the documentation is linked from its index, and one of them lists every preset."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = (ROOT / "docs").glob("*/*.md")
    assert all(f"({page.relative_to(ROOT / 'docs')})" in index for page in pages)
    rule_sets = (ROOT / "docs" / "reference" / "rule-sets.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in rule_sets for name in preset_names())


def test_make_lists_its_commands() -> None:
    """`make` alone explains every command that the documents mention."""
    listed = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    commands = {line.split()[1] for line in listed.stdout.splitlines()}
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    mentioned = {*re.findall(r"`make ([a-z-]+)", text), *re.findall(r"^ {4}.*?\bmake ([a-z-]+)", text, re.MULTILINE)}
    assert mentioned <= commands


def test_every_fault_has_its_test() -> None:
    """Where the table of faults names a test, there is one of that name in that file."""
    page = (ROOT / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+\.py)`(?: `(test_\w+)`)?", page)
    assert len(named) > 20
    for file, test in named:
        (path,) = (ROOT / "tests").rglob(file)
        assert f"def {test}" in path.read_text(encoding="utf-8"), (file, test)
