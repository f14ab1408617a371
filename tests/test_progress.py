"""Progress as people see it: on terminals of any size, and in logs."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from launch import MPIRUN, PERMITTED
from terminal import Terminal

from yahtzee_cluster import progress
from yahtzee_cluster.progress import BAR_WIDTH, Display, showing_progress, stage, tracked

LINES = ["12/288 classes   4.2%   3.1e+06 values/s   61 s left", "   1  computes 03-5", "   2  waits"]
WIDTHS = (40, 60, 100, 140)


def cut(line: str, columns: int) -> str:
    return line if len(line) < columns else line[: columns - 2] + "…"


@pytest.fixture(name="shown", params=WIDTHS)
def on_a_terminal(request: pytest.FixtureRequest) -> Iterator[tuple[Terminal, Display, int]]:
    """A display below a line of text."""
    with Terminal(request.param) as terminal:
        terminal.file.write("$ run\n")
        yield terminal, Display(terminal.file), request.param


def test_every_line_has_a_line_of_its_own(shown: tuple[Terminal, Display, int]) -> None:
    """The bar, the text and each worker have a line of their own, cut to the width, at all widths."""
    terminal, display, columns = shown
    for share in (0.1, 0.5, 1.0):
        display.draw(share, LINES)
        terminal.read()
        above, empty, bar, *below = terminal.lines
        assert (above, empty, below) == ("$ run", "", [cut(line, columns) for line in LINES])
        assert len(bar) == min(BAR_WIDTH, columns - 1)
        assert set(bar) <= set("━╸╺")
    display.clear()
    terminal.read()
    assert terminal.lines == ["$ run"]
    assert (terminal.screen.cursor.x, terminal.screen.cursor.y) == (0, 1)


def test_resizing_leaves_nothing_behind(shown: tuple[Terminal, Display, int]) -> None:
    """After any change of the width, everything is there once."""
    terminal, display, _ = shown
    for columns in (100, 60, 140, 40, 30, 120):
        terminal.resize(columns)
        display.draw(0.3, LINES)
        terminal.read()
        assert terminal.lines[3:] == [cut(line, columns) for line in LINES]
        assert terminal.lines[:2] == ["$ run", ""]


def test_what_others_print_stays(shown: tuple[Terminal, Display, int]) -> None:
    """Lines that others print while there is a display stay as they are, above it and after it."""
    terminal, display, columns = shown
    others = ["[mpiexec@vm] Sending Ctrl-C to procs ", "rank 2 is lost: nothing was heard of it"]
    display.draw(0.3, LINES)
    for line in others:
        print(line, file=terminal.file, flush=True)
        terminal.read()
        display.draw(0.4, LINES)
    terminal.read()
    expected = ["$ run", *(line.rstrip() for line in others)]
    assert terminal.lines[:4] == [*expected, ""]
    assert terminal.lines[5:] == [cut(line, columns) for line in LINES]
    display.clear()
    terminal.read()
    assert terminal.lines == expected


def test_few_rows(shown: tuple[Terminal, Display, int]) -> None:
    """On a terminal with few rows, the display takes no more than these."""
    terminal, display, _ = shown
    display.draw(0.3, [f"line {number}" for number in range(100)])
    display.draw(0.3, [f"line {number}" for number in range(100)])
    terminal.read()
    assert len(terminal.lines) == 23
    assert (terminal.lines[0], terminal.lines[2:4]) == ("", ["line 0", "line 1"])


GAMES = [sys.executable, "-m", "yahtzee_cluster", "duel", "chance", "expected", "--games", "9000000"]


@pytest.mark.parametrize(
    ("command", "shows", "left"),
    [
        (GAMES, "games with dice: turn", ""),
        ([sys.executable, "-m", "yahtzee_cluster.run", "--store"], "0  computes", "stopped on request (SIGINT)"),
        ([MPIRUN, "-n", "2", *GAMES[:2], "yahtzee_cluster.run", "--store"], "1  computes", "stopped on request (SIG"),
    ],
    ids=["duel", "run", "mpirun"],
)
def test_ctrl_c(command: list[str], shows: str, left: str, tmp_path: Path) -> None:
    """What takes long shows how far it is, also when the terminal changes its size; Ctrl-C leaves nothing of it."""
    store = [tmp_path / "table"] if command[-1] == "--store" else []
    with Terminal(100) as terminal, terminal.start([*command, *store], **PERMITTED) as job:
        terminal.wait_for(lambda lines: shows in "\n".join(lines))
        for columns in (140, 90):
            terminal.resize(columns)
            terminal.read(1)
            assert sum(shows in line for line in terminal.lines) == 1
            assert sum("━" in line for line in terminal.lines) == 1
        terminal.press("\x03")
        while job.poll() is None:
            terminal.read(0.1)
        terminal.read(0.5)
        lines = terminal.lines
    assert left in " ".join(lines)
    assert not [line for line in lines if "━" in line or " left" in line or "computes" in line]


def test_a_log_has_a_line_now_and_then() -> None:
    """Where stderr is no terminal, a line every few seconds says what is done; stdout has the result alone."""
    program = (
        "from yahtzee_cluster import progress; progress.LINE_EVERY_S = 0.2; from yahtzee_cluster.commands import cli; "
        "import sys; sys.exit(cli.main(['duel', 'expected', 'expected', '--games', '300000']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.startswith("             win")
    assert len(done.stdout.splitlines()) == 5
    lines = done.stderr.splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(
            r"yahtzee-cluster: 300,000 games with dice(: turn \d+ of 13)?, (\d+ %, )?\d+ (s|min)( left)?", line
        )


def test_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost stage is shown, with its share and the time left; outside `showing_progress`, none is."""
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.02)
    monkeypatch.setattr(progress, "find_terminal", lambda: None)
    lines: list[str] = []

    def compute(expected: Sequence[str]) -> None:
        with stage("table"):
            wait_for(expected[:1])
            with tracked("ab", "parts", (3, 1)) as parts:
                for number, _ in enumerate(parts, start=1):
                    wait_for(expected[number : number + 1])
            wait_for(expected[3:])

    def wait_for(pattern: Sequence[str]) -> None:
        until = time.monotonic() + 30 * len(pattern)
        while pattern and not re.fullmatch(pattern[0], lines[-1] if lines else ""):
            assert time.monotonic() < until, lines
            time.sleep(0.01)

    compute([])
    assert lines == []
    with showing_progress(lines.append):
        compute([r"table, \d s", r"parts: 1 of 2, \d s", r"parts: 2 of 2, 75 %, \d s left", r"table, \d s"])
    n_lines = len(lines)
    time.sleep(0.1)
    assert len(lines) == n_lines


@pytest.mark.parametrize("vanishes", [False, True])
def test_a_stage_ends_whatever_becomes_of_its_terminal(vanishes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a stage is raised as it is, and nothing is left on the terminal, if there still is one."""

    def compute() -> None:
        with showing_progress(print), stage("table"):
            terminal.wait_for(lambda lines: lines[-1].startswith("table   "))
            if vanishes:
                terminal.vanish()
                time.sleep(0.5)
            raise ArithmeticError

    with Terminal(80) as terminal:
        monkeypatch.setattr(progress, "SILENT_S", 0.01)
        monkeypatch.setattr(progress, "find_terminal", lambda: terminal.file)
        with pytest.raises(ArithmeticError):
            compute()
        if not vanishes:
            terminal.read()
            assert terminal.lines == [""]
