"""The command line as a user meets it: real processes, their output and their exit codes."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from launch import processor_s, program

import yahtzee_cluster
from yahtzee_cluster.commands import cli
from yahtzee_cluster.game.rule_files import load_rules, preset_names

ROOT = Path(__file__).resolve().parents[2]


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refusal: exit code 2, nothing on stdout, no traceback."""
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_expected_for_people() -> None:
    """The table of the default rules is printed beside the published numbers."""
    result = program("expected")
    assert (result.returncode, result.stderr) == (0, "")
    assert "mean       254.5896   published 254.5896\n" in result.stdout
    assert "std        59.6117   published 59.6117\n" in result.stdout
    assert "anchors    355,392 (536,448 with every upper total kept apart)\n" in result.stdout


def test_expected_for_machines() -> None:
    """With --json there is one object with five fields, in full precision, the same on every run."""
    first, second = (json.loads(program("expected", "--rules", "yaht", "--json").stdout) for _ in range(2))
    assert list(first) == ["rules", "mean", "std", "anchors", "elapsed_s"]
    assert (first["rules"], first["anchors"]) == ("yaht", 8192)
    assert (round(first["mean"], 1), round(first["std"], 2)) == (234.6, 31.95)
    assert (first["mean"], first["std"]) == (second["mean"], second["std"])
    assert len(repr(first["mean"])) > 14


def test_own_rules(tmp_path: Path) -> None:
    """A printed rule set, edited, is another game."""
    file = tmp_path / "my-rules.toml"
    file.write_text(program("rules", "yacht").stdout.replace("points = 50", "points = 60"), encoding="utf-8")
    mean = json.loads(program("expected", "--rules", str(file), "--json").stdout)["mean"]
    assert 169.8 < mean < 180


def test_rules_are_listed() -> None:
    """Every preset has a line with its published numbers."""
    lines = program("rules").stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == preset_names()
    for line, rules in zip(lines, map(load_rules, preset_names()), strict=True):
        assert line.split()[2:4] == [rules.published_mean or "-", rules.published_std or "-"]


def test_rules_for_machines() -> None:
    """With --json, rule sets are listed with their boxes and published numbers, and one is as in its TOML."""
    listed = json.loads(program("rules", "--json").stdout)
    assert [rules["name"] for rules in listed] == preset_names()
    assert (listed[0]["boxes"][0], listed[0]["published_mean"], listed[0]["published_std"]) == (
        "aces",
        254.5896,
        59.6117,
    )
    assert json.loads(program("rules", "yacht", "--json").stdout) == tomllib.loads(program("rules", "yacht").stdout)


def test_jobs_are_listed() -> None:
    """Every job file has a line; by its name it is printed as it is, and so are the files for Slurm."""
    lines = program("jobs").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        *sorted(path.stem for path in (ROOT / "jobs").glob("*.toml")),
        *("site.sh", "chain.sh"),
    ]
    assert program("jobs", "scores").stdout == (ROOT / "jobs" / "scores.toml").read_text()
    assert program("jobs", "site.sh").stdout == (ROOT / "slurm" / "site.sh").read_text()


def test_jobs_by_name(tmp_path: Path) -> None:
    """A job is found by its name, in any directory, and says the same as its file."""
    plan = [sys.executable, "-m", "yahtzee_cluster", "plan"]
    by_name, by_file = (
        subprocess.run(
            [*plan, "--job", job, "--rules", "yacht", "--target", "100", "--costs", "assumed", "--json"],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
        ).stdout
        for job in ("maxprob-800", str(ROOT / "jobs" / "maxprob-800.toml"))
    )  # fmt: skip
    assert by_name == by_file


CLOSE = {
    "verb": (["expcted"], "argument COMMAND: invalid choice: 'expcted'; did you mean expected?"),
    "objective": (["plan", "--objective", "maxprb"], "invalid choice: 'maxprb'; did you mean maxprob?"),
    "objective in a file": (["plan", "--job", "JOB"], "utility, found 'maxprb'; did you mean maxprob?"),
    "rule set": (["expected", "--rules", "yahtze"], "yahtze: no such rule set or file; did you mean yahtzee?"),
    "rule set to print": (["rules", "Yatzi"], "Yatzi: no such rule set; did you mean yatzy?"),
    "category": (["advise", "--used", "ace"], "used: no category 'ace'; did you mean aces?"),
    "fixed set": (["run", "--G", "Aces"], "G: no element 'Aces'; did you mean aces?"),
    "job": (["plan", "--job", "maxprob800"], "maxprob800: no such job or file; did you mean maxprob-800?"),
    "job to print": (["jobs", "maxprob"], "maxprob: no such file comes with the program; did you mean maxprob-all?"),
}


