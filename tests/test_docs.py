"""The documents say what is true: their commands run, their links lead somewhere, their rule files are read."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from yahtzee_cluster.game.rules import parse_rules, preset_names

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


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


@pages_with(sessions, at_least=10)
def test_commands_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    """Every command in a console block prints what stands under it; … stands for anything on one line."""
    here = Path(sys.executable).parent
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command, shown in sessions(page):
        result = subprocess.run(
            ["bash", "-c", command.replace(".venv/bin", str(here))],
            cwd=tmp_path,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        assert re.fullmatch(pattern, result.stdout), f"{command}\n{result.stdout}"


@pages_with(lambda page: fenced(page, "python"), at_least=4)
def test_python_prints_what_is_shown(page: Path) -> None:
    """The Python blocks of a page, run one after the other, print what the text blocks show."""
    program = "\n".join(fenced(page, "python"))
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
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
    """Every TOML block is a complete rule set."""
    for text in fenced(page, "toml"):
        assert parse_rules(text, source=page.name).categories


def test_every_page_is_reachable() -> None:
    """Every page of the documentation is linked from its index, and every preset stands in the README."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.name != "README.md"]
    assert all(f"({page.relative_to(ROOT / 'docs')})" in index for page in pages)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in readme for name in preset_names())


def test_make_lists_its_commands() -> None:
    """`make` alone explains every command that the documents mention."""
    listed = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True)
    commands = {line.split()[1] for line in listed.stdout.splitlines()}
    mentioned = {word for page in PAGES for word in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))}
    assert mentioned <= commands


def test_every_fault_has_its_test() -> None:
    """Where the table of faults names a test, there is one of that name in that file."""
    page = (ROOT / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+\.py)`(?: `(test_\w+)`)?", page)
    assert len(named) > 20
    for file, test in named:
        (path,) = (ROOT / "tests").rglob(file)
        assert f"def {test}" in path.read_text(encoding="utf-8"), (file, test)
