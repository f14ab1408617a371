"""The job as a user starts it: the real program on real ranks."""

import json
import os
import platform
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from beowulf import MAPPED
from launch import IS_HYDRA, MPIRUN, PERMITTED, YACHT_SHA256, descendants, mpirun, started
from small_games import SMALL

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.game.rule_files import preset_text

RUN = ["-m", "yahtzee_cluster.run"]
YACHT = [*RUN, "--rules", "yacht", "--target", "300"]


def summary(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def alone(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    variables = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=variables)


@pytest.mark.parametrize(
    ("n_ranks", "flags"),
    [
        (1, ["--G", "0"]),
        (1, ["--G", "12", "--threads", "2"]),
        (2, ["--G", "3", "--threads", "3"]),
        (3, ["--G", "auto", "--cache", "1MB"]),
        (5, ["--G", "chance,yacht,aces"]),
        (5, ["--G", "8", "--cache", "600KB"]),
    ],
)
def test_same_bytes_however_computed(n_ranks: int, flags: list[str], tmp_path: Path) -> None:
    """The table's hash is the same for any ranks, fixed set, threads and cache; a second run computes nothing."""
    command = [*YACHT, *flags, "--store", tmp_path / "table", "--json"]
    first = summary(mpirun(n_ranks, command))
    assert first["table_sha256"] == YACHT_SHA256
    assert (first["ranks"], first["classes_computed"]) == (n_ranks, first["classes"])
    again = summary(mpirun(n_ranks, command))
    assert (again["table_sha256"], again["classes_computed"]) == (YACHT_SHA256, 0)


def test_without_mpirun(tmp_path: Path) -> None:
    """One process computes the same table by the same schedule."""
    result = summary(alone(*YACHT, "--store", tmp_path / "table", "--json"))
    assert (result["ranks"], result["table_sha256"]) == (1, YACHT_SHA256)


def test_verb_on_ranks(tmp_path: Path) -> None:
    """`mpirun -n 3 yahtzee-cluster run` is the same command; bad flags are refused once, by the master."""
    verb = ["-m", "yahtzee_cluster", "run", "--rules", "yacht", "--target", "300"]
    result = summary(mpirun(3, [*verb, "--store", tmp_path / "table", "--json"]))
    assert (result["ranks"], result["table_sha256"]) == (3, YACHT_SHA256)
    refused = mpirun(3, [*verb, "--keep", "al"])
    assert refused.returncode == 2
    assert "yahtzee-cluster run: argument --keep: invalid choice: 'al'; did you mean all?\n" in refused.stderr
    assert refused.stderr.count("did you mean") == 1


NO_MPI = {"MPI4PY_LIBMPI": "/nowhere", "MPI4PY_MPIABI": "mpich"}
"""With these, mpi4py from wheels finds no MPI."""


def test_without_mpi(tmp_path: Path) -> None:
    """One process needs no MPI: it computes the same table, also behind a launcher that has started no other."""
    for name, environment in {"alone": {}, "one rank": {"PMI_SIZE": "1", "PMIX_RANK": "0"}}.items():
        flags = ["--store", tmp_path / name, "--json"]
        result = summary(alone(*YACHT, *flags, **NO_MPI, **environment))
        assert (result["ranks"], result["table_sha256"]) == (1, YACHT_SHA256)


@pytest.mark.parametrize(
    "environment",
    [
        {"PMI_SIZE": "3", "PMI_RANK": "0"},
        {"OMPI_COMM_WORLD_SIZE": "3", "PMIX_RANK": "2"},
        {"SLURM_STEP_NUM_TASKS": "3", "SLURM_LOCALID": "0"},
        {"PMIX_RANK": "0"},
        {"PALS_RANKID": "0"},
    ],
)
def test_ranks_without_mpi(environment: dict[str, str], tmp_path: Path) -> None:
    """A rank of several that cannot load an MPI is refused with the extra that brings one, and computes nothing."""
    result = alone(*YACHT, "--store", tmp_path / "table", **NO_MPI, **environment)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert 'pip install "yahtzee_cluster[mpich]" brings one, with its mpirun' in result.stderr
    assert not (tmp_path / "table").exists()


def test_rank_that_only_knows_its_number(tmp_path: Path) -> None:
    """A rank whose launcher tells its number alone, and whose MPI finds no other, does not compute by itself."""
    result = alone(*YACHT, "--store", tmp_path / "table", PALS_RANKID="2")
    assert (result.returncode, result.stdout) == (2, "")
    assert "PALS_RANKID says that 3 ranks were started, but they do not find each other" in result.stderr
    assert not (tmp_path / "table").exists()


def test_one_rank_of_a_host_speaks_for_all(tmp_path: Path) -> None:
    """Behind a real mpirun, ranks without an MPI say so once."""
    result = mpirun(3, [*YACHT, "--store", tmp_path / "table"], NO_MPI)
    assert result.returncode == 2
    assert result.stderr.count("yahtzee_cluster[mpich]") == 1


FAILING = """
import sys
from yahtzee_cluster import run
from yahtzee_cluster.runtime import command
from yahtzee_cluster.runtime.mpi import world
from yahtzee_cluster.objectives.probabilities import MaxProb
from yahtzee_cluster.engine.schedule import Schedule

failing = int(sys.argv.pop(1))
solver, handle, events = MaxProb.solver, Schedule.handle, []

def failing_solver(problem):
    solve = solver(problem)
    def fails(block, below):
        if block.subsets[0].bit_count() == 5:
            raise ArithmeticError("planted")
        solve(block, below)
    return fails

def failing_handle(schedule, event):
    events.append(event)
    if len(events) == 30:
        raise ArithmeticError("planted")
    return handle(schedule, event)

if world().rank == failing:
    MaxProb.solver, Schedule.handle = failing_solver, failing_handle
raise SystemExit(command.main(run.COMMAND))
"""


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_exception_on_each_rank(rank: int, tmp_path: Path) -> None:
    """An exception on any rank ends the job with a code, the rank and the class; the next run goes on from there."""
    flags = ["--rules", "yacht", "--target", "300", "--G", "3", "--store", tmp_path / "table", "--json"]
    result = mpirun(3, ["-c", FAILING, str(rank), *flags], timeout_s=60)
    assert result.returncode != 0
    assert "ArithmeticError: planted" in result.stderr
    assert f"rank {rank}" in result.stderr
    if rank:
        last = result.stderr.strip().splitlines()[-1]
        assert last.startswith(f"python -m yahtzee_cluster.run: rank {rank} on ")
        assert "could not solve class 05-" in last
    resumed = summary(mpirun(3, [*RUN, *flags]))
    assert resumed["table_sha256"] == YACHT_SHA256
    assert 0 < resumed["classes_computed"] < resumed["classes"]


def test_killed_and_resumed(tmp_path: Path) -> None:
    """After kill -9 of the whole job, the same command computes what is missing, and the hash is the same."""
    flags = [*RUN, "--rules", "yaht", "--G", "6", "--store", str(tmp_path / "table"), "--json"]
    command = [MPIRUN, "-n", "3", sys.executable, *flags]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | PERMITTED,
        start_new_session=True,
    ) as job:
        while len(list((tmp_path / "table" / "classes").glob("*"))) < 30:
            assert job.poll() is None
            time.sleep(0.01)
        os.killpg(job.pid, signal.SIGKILL)
    resumed = summary(mpirun(3, flags))
    assert 0 < resumed["classes_computed"] < resumed["classes"] - 20
    whole = summary(alone(*RUN, "--rules", "yaht", "--G", "2", "--store", tmp_path / "other", "--json"))
    assert resumed["table_sha256"] == whole["table_sha256"]