@pytest.mark.parametrize("kind", sorted(CLOSE))
def test_close_names(kind: str, tmp_path: Path) -> None:
    """For a name that is nearly right, the right one is suggested."""
    arguments, expected = CLOSE[kind]
    (tmp_path / "job.toml").write_text('objective = "maxprb"\n')
    said = refusal(program(*(tmp_path / "job.toml" if word == "JOB" else word for word in arguments)))
    assert said.endswith(f"{expected}\n")


def test_names_that_are_not_close() -> None:
    """For a name that is like none, all are listed."""
    assert "chess: no such job or file; jobs are approx, " in refusal(program("plan", "--job", "chess"))
    assert "invalid choice: 'chess' (choose from " in refusal(program("chess"))


@pytest.mark.parametrize(
    "program", [["yahtzee_cluster"], ["yahtzee_cluster", "run"], ["yahtzee_cluster.run"], ["yahtzee_cluster.plan"]]
)
def test_version(program: list[str]) -> None:
    """--version names the program."""
    result = subprocess.run(
        [sys.executable, "-m", *program, "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == f"yahtzee-cluster {yahtzee_cluster.__version__}\n"


def test_plan_is_a_verb() -> None:
    """The verb prints what the module prints."""
    flags = ["--rules", "yacht", "--target", "100", "--ranks", "4", "--costs", "assumed"]
    module = [sys.executable, "-m", "yahtzee_cluster.plan", *flags]
    printed = subprocess.run(module, capture_output=True, text=True, timeout=300, check=True).stdout
    assert program("plan", *flags).stdout == printed


def test_only_the_chosen_verb_is_loaded() -> None:
    """A verb that needs neither tables nor MPI loads neither."""
    program = "import sys; from yahtzee_cluster.commands.cli import main; main(['jobs']); print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    loaded = result.stdout.splitlines()[-1].split()
    assert "yahtzee_cluster.commands.jobs" in loaded
    assert {"mpi4py", "rich", "shtab", "yahtzee_cluster.commands.duel"} & {*loaded} == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, tmp_path: Path) -> None:
    """The file for each shell knows all verbs and flags; a shell that is there can read it."""
    result = program("completion", shell)
    assert (result.returncode, result.stderr) == (0, "")
    assert all(word in result.stdout for word in (*cli.VERBS, "rolls-left", "race-wins"))
    if shutil.which(shell):
        (tmp_path / "completion").write_text(result.stdout)
        subprocess.run([shell, "-n", str(tmp_path / "completion")], timeout=60, check=True)


def test_completion_in_bash(tmp_path: Path) -> None:
    """Bash completes verbs, flags and choices."""
    (tmp_path / "completion").write_text(program("completion", "bash").stdout)
    for words, expected in {
        "pl": ["plan", "play"],
        "run --obj": ["--objective"],
        "run --objective max": ["maxprob"],
    }.items():
        script = f""". {tmp_path / "completion"}
            COMP_WORDS=(yahtzee-cluster {words}) COMP_CWORD={len(words.split())}
            $(complete -p yahtzee-cluster | sed 's/.*-F \\([^ ]*\\).*/\\1/') && echo "${{COMPREPLY[@]}}"
        """
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
        assert result.stdout.split() == expected, words


def test_manual_page() -> None:
    """The manual page has every verb with its flags."""
    page = program("man").stdout.replace("\\-", "-")
    assert page.startswith('.TH YAHTZEE-CLUSTER "1"')
    assert all(f"yahtzee-cluster {verb}" in page for verb in cli.VERBS)
    assert "--rolls-left" in page


@pytest.mark.parametrize("verb", ["completion", "man"])
def test_without_the_extra(verb: str, tmp_path: Path) -> None:
    """Without the packages that make its file, a verb names the extra that brings them."""
    for name in ("shtab", "argparse_manpage"):
        (tmp_path / f"{name}.py").write_text("raise ImportError\n")
    result = program(*{"completion": ["completion", "bash"], "man": ["man"]}[verb], PYTHONPATH=str(tmp_path))
    assert 'install it with pip install "yahtzee_cluster[shell]"' in refusal(result)


@pytest.mark.parametrize("verb", sorted(cli.VERBS))
def test_help(verb: str) -> None:
    """Every verb explains itself, and its example is a command of this name."""
    result = program(verb, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(f"usage: yahtzee-cluster {verb}")
    examples = re.findall(r"Examples?: ([^;]*)", " ".join(result.stdout.split()))
    assert all(f"yahtzee-cluster {verb}" in example for example in examples)


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    """Unknown rules, unreadable or contradictory files and unknown instruction sets get one line and exit code 2."""
    bad = tmp_path / "bad.toml"
    bad.write_text('name = "x"\n[[category]]\nname = "a"\npoints = -3\n', encoding="utf-8")
    assert "bridge: no such rule set or file; rule sets are yahtzee, " in refusal(
        program("expected", "--rules", "bridge")
    )
    assert "bridge: no such rule set; there are yahtzee, " in refusal(program("rules", "bridge"))
    assert 'bad.toml: category a: points: expected "sum" or a whole' in refusal(
        program("expected", "--rules", str(bad))
    )
    assert "cannot be read: No such file" in refusal(program("expected", "--rules", str(tmp_path / "none.toml")))
    assert "no instruction set 'vax' here" in refusal(program("expected", YAHTZEE_CLUSTER_ISA="vax"))


@pytest.mark.parametrize(
    "arguments",
    [
        *([verb, "--rules", "LONG"] for verb in ("expected", "statistics", "advise")),
        *([verb, "--store", "LONG"] for verb in ("value", "curve", "status", "verify", "advise")),
        ["duel", "expected", "LONG"],
        ["duel", "LONG:5", "expected"],
        ["report", "--store", "LONG", "--out", "report"],
        ["slurm", "--job", "JOB", "--nodes", "1", "--ranks-per-node", "2", "--site", "LONG"],
        ["value", "--store", "none", "--need", "9" * 5000],
        ["value", "--store", "none", "--need", "٣"],
    ],
)
def test_names_that_are_too_long(arguments: list[str], tmp_path: Path) -> None:
    """No name of a file is too long, and no number, to be refused in one line."""
    (tmp_path / "job.toml").write_text('rules = "yacht"\n')
    meant = {"LONG": "x" * 300, "LONG:5": "x" * 300 + ":5", "JOB": tmp_path / "job.toml"}
    assert "expected" in (said := refusal(program(*(meant.get(word, word) for word in arguments)))) or "x" * 300 in said


@pytest.mark.parametrize("after_s", [0.03, 0.06, 0.1, 0.2])
def test_interrupted_while_loading(after_s: float) -> None:
    """Ctrl-C while everything is still being loaded ends it without a traceback."""
    program = f"""if True:
        import os, runpy, signal, sys, threading
        threading.Timer({after_s}, os.kill, (os.getpid(), signal.SIGINT)).start()
        sys.argv = ["yahtzee-cluster", "expected"]
        runpy.run_module("yahtzee_cluster", run_name="__main__")
    """
    line = [sys.executable, "-c", program]
    result = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode in {-signal.SIGINT, 130}


@pytest.mark.parametrize("arguments", [(), ("solve",), ("expected", "--speed"), ("expected", "--rules")])
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    """Wrong usage is answered with one line and exit code 2, never with a traceback."""
    result = program(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("yahtzee-cluster")
    assert result.stderr.endswith("; see --help\n")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_output_that_cannot_be_written() -> None:
    """A full disk under the result is said in one line, with exit code 1."""
    with Path("/dev/full").open("w") as full:
        line = [sys.executable, "-m", "yahtzee_cluster", "rules"]
        result = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr == "yahtzee-cluster: the result cannot be written: No space left on device\n"


def test_plain_ascii_terminal(tmp_path: Path) -> None:
    """Results need no more than ASCII; what a terminal cannot show is replaced."""
    assert program("rules", PYTHONIOENCODING="ascii").returncode == 0
    file = tmp_path / "x.toml"
    file.write_text('name = "Würfel"\n[[category]]\nname = "a"\nface = 1\n', encoding="utf-8")
    assert "rules      W?rfel\n" in program("expected", "--rules", str(file), PYTHONIOENCODING="ascii").stdout


def test_interrupt_stops_a_large_table(tmp_path: Path) -> None:
    """Ctrl-C ends even the largest table at once, with exit code 130 and without a traceback."""
    file = tmp_path / "large.toml"
    boxes = "".join(f'[[category]]\nname = "{i}"\nface = {i % 6 + 1}\n' for i in range(16))
    file.write_text(f'name = "large"\nupper_threshold = 99\nupper_bonus = 9\n{boxes}', encoding="utf-8")
    command = [sys.executable, "-m", "yahtzee_cluster", "expected", "--rules", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and processor_s(process.pid) < 1.0:  # by then everything is loaded
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "")
    assert time.monotonic() - started < 3.0  # solving it takes about nine seconds


def test_reader_that_leaves_early() -> None:
    """A pipe that closes early, as with `| head`, is no error."""
    command = f"{sys.executable} -m yahtzee_cluster rules yahtzee | head -1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ('name = "yahtzee"\n', "")
