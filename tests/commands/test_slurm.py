"""Batch scripts: their text, and what a real Slurm makes of them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from launch import BESIDE, YACHT_SHA256, YAHT_SHA256, program
from mini_slurm import Slurm, lacking, started, wait_for

from yahtzee_cluster.commands.slurm import Needs, Request, clock, doubt, fewer, script, seconds, time_s
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.runtime.scaling import MOST_RANKS

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "yahtzee_cluster"]
NEEDS = Needs(threads=1, rank_bytes=384 << 20, makespan_s=300.0, table="table")


def directives(text: str) -> dict[str, str]:
    """What a script asks of Slurm."""
    lines = [line.removeprefix("#SBATCH --") for line in text.splitlines() if line.startswith("#SBATCH")]
    return {key: value for key, _, value in (line.partition("=") for line in lines)}


# ---------------------------------------------------------------------------------------------------- the text


def test_what_is_asked_of_slurm() -> None:
    """A script asks for memory for all ranks of a node, cores for all their threads, and a warning to the shell."""
    asked = directives(script(Request("jobs/my.toml", 4, 8, time="1-2"), NEEDS))
    assert (asked["nodes"], asked["ntasks-per-node"], asked["cpus-per-task"]) == ("4", "8", "1")
    assert (asked["mem"], asked["time"], asked["job-name"]) == ("3072M", "1-02:00:00", "my")
    assert (asked["signal"], asked["open-mode"], asked["requeue"]) == ("B:USR1@60", "append", "")
    one = directives(script(Request("jobs/my.toml", 4, 1), Needs(8, (384 << 20) + 1, 300.0, None)))
    assert (one["ntasks-per-node"], one["cpus-per-task"], one["mem"]) == ("1", "8", "385M")


def test_time_from_the_forecast() -> None:
    """Unless told, a script asks for four times the forecast and four minutes; too little time is said to be so."""
    request = Request("jobs/my.toml", 4, 8)
    assert time_s(request, NEEDS) == 4 * 300 + 240
    assert doubt(request, NEEDS) is None
    short = Request("jobs/my.toml", 4, 8, time="5")
    assert doubt(short, NEEDS) == "--time 5 is less than the forecast of 00:05:00; expect requeues"


def test_fewer_would_do() -> None:
    """If fewer nodes, or fewer ranks on one node, have the ranks that are worth it, that is said, with forecasts."""

    def makespan_s(n_ranks: int) -> float:
        return max(100 / (n_ranks - 1), 5.0)

    said = fewer(Request("jobs/my.toml", 8, 8), 16, makespan_s)
    assert said == (
        "--nodes 2 would do, because about 16 ranks are worth it: the forecast is 6.7 s on 16 ranks, and 5.0 s on 64"
    )
    said = fewer(Request("jobs/my.toml", 1, 64), 16, makespan_s)
    assert said is not None
    assert said.startswith("--ranks-per-node 16 would do, because about 16 ranks are worth it: the forecast is 6.7 s")
    said = fewer(Request("jobs/my.toml", 3, 12), 16, makespan_s)
    assert said is not None
    assert said.startswith("--nodes 2 would do, because about 16 ranks are worth it: the forecast is 5.0 s on 24 ranks")
    assert fewer(Request("jobs/my.toml", 2, 8), 16, makespan_s) is None
    assert fewer(Request("jobs/my.toml", 2, 8), 32, makespan_s) is None
    assert fewer(Request("jobs/my.toml", 1, 1), 2, makespan_s) is None
    assert fewer(Request("jobs/my.toml", 1000, 8), MOST_RANKS, makespan_s) is None  # perhaps more are worth it, too


@pytest.mark.parametrize(
    ("settings", "value_s", "subset_s"),
    [("", 135e-9, 30e-6), ('rules = "yacht"\nG = 3', 2e-6, 0.0), ('rules = "yacht"\nG = 3\nthreads = 4', 8e-6, 0.0)],
)
def test_planner_and_scripts_agree(settings: str, value_s: float, subset_s: float, tmp_path: Path) -> None:
    """For 1,024 ranks, a script would do with as many as `plan --scaling` says are worth it, by the same costs."""
    job, costs = tmp_path / "job.toml", tmp_path / "costs.json"
    job.write_text(settings)
    costs.write_text(json.dumps({"costs": asdict(Costs(value_s=value_s, subset_s=subset_s))}))
    worth = json.loads(program("plan", "--scaling", "--json", "--job", job, "--costs", costs).stdout)["worth"]
    asked = ["slurm", "--nodes", 1, "--ranks-per-node", 1024, "--site", ROOT / "slurm" / "site.sh"]
    printed = program(*asked, "--job", job, "--costs", costs)
    assert f": --ranks-per-node {worth} would do, because about {worth} ranks are worth it: " in printed.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 420), ("7:30", 450), ("1:07:30", 4050), ("2-1", 176400), ("2-1:07", 176820), ("2-1:07:30", 176850)],
)
def test_times(text: str, expected: int) -> None:
    """Every form in which Slurm knows times is understood."""
    assert seconds(text) == expected


@given(st.integers(0, 10**7))
def test_times_come_back(time_s: int) -> None:
    """A time as it is written is read as the same time."""
    assert seconds(clock(time_s)) == time_s


@given(st.text(min_size=1))
def test_any_name_of_a_job(name: str) -> None:
    """Whatever a file is called, it reaches the run as one word, and Slurm as a plain name on one line."""
    assume(name.isprintable())
    text = script(Request(f"jobs/{name}", 2, 2, store=name, site=name), NEEDS)
    (run,) = [line for line in text.splitlines() if line.startswith("srun ")]
    assert shlex.split(run)[6:10] == ["--job", f"jobs/{name}", "--store", name]
    assert re.fullmatch(r"[A-Za-z0-9._-]+", directives(text)["job-name"])


@pytest.mark.parametrize("path", sorted((ROOT / "slurm").glob("maxprob-*.sh")), ids=lambda path: path.stem)
def test_scripts_are_what_is_printed(path: Path) -> None:
    """Every script under slurm/ is what the command in it prints."""
    command = re.search(r"^# Printed by: yahtzee-cluster (.*)$", path.read_text(), re.MULTILINE)
    assert command
    printed = subprocess.run(
        [*PROGRAM, *shlex.split(command[1])], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    assert printed.stdout == path.read_text()


REFUSED = {
    "nodes": (["--nodes", "0"], "--nodes: expected a whole number from 1 to 1000000, found 0"),
    "ranks": (["--ranks-per-node", "0"], "--ranks-per-node: expected a whole number from 1 to 1000000, found 0"),
    "threads": (["--threads", "0"], "--threads: expected a whole number from 1 to 1000000, found 0"),
    "time": (["--time", "soon"], "--time: expected minutes, HH:MM:SS or D-HH:MM:SS, found 'soon'"),
    "short time": (["--time", "2"], "--time: expected at least 00:03:00, since the warning may come 00:02:00 before"),
    "job": (["--job", "none.toml"], "none.toml: cannot be read: No such file or directory"),
    "name": (["--store", "a\n#SBATCH --nodes=9"], "--store: expected a name of printable characters, found 'a\\n#SB"),
    "site": (
        ["--site", "none.sh"],
        "none.sh: no such site file here; `yahtzee-cluster jobs site.sh >site.sh` writes one to adapt, and --site",
    ),
    "cache": (["--job", "small.toml"], "no G makes it fit, and none needs less than --cache 1MB"),
    "submit": (
        ["--submit"],
        "--submit: no sbatch on PATH; submit where Slurm is, or without --submit print the script",
    ),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusals(name: str, tmp_path: Path) -> None:
    """Bad input is one line that says what was expected, and code 2."""
    flags, expected = REFUSED[name]
    (tmp_path / "job.toml").write_text('rules = "yacht"\n')
    (tmp_path / "small.toml").write_text('rules = "yacht"\ncache = "1KB"\n')
    (tmp_path / "site.sh").touch()
    known = ["--job", "job.toml", "--nodes", "1", "--ranks-per-node", "2", "--site", "site.sh"]
    result = subprocess.run(
        [*PROGRAM, "slurm", *known, *flags], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert expected in result.stderr


# ------------------------------------------------------------------------------------- a chain without a Slurm

SBATCH = """#!/bin/bash
cat >/dev/null
echo "$*" >>submitted
n=$(wc -l <submitted)
[ "$n" -lt "$REFUSED" ] || eval "$ANSWER"
echo 'sbatch: a remark' >&2
echo "10$n;cluster"
"""
INVALID = "printf 'sbatch: error: Invalid account\\nsbatch: error: Batch job submission failed\\n' >&2; exit 1"
SCANCEL = 'echo "$*" >>cancelled'


def chained(
    place: Path, refused: int = 9, *words: str, answer: str = INVALID, scancel: str = SCANCEL, site: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The chain, with an sbatch that takes the jobs before this one, and answers in this way from then on."""
    words = words or ("1", "2")
    if site is not None:
        (place / "site.sh").write_text(site)
    (place / ".venv").symlink_to(sys.prefix)
    (place / "slurm").symlink_to(ROOT / "slurm")
    (place / "yacht.toml").write_text('rules = "yacht"\ntarget = 300\nG = 3\n')
    (place / "bin").mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": f"#!/bin/bash\n{scancel}\n"}.items():
        (place / "bin" / name).write_text(text)
        (place / "bin" / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "REFUSED": str(refused),
        "ANSWER": answer,
    }
    environment |= {} if site is None else {"SITE": "site.sh"}
    line = ["slurm/chain.sh", "yacht.toml", "table", *words]
    return subprocess.run(line, cwd=place, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_chain_of_four(tmp_path: Path) -> None:
    """Each job of the chain waits for the one before it, by its number."""
    result = chained(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "plan 101, solve 102, verify 103, report 104\n"
    waiting = re.findall(r"--dependency=(\S*)", (tmp_path / "submitted").read_text())
    assert waiting == ["afterok:101", "afterok:102", "afterok:103"]


@pytest.mark.parametrize(("refused", "name"), [(1, "plan"), (2, "solve"), (3, "verify"), (4, "report")])
def test_chain_that_sbatch_refuses(refused: int, name: str, tmp_path: Path) -> None:
    """Whichever job sbatch refuses, the chain says so on one line, cancels those before it, and submits no other."""
    result = chained(tmp_path, refused)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    before = " ".join(str(100 + number) for number in range(1, refused))
    assert result.stderr.startswith(f"slurm/chain.sh: {name}: sbatch fails with code 1: sbatch: error: Invalid account")
    assert len((tmp_path / "submitted").read_text().splitlines()) == refused
    if before:
        assert result.stderr.endswith(f"; cancelled {before}\n")
        assert (tmp_path / "cancelled").read_text() == f"{before}\n"


def test_chain_that_cannot_be_cancelled(tmp_path: Path) -> None:
    """If scancel fails as well, the numbers of the jobs that are left are said."""
    result = chained(tmp_path, refused=3, scancel="exit 1")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.endswith("; cancel 101 102 with scancel\n")


@pytest.mark.parametrize(
    "answer",
    [
        "exit",
        "echo rubbish; exit",
        "echo 0; exit",
        "echo 7 8; exit",
        "printf '7\\n8\\n'; exit",
        "echo 101; exit",
        "kill $$",
    ],
)
def test_chain_that_gets_no_number(answer: str, tmp_path: Path) -> None:
    """Whatever else than one new number sbatch answers, the chain ends there, and the job before it is cancelled."""
    result = chained(tmp_path, refused=2, answer=answer)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("slurm/chain.sh: solve: sbatch ")
    assert result.stderr.endswith("; cancelled 101\n")
    assert (tmp_path / "cancelled").read_text() == "101\n"


@pytest.mark.parametrize("flag", ["--submit", "--su", "--store=other", "--job", "--nodes", "--rank"])
def test_chain_of_one_run(flag: str, tmp_path: Path) -> None:
    """Flags that would make the run another one than that which is planned, verified and reported are refused."""
    result = chained(tmp_path, 9, "1", "2", flag, "3")
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"slurm/chain.sh: {flag}: not here; JOB, STORE, ")
    assert not (tmp_path / "submitted").exists()


def test_chain_plans_for_the_ranks_of_the_run(tmp_path: Path) -> None:
    """The plan is for all nodes times all ranks, also where their numbers begin with zeros."""
    assert chained(tmp_path, 9, "010", "08").returncode == 0
    plan, *_ = (tmp_path / "submitted").read_text().splitlines()
    assert "--ranks 80" in plan


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ("PYTHON=.venv/bin/python\nfalse\n", "./site.sh: its last command failed, with code 1"),
        ("MPIRUN=mpirun\n", "./site.sh: PYTHON names no program, but ''"),
        ("PYTHON=/none/python\n", "./site.sh: PYTHON names no program, but '/none/python'"),
    ],
)
def test_site_files_that_will_not_do(site: str, said: str, tmp_path: Path) -> None:
    """A site file that fails or names no Python is told on one line before anything is submitted."""
    result = chained(tmp_path, site=site)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"slurm/chain.sh: {said}\n")
    assert not (tmp_path / "submitted").exists()


