"""The command line as a user meets it: real processes, their output and their exit codes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launch import command, processor_s

from yahtzee_cluster.game.rules import load_rules, preset_names


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refusal: exit code 2, nothing on stdout, no traceback."""
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_expected_for_people() -> None:
    """The table of the default rules is printed beside the published numbers."""
    result = command("expected")
    assert (result.returncode, result.stderr) == (0, "")
    assert "mean       254.5896   published 254.5896\n" in result.stdout
    assert "std        59.6117   published 59.6117\n" in result.stdout
    assert "anchors    355,392 (536,448 with every upper total kept apart)\n" in result.stdout


def test_expected_for_machines() -> None:
    """With --json there is one object with five fields, in full precision, the same on every run."""
    first, second = (json.loads(command("expected", "--rules", "yaht", "--json").stdout) for _ in range(2))
    assert list(first) == ["rules", "mean", "std", "anchors", "elapsed_s"]
    assert (first["rules"], first["anchors"]) == ("yaht", 8192)
    assert (round(first["mean"], 1), round(first["std"], 2)) == (234.6, 31.95)
    assert (first["mean"], first["std"]) == (second["mean"], second["std"])
    assert len(repr(first["mean"])) > 14


def test_own_rules(tmp_path: Path) -> None:
    """A printed rule set, edited, is another game."""
    file = tmp_path / "my-rules.toml"
    file.write_text(command("rules", "yacht").stdout.replace("points = 50", "points = 60"), encoding="utf-8")
    mean = json.loads(command("expected", "--rules", str(file), "--json").stdout)["mean"]
    assert 169.8 < mean < 180


def test_rules_are_listed() -> None:
    """Every preset has a line with its published numbers."""
    lines = command("rules").stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == preset_names()
    for line, rules in zip(lines, map(load_rules, preset_names()), strict=True):
        assert line.split()[2:4] == [rules.published_mean or "-", rules.published_std or "-"]


@pytest.mark.parametrize("verb", ["expected", "rules"])
def test_help(verb: str) -> None:
    """Every verb explains itself."""
    result = command(verb, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(f"usage: yahtzee-cluster {verb}")


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    """Unknown rules, unreadable or contradictory files and unknown instruction sets get one line and exit code 2."""
    bad = tmp_path / "bad.toml"
    bad.write_text('name = "x"\n[[category]]\nname = "a"\npoints = -3\n', encoding="utf-8")
    assert "bridge: no such rule set or file; rule sets are yahtzee, " in refusal(
        command("expected", "--rules", "bridge")
    )
    assert "bridge: no such rule set; there are yahtzee, " in refusal(command("rules", "bridge"))
    assert 'bad.toml: category a: points: expected "sum" or a whole' in refusal(
        command("expected", "--rules", str(bad))
    )
    assert "cannot be read: No such file" in refusal(command("expected", "--rules", str(tmp_path / "none.toml")))
    assert "no instruction set 'vax' here" in refusal(command("expected", YAHTZEE_CLUSTER_ISA="vax"))


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
    assert "expected" in (said := refusal(command(*(meant.get(word, word) for word in arguments)))) or "x" * 300 in said


@pytest.mark.parametrize("after_s", [0.03, 0.06, 0.1, 0.2])
def test_interrupted_while_loading(after_s: float) -> None:
    """Ctrl-C while everything is still being loaded ends it without a traceback."""
    program = f"""if True:
        import os, runpy, signal, sys, threading
        threading.Timer({after_s}, os.kill, (os.getpid(), signal.SIGINT)).start()
        sys.argv = ["yahtzee-cluster", "expected"]
        runpy.run_module("yahtzee_cluster", run_name="__main__")
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    line = [sys.executable, "-c", program]
    try:
        result = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.stderr == ""
    assert result.returncode in {-signal.SIGINT, 130}


@pytest.mark.parametrize("arguments", [(), ("solve",), ("expected", "--speed"), ("expected", "--rules")])
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    """Wrong usage is answered with one line and exit code 2, never with a traceback."""
    result = command(*arguments)
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
    assert command("rules", PYTHONIOENCODING="ascii").returncode == 0
    file = tmp_path / "x.toml"
    file.write_text('name = "Würfel"\n[[category]]\nname = "a"\nface = 1\n', encoding="utf-8")
    assert "rules      W?rfel\n" in command("expected", "--rules", str(file), PYTHONIOENCODING="ascii").stdout


def test_interrupt_stops_a_large_table(tmp_path: Path) -> None:
    """Ctrl-C ends even the largest table at once, with exit code 130 and without a traceback."""
    file = tmp_path / "large.toml"
    boxes = "".join(f'[[category]]\nname = "{i}"\nface = {i % 6 + 1}\n' for i in range(16))
    file.write_text(f'name = "large"\nupper_threshold = 99\nupper_bonus = 9\n{boxes}', encoding="utf-8")
    command = [sys.executable, "-m", "yahtzee_cluster", "expected", "--rules", str(file)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what ignores it hands that on
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, before)
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
