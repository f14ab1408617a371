"""The commands of the README, and those of all other pages, work when pasted into a fresh shell in the checkout."""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

from yahtzee_cluster.commands.cli import make_parser
from yahtzee_cluster.commands.job import Job

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("docs/*/*.md")} - {README})

NO_COMMANDS = re.compile(r"@\w+\{|[LS] = ")
"""The beginning of an indented block that is a reference or a formula."""

INVOCATION = re.compile(r"(?:yahtzee-cluster |-m yahtzee_cluster\.)(.+?)(?= : |$)")
"""A verb of this program, with what follows it."""

NOT_RUN = {
    r"^make ": "takes minutes, and has been done before any test runs",
    r"^PYTHONS=.* make ": "takes minutes, and other interpreters",
    r"pip install ": "needs a package index",
    r"^module load ": "needs the modules of a cluster",
    r"^mount ": "needs root, and a file server",
    r"\bsbatch\b|^slurm/chain\.sh |--submit": "needs Slurm; tests/commands/test_slurm.py has a real one",
    r" -host ": "needs two hosts of these names",
    r"^mpirun .*--job jobs/two-player-": "takes minutes, and up to 46 GB",
    r"^mpirun .*--job jobs/scores\.toml": "takes two minutes, and 4.7 GB",
    r"--games 1000000": "takes half a minute",
    r"yahtzee-cluster search ": "takes minutes to hours",
    r"yahtzee-cluster web": "serves until it is interrupted",
}
"""Commands that cannot run here, or not in reasonable time, by a pattern; all others take 50 s of processor time."""

SMALL = """
name = "small"
[[category]]
name = "ones"
face = 1
[[category]]
name = "house"
groups = [3, 2]
points = 100
[[category]]
name = "five"
groups = [5]
points = 200
"""
STAND_INS = {
    "runs/yahtzee-scores-1575-G5": "--rules small.toml --objective scores",
    "runs/yahtzee-utility-beat-1-G5": "--rules small.toml --objective utility --goal beat:1",
    "runs/yacht-race-G6": "--rules small.toml --objective race",
    "yacht": "--rules yacht --target 300 --G 3",
}
"""Tables that pages have made before, and the flags that make small ones to stand in for them."""


class Pasted(NamedTuple):
    """The README, run in a directory that looks like the checkout."""

    directory: Path
    result: subprocess.CompletedProcess[str]


def in_a_bare_shell(commands: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Paste commands into a shell that knows nothing of this environment, as far as the first one that fails."""
    script = "\n".join(
        f"echo {shlex.quote(f'$ {command}')}; {{ {command}; }} < /dev/null || exit" for command in commands
    )
    return subprocess.run(
        ["env", "-i", f"HOME={directory}", "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "bash", "-c", script],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def pasted() -> Iterator[Pasted]:
    """The README, pasted once; what other pages presume is there afterwards, in small."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / ".venv").symlink_to(Path(sys.prefix))
        for folder in ("examples", "jobs", "slurm"):
            (directory / folder).symlink_to(ROOT / folder)
        (directory / "runs").mkdir()
        (directory / "runs" / "yahtzee-maxprob-800-G5").symlink_to("again")  # the table that `make run` would have made
        activated, *others = commands_of_readme()
        assert activated == ACTIVATE
        yield Pasted(directory, in_a_bare_shell([activated, *sorted(others, key=is_no_run)], directory))


@pytest.fixture(scope="module")
def checkout(pasted: Pasted) -> Path:
    """The directory in which the README was pasted, with small tables under the names of those that pages have made."""
    (pasted.directory / "small.toml").write_text(SMALL)
    made = [f"yahtzee-cluster run {flags} --store {table}" for table, flags in STAND_INS.items()]
    result = in_a_bare_shell([ACTIVATE, *made], pasted.directory)
    assert result.returncode == 0, result.stderr
    return pasted.directory


ACTIVATE = ". .venv/bin/activate"


def is_no_run(command: str) -> bool:
    """Whether a command of the README computes no table."""
    return not command.startswith("mpirun ")


def commands_of_readme() -> list[str]:
    """The commands of the README in their order, without those that make the environment and run the tests."""
    lines = re.findall(r"^(?: {4}|\$ )([a-z.].*)", README.read_text(encoding="utf-8"), re.MULTILINE)
    return [without_remark(line) for line in lines if not line.startswith("make ")]


def without_remark(command: str) -> str:
    """A command as it is pasted, without what stands beside it."""
    return command.partition("  #")[0].strip()


def indented(page: Path) -> list[str]:
    """The indented blocks of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [dedent(block) for block in re.findall(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+", text)]


def commands(page: Path) -> list[str]:
    """The indented commands of a page; tests/test_docs.py runs those of its console blocks."""
    blocks = [block for block in indented(page) if not NO_COMMANDS.match(block)]
    return [without_remark(line) for block in blocks for line in block.splitlines()]


def can_run(command: str) -> bool:
    """Whether a command can run here."""
    return not any(re.search(pattern, command) for pattern in NOT_RUN)


RUN = {page: found for page in PAGES if (found := [command for command in commands(page) if can_run(command)])}
PARSED = sorted({command for page in PAGES for command in commands(page) if not can_run(command)})


def test_readme_works_when_pasted(pasted: Pasted) -> None:
    """Every command succeeds, in a shell that knows nothing of this environment, and prints what is shown."""
    result = pasted.result
    assert sum(not is_no_run(command) for command in commands_of_readme()) >= 2
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    for shown in re.findall(r"^```console\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        assert shown in result.stdout
    assert "54.188692 %" in result.stdout


@pytest.mark.parametrize("page", RUN, ids=[str(page.relative_to(ROOT)) for page in RUN])
def test_pages_work_when_pasted(page: Path, checkout: Path) -> None:
    """Every indented command of a page succeeds in such a shell, after those above it."""
    result = in_a_bare_shell([ACTIVATE, *RUN[page]], checkout)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]


def test_most_commands_are_run() -> None:
    """Most commands are run; of the others, those of this program are seen; each reason not to run one is of use."""
    assert sum(map(len, RUN.values())) >= 25
    assert sum(len(invocations(command)) for command in PARSED) >= 7
    assert all(any(re.search(pattern, command) for command in PARSED) for pattern in NOT_RUN)


@pytest.mark.parametrize("command", PARSED)
def test_other_commands_are_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other command is one to the shell, its flags are known, and its job can be read."""
    subprocess.run(["bash", "-n", "-c", command], check=True)
    monkeypatch.chdir(ROOT)
    for words in invocations(command):
        options = make_parser(words[:1]).parse_args(words)
        if words[0] in ("run", "slurm") and options.job:
            Job.read(options.job)


def invocations(command: str) -> list[list[str]]:
    """The verbs of this program in a command, each with what follows it."""
    return [shlex.split(words) for words in INVOCATION.findall(command)]