def test_script_says_that_the_site_file_fails(tmp_path: Path) -> None:
    """So does the batch script, which then ends as for wrong usage, and `--submit`."""
    (tmp_path / "job.toml").write_text('rules = "yacht"\nG = 3\n')
    (tmp_path / "site.sh").write_text("PATH=/nowhere\n[ -z set ]\n")
    asked = [*PROGRAM, "slurm", "--job", "job.toml", "--nodes", "1", "--ranks-per-node", "2", "--site", "site.sh"]
    printed = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    ended = subprocess.run(["bash"], input=printed, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "the site file's last command failed, with code 1\n")
    result = subprocess.run([*asked, "--submit"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "yahtzee-cluster: site.sh: its last command failed\n"


def test_chain_without_sbatch(tmp_path: Path) -> None:
    """Where there is no Slurm, the chain says so on one line."""
    (tmp_path / "site.sh").write_text("PYTHON=none\nPATH=/nowhere\n")
    command = [shutil.which("bash") or "bash", str(ROOT / "slurm" / "chain.sh"), "job.toml", "table", "2", "2"]
    environment = os.environ | {"SITE": "site.sh"}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "slurm/chain.sh: no sbatch on PATH; submit where Slurm is\n"


# ------------------------------------------------------------------------------------------------- a real Slurm


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A cluster of four nodes."""
    if reason := lacking():
        pytest.skip(reason)
    if not BESIDE.exists():
        pytest.skip("the site file of the checkout is for the MPICH that `make setup` brings")
    with started(tmp_path_factory.mktemp("slurm")) as slurm:
        yield slurm


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that has of the checkout what batch scripts need."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "slurm").symlink_to(ROOT / "slurm")
    (tmp_path / "yacht.toml").write_text('rules = "yacht"\ntarget = 300\nG = 3\n')
    (tmp_path / "yaht.toml").write_text('rules = "yaht"\ntarget = 345\nG = 6\n')
    return tmp_path


def submitted(slurm: Slurm, place: Path, *flags: object) -> str:
    """The number of a job that the program submitted."""
    return slurm.run(*PROGRAM, "slurm", "--nodes", 2, *flags, "--submit", cwd=place)


@pytest.mark.parametrize(
    "flags",
    [["--ranks-per-node", 2], ["--ranks-per-node", 2, "--launcher", "mpirun"], ["--ranks-per-node", 1, "--threads", 2]],
)
def test_submitted(flags: list[object], slurm: Slurm, checkout: Path) -> None:
    """A submitted job finds all its ranks by either launcher, and computes the same table as without Slurm."""
    number = submitted(slurm, checkout, "--job", "yacht.toml", *flags)
    job = slurm.ended(number)
    log = (checkout / f"yacht-{number}.log").read_text()
    assert (job["JobState"], job["Restarts"]) == ("COMPLETED", "0"), log
    assert f"ranks={4 if flags[1] == 2 else 2} threads={2 if flags[1] == 1 else 1} " in log
    assert f"sha256     {YACHT_SHA256}" in log
    assert (checkout / "runs" / "yacht-maxprob-300-G3").is_dir()


def test_warned_and_resumed(slurm: Slurm, checkout: Path) -> None:
    """Warned in the middle, a job is requeued and computes what is missing, nothing twice, and the hash is the same."""
    kept, numbers = {}, {}
    for launcher in ("srun", "mpirun"):
        flags = ["--job", "yaht.toml", "--ranks-per-node", 2, "--launcher", launcher, "--store", launcher]
        numbers[launcher] = submitted(slurm, checkout, *flags)
        wait_for(partial(half_done, checkout / launcher), lambda: slurm.run("squeue"))
        slurm.run("scancel", "--batch", "--signal=USR1", numbers[launcher])  # what Slurm does when time runs out
        slurm.until(numbers[launcher], "PENDING")
        kept[launcher] = committed(checkout / launcher)
    for launcher, number in numbers.items():
        job = slurm.ended(number)
        log = (checkout / f"yaht-{number}.log").read_text()
        assert (job["JobState"], job["Restarts"]) == ("COMPLETED", "1"), log
        assert "exit code 75: requeued, to go on from there" in log
        assert f"sha256     {YAHT_SHA256}\nclasses    512, {512 - len(kept[launcher])} computed now" in log
        assert 30 < len(kept[launcher]) < 512
        assert kept[launcher].items() <= committed(checkout / launcher).items()


def half_done(table: Path) -> bool:
    """Whether some classes are there."""
    return len(committed(table)) > 30


def committed(table: Path) -> dict[str, int]:
    """The classes of a table that are there, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (table / "classes").glob("*-*")}


def test_requeued_or_not(slurm: Slurm, checkout: Path) -> None:
    """Wrong usage is not tried again, a failure three times, and what was cancelled stays so though its run stopped."""
    # As soon as one rank has failed, srun ends the other, which would leave with a code of its own: both reach the end.
    together = "trap '' TERM; touch $0.$SLURM_PROCID; until [ -e $0.0 ] && [ -e $0.1 ]; do sleep 0.05; done; exit"
    ends = {
        "wrong": f"{together} 2",
        "fails": f"{together} 1",
        "cancelled": "trap 'exit 75' TERM USR1; touch begun; sleep 60 & wait",
    }
    numbers = {}
    for name, commands in ends.items():
        (checkout / f"{name}.program").write_text(f"#!/bin/bash\n{commands}\n")
        (checkout / f"{name}.program").chmod(0o755)
        (checkout / f"{name}.sh").write_text(f"PYTHON=./{name}.program\n")
        flags = ["--job", "yacht.toml", "--ranks-per-node", 1, "--site", f"{name}.sh"]
        numbers[name] = submitted(slurm, checkout, *flags)
    slurm.until(numbers["cancelled"], "RUNNING")
    wait_for((checkout / "begun").exists, lambda: slurm.run("squeue"))
    slurm.run("scancel", numbers["cancelled"])
    states = {name: slurm.ended(number) for name, number in numbers.items()}
    found = {name: (job["JobState"], job["Restarts"]) for name, job in states.items()}
    logs = [path.read_text() for path in sorted(checkout.glob("yacht-*.log"))]
    assert found == {"wrong": ("FAILED", "0"), "fails": ("FAILED", "3"), "cancelled": ("CANCELLED", "0")}, logs
    assert (states["wrong"]["ExitCode"], states["fails"]["ExitCode"]) == ("2:0", "1:0")


def test_chain(slurm: Slurm, checkout: Path) -> None:
    """The chain plans, solves, verifies and reports, one after the other, under names with blanks and quotes too."""
    (checkout / "a job's.toml").write_text('rules = "yacht"\ntarget = 300\n')
    said = slurm.run("slurm/chain.sh", "a job's.toml", "a table's", 2, 2, cwd=checkout)
    numbers = dict(step.split() for step in said.split(", "))
    assert list(numbers) == ["plan", "solve", "verify", "report"]
    jobs = [slurm.ended(number) for number in numbers.values()]
    assert [job["JobState"] for job in jobs] == ["COMPLETED"] * 4
    assert all(job["EndTime"] <= after["StartTime"] for job, after in pairwise(jobs))
    logs = {name: (checkout / f"{name}-{number}.log").read_text() for name, number in numbers.items()}
    assert "Advised: --G " in logs["plan"]
    assert "classes    80, 80 computed now" in logs["solve"]
    assert "classes    80 of 80 there, all sound" in logs["verify"]
    assert f"sha256     {YACHT_SHA256}\nclasses    80, all there already" in logs["report"]


def test_chain_ends_where_it_fails(slurm: Slurm, checkout: Path) -> None:
    """Where a step fails, those that wait for it are not left in the queue; what cannot work is refused at once."""
    slurm.run(
        sys.executable, "-m", "yahtzee_cluster.run", "--rules", "yaht", "--target", 9, "--store", checkout / "other"
    )
    said = slurm.run("slurm/chain.sh", "yacht.toml", "other", 1, 1, cwd=checkout)
    numbers = dict(step.split() for step in said.split(", "))
    states = [slurm.ended(number)["JobState"] for number in numbers.values()]
    assert states == ["COMPLETED", "FAILED", "CANCELLED", "CANCELLED"]
    refused = subprocess.run(
        ["slurm/chain.sh", "none.toml", "table", "2", "2"],
        cwd=checkout, env=slurm.environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "yahtzee-cluster: none.toml: cannot be read: No such file or directory\n"


def test_chain_that_a_real_slurm_refuses(slurm: Slurm, checkout: Path) -> None:
    """Where Slurm takes the plan and refuses the run, which names a partition that is not there, no job is left."""
    other = 'case $* in *=solve*) set -- --partition=none "$@" ;; esac'
    (checkout / "site.sh").write_text(f'. slurm/site.sh\nsbatch() {{ {other}; command sbatch "$@"; }}\n')
    refused = subprocess.run(
        ["slurm/chain.sh", "yacht.toml", "table", "1", "2"], env={**slurm.environment, "SITE": "site.sh"},
        cwd=checkout, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    said = r"slurm/chain.sh: solve: sbatch fails with code 1: sbatch: error: .*; cancelled (\d+)\n"
    found = re.fullmatch(said, refused.stderr)
    assert found, refused.stderr
    slurm.ended(found[1])
    assert not slurm.run("squeue", "--noheader")