def test_inside_mpi() -> None:
    """The tests of messages pass on three ranks."""
    path = Path(__file__).parent / "test_messages.py"
    result = mpirun(3, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--only-mpi", path])
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("10 passed") == 3


REFUSED = {
    "target": (["--target", "0"], "target: expected a whole number from 1 to 1000000, found '0'"),
    "target above all scores": (
        ["--rules", "yacht", "--target", "2000"],
        "target: the highest score of yacht is 303, found 2000",
    ),
    "store where nothing can be made": (
        ["--store", "/proc/none"],
        "/proc/none: No such file or directory; name another directory with --store",
    ),
    "rules": (["--rules", "bridge"], "bridge: no such rule set or file; rule sets are yahtzee, "),
    "G too large": (["--G", "14"], "G: expected at most 13 elements, found 14"),
    "G with many classes": (
        ["--rules", "yacht", "--objective", "race", "--G", "20"],
        "G: 20 elements make more than 16,384 classes; take fewer, or name them",
    ),
    "G with many digits": (["--G", "0000000005"], "G: expected at most 13 elements, found 0000000005"),
    "G in other digits": (["--G", "٣"], "G: expected at most 13 elements, found ٣"),
    "threads": (["--threads", "9" * 5000], "argument --threads: expected a whole number from 1 to 1024, found '999"),
    "rules too long": (["--rules", "x" * 300], "no such rule set or file; rule sets are yahtzee, "),
    "store too long": (["--store", "x" * 300], "cannot be read: File name too long"),
    "G unknown": (["--G", "aces,kings"], "G: no element 'kings'; expected a number, auto, or some of aces, "),
    "cache unit": (["--cache", "12XB"], "expected a size such as 256MB or 2GB, found '12XB'"),
    "cache": (
        ["--cache", "64MB", "--G", "3"],
        "--cache 64MB is too small for |G| = 3, which needs 217MB; the smallest that fits is --G 6, or take --cache",
    ),
    "cache at all": (["--rules", "yacht", "--cache", "1KB"], "no G makes it fit, and none needs less than --cache 1MB"),
    "job": (["--job", "none.toml"], "none.toml: cannot be read: No such file or directory"),
    "flag": (["--targt", "3"], "unrecognized arguments: --targt 3; see --help"),
    "store": (["--store", "/dev/null/x"], "/dev/null/x: Not a directory; name another directory with --store"),
    "store that is a file": (
        ["--store", "/dev/null"],
        "/dev/null: Not a directory; name another directory with --store",
    ),
    "store of no name": (["--store", ""], "store: expected a directory, found nothing; is a variable unset?"),
    "store that is an address": (["--store", "s3://bucket/x"], "s3://bucket/x: is an address; name a directory on a "),
}


REFUSED_TOGETHER = {"flag", "job", "rules", "G unknown", "cache", "store that is a file"}
"""By the parser, the files of a job, its problem, the fixed set, the memory, and the disk."""


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusals(name: str, tmp_path: Path) -> None:
    """Bad input is one line that says what was expected, code 2; of each kind, one also with mpirun."""
    flags, expected = REFUSED[name]
    program = [*RUN, *(["--store", str(tmp_path)] if "--store" not in flags else []), *flags]
    for result in (alone(*program), *([mpirun(3, program)] if name in REFUSED_TOGETHER else [])):
        assert (result.returncode, result.stdout) == (2, "")
        lines = [line for line in result.stderr.splitlines() if "yahtzee_cluster.run: " in line]
        assert len(lines) == 1
        assert expected in lines[0]
        assert "Traceback" not in result.stderr


def test_ranks_that_do_not_find_each_other() -> None:
    """A process that was started as one of three, and is alone, says so instead of computing everything three times."""
    result = alone(*YACHT, OMPI_COMM_WORLD_SIZE="3")
    assert result.returncode == 2
    assert "OMPI_COMM_WORLD_SIZE says that 3 ranks were started, but they do not find each other" in result.stderr


SMALL_SHM = """
mount -t tmpfs -o size=$1 none /dev/shm && head -c $2 /dev/zero > /dev/shm/ballast && shift 2 && exec "$@"
"""


@pytest.mark.skipif(not IS_HYDRA, reason="what other MPIs need of it is not known")
@pytest.mark.parametrize(
    ("size", "taken", "n_ranks", "refused"),
    [("1m", 0, 3, 29), ("28m", 0, 3, 29), ("29m", 0, 3, None), ("47m", 0, 16, 48), ("500m", 515_000_000, 3, 17)],
)
def test_little_shared_memory(size: str, taken: int, n_ranks: int, refused: int | None, tmp_path: Path) -> None:
    """Where /dev/shm has too little room for the ranks of a host, one line says so, with code 2; MPI would crash."""
    alone_here = ["unshare", "--mount", *MAPPED, "sh", "-c", SMALL_SHM, "sh", size, str(taken)]
    if subprocess.run([*alone_here, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    command = [*alone_here, MPIRUN, "-n", str(n_ranks), sys.executable, *RUN, "--rules", "yacht", "--target", "20"]
    with started([*command, "--store", tmp_path / "table"]) as job:
        result = job.end()
    assert result.returncode == (2 if refused else 0), result.stderr
    if refused:
        assert re.fullmatch(
            rf".*/dev/shm has room for \d+ MB, and {n_ranks} ranks on this host need {refused} MB of it .*\n",
            result.stderr,
        )


def test_another_table_is_refused(tmp_path: Path) -> None:
    """A store of another problem is refused by the first field that differs, one that is cut by another G as well."""
    assert alone(*YACHT, "--G", "2", "--store", tmp_path).returncode == 0
    other = alone(*RUN, "--rules", "yacht", "--target", "200", "--store", tmp_path)
    assert other.returncode == 2
    assert f"{tmp_path}: holds target 300, 200 asked for; name another --store\n" in other.stderr
    game = alone(*RUN, "--rules", "yahtzee", "--target", "300", "--store", tmp_path)
    assert f"{tmp_path}: holds yacht, yahtzee asked for; name another --store\n" in game.stderr
    (tmp_path / "yacht.toml").write_text(preset_text("yacht").replace("points = 50", "points = 60"))
    edited = alone(*RUN, "--rules", tmp_path / "yacht.toml", "--target", "300", "--store", tmp_path)
    assert f"{tmp_path}: holds rules.category.11.points 50, 60 asked for" in edited.stderr
    cut = alone(*YACHT, "--G", "chance", "--store", tmp_path)
    assert cut.returncode == 2
    assert "is cut by another G: " in cut.stderr


def test_a_table_is_found_whatever_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --G and --store, a table under ./runs is gone on with, whatever its G, the last written first."""
    monkeypatch.chdir(tmp_path)
    small = [*RUN, "--rules", "yacht", "--target", "30", "--json"]
    first = summary(mpirun(3, [*small, "--G", "1"]))
    again = summary(alone(*small))
    assert (again["G"], again["classes_computed"]) == (first["G"], 0)
    later = summary(alone(*small, "--G", "3"))
    assert summary(mpirun(3, small))["G"] == later["G"]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["yacht-maxprob-30-G1", "yacht-maxprob-30-G3"]
    for n, header in enumerate(("{", None), start=7):
        spoilt = tmp_path / "runs" / f"yacht-maxprob-30-G{n}"
        shutil.copytree(tmp_path / "runs" / "yacht-maxprob-30-G1", spoilt)
        shutil.rmtree(spoilt / "classes")
        if header:
            (spoilt / "zarr.json").write_text(header)
        assert summary(alone(*small))["G"] == later["G"]
    edited = tmp_path / "yacht.toml"
    edited.write_text(preset_text("yacht").replace("points = 50", "points = 60"))
    another = alone(*RUN, "--rules", edited, "--target", "30", "--json", "--G", "2")  # has the same name, and is none
    assert summary(alone(*RUN, "--rules", edited, "--target", "30", "--json"))["G"] == summary(another)["G"]


def test_what_no_fixed_set_makes_fit_is_refused_at_once() -> None:
    """Of a table that is too large whatever G, one line says so in seconds, before any fixed set is looked at."""
    for flags in ([], ["--G", "8"]):
        refused = subprocess.run(
            [sys.executable, *RUN, "--objective", "race", "--rules", "yahtzee", *flags],
            capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert re.search(r"--cache 256MB is too small, whatever G: the table has more than \d+ TB", refused.stderr)


def test_job_file(tmp_path: Path) -> None:
    """A job file says everything that flags can, rules lie beside it, and flags go before it."""
    (tmp_path / "my.toml").write_text(SMALL["plain"])
    job = tmp_path / "job.toml"
    job.write_text('rules = "my.toml"\ntarget = 20\nG = ["any"]\ncache = "1MB"\nthreads = 2\nobjective = "maxprob"\n')
    result = summary(alone(*RUN, "--job", job, "--target", "30", "--store", tmp_path / "table", "--json"))
    assert (result["target"], result["G"], result["threads"]) == (30, ["any"], 2)


def test_named_jobs(tmp_path: Path) -> None:
    """Every file under jobs/ is a job; the quick one runs, and prints the published mean and deviation."""
    jobs = Path(__file__).parents[2] / "jobs"
    targets = {path.name: Job.read(str(path)).target for path in jobs.glob("*.toml")}
    assert targets["maxprob-800.toml"] == 800
    assert targets["maxprob-all.toml"] == 1575
    result = mpirun(3, [*RUN, "--job", jobs / "expected.toml", "--store", tmp_path / "table"])
    assert "mean       254.5896   published 254.5896\nstd        59.6117   published 59.6117\n" in result.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "aim = 3",
            "aim: expected no such field here, only G, cache, threads, store, keep, objective, rules, target, goal",
        ),
        ("target = -1", "target: expected a whole number from 1 to 1000000, found -1"),
        (
            'objective = "fun"',
            "objective: expected one of maxprob, expected, distribution, scores, approx, race, race-wins, utility",
        ),
        ('cache = "much"', "expected a size such as 256MB or 2GB, found 'much'"),
        ("G = 2.5", "G: expected"),
        ("threads = true", "threads: expected a whole number from 1 to 1024, found True"),
    ],
)
def test_bad_job_files(line: str, expected: str, tmp_path: Path) -> None:
    """A field of a job file that makes no sense is refused by name."""
    job = tmp_path / "job.toml"
    job.write_text(line + "\n")
    result = alone(*RUN, "--job", job)
    assert result.returncode == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


def displayed(n_ranks: int, table: Path, **environment: str) -> bytes:
    """What a run writes on a terminal."""
    ours, theirs = pty.openpty()
    launcher = [MPIRUN, "-n", str(n_ranks)] if n_ranks > 1 else []
    command = [*launcher, sys.executable, *RUN, "--rules", "yaht", "--store", str(table)]
    variables = os.environ | PERMITTED | {"TERM": "xterm", **environment}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=variables) as job:
        os.close(theirs)
        seen = b""
        try:
            while more := os.read(ours, 65536):
                seen += more
        except OSError:  # the other side is closed
            pass
        assert job.wait(60) == 0
    os.close(ours)
    return seen


@pytest.mark.parametrize("n_ranks", [1, 3])
def test_live_display(n_ranks: int, tmp_path: Path) -> None:
    """On a terminal one sees what is done, how fast, and what each rank does, behind mpirun too."""
    seen = displayed(n_ranks, tmp_path / "table")
    for word in (b" classes   ", b" values/s   ", b" s left", b"computes "):
        assert word in seen


COLOUR = rb"\x1b\[(?:\d*;)*(?:3[0-8]|4[0-8]|9[0-7])[;m]"


def test_no_color(tmp_path: Path) -> None:
    """With NO_COLOR, the display on a terminal has no colours; without it, it has."""
    assert re.search(COLOUR, displayed(1, tmp_path / "coloured", NO_COLOR=""))
    plain = displayed(1, tmp_path / "plain", NO_COLOR="1")
    assert b" values/s" in plain
    assert not re.search(COLOUR, plain)


def test_log_file(tmp_path: Path) -> None:
    """Behind mpirun, what goes into a file is all there, from the first line on; nobody takes it for a terminal."""
    command = [
        MPIRUN,
        "-n",
        "2",
        sys.executable,
        *RUN,
        "--rules",
        "yacht",
        "--target",
        "20",
        "--store",
        str(tmp_path / "t"),
    ]
    with (tmp_path / "log").open("wb") as log:
        subprocess.run(command, stdout=log, stderr=log, env=os.environ | PERMITTED, timeout=60, check=True)
    text = (tmp_path / "log").read_text()
    assert "\0" not in text
    assert "objective=maxprob" in text.splitlines()[0]


def listening(pid: int) -> set[str]:
    """The sockets on which a process listens for the network."""
    links = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            links.append(str(entry.readlink()))
    mine = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    lines = [
        line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()
    ]
    return {line[9] for line in lines if line[3] == "0A"} & mine


def test_nobody_listens(tmp_path: Path) -> None:
    """On one host, no rank listens on the network but for what its launcher has open itself."""
    flags = [*RUN, "--rules", "yaht", "--G", "6", "--store", tmp_path / "table"]
    for launcher in ([], [MPIRUN, "-n", "3"]):
        with started([*launcher, sys.executable, *flags]) as job:
            job.wait_until(lambda: "objective=" in job.stderr.read_text())
            launchers = set().union(*map(listening, {job.pid, *descendants(job.pid)} - {*job.ranks.values(), job.pid}))
            for pid in job.ranks.values() if launcher else [job.pid]:
                assert listening(pid) <= launchers
        shutil.rmtree(tmp_path / "table")


def test_anonymous(tmp_path: Path) -> None:
    """A table can be made without a word of where, when and with what."""
    for flags, said in ([], True), (["--anonymous"], False):
        table = tmp_path / str(said)
        assert alone(*RUN, "--rules", "yacht", "--target", "20", "--store", table, *flags).returncode == 0
        texts = [path.read_text() for path in table.rglob("zarr.json")]
        assert any(f'"host": "{platform.node()}"' in text for text in texts) == said
        assert any("began" in text or "python" in text for text in texts) == said
