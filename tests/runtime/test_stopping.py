"""Being asked to stop: every signal, at every rank, with and without time enough."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from launch import IS_HYDRA, MPIRUN, YAHT, Job, finished, n_classes, signal_to, slow, started

from yahtzee_cluster.errors import StoppedError
from yahtzee_cluster.runtime.signals import HYDRA, StopRequest

LAST = "what was committed is kept, and the same command goes on from there\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the table that nobody disturbed."""
    return str(finished(2, tmp_path_factory.mktemp("whole") / "table")["table_sha256"])


def the_launcher(job: Job) -> int:
    return job.pid


def the_master(job: Job) -> int:
    return job.ranks[0]


def a_worker(job: Job) -> int:
    return job.ranks[2]


@pytest.mark.parametrize(
    ("signum", "whom"),
    [
        pytest.param(signal.SIGTERM, the_launcher, marks=pytest.mark.skipif(not IS_HYDRA, reason="kills its ranks")),
        pytest.param(signal.SIGINT, the_launcher, marks=pytest.mark.skipif(not IS_HYDRA, reason="kills its ranks")),
        pytest.param(signal.SIGUSR1, the_launcher, marks=pytest.mark.skipif(IS_HYDRA, reason="has other uses for it")),
        (signal.SIGTERM, the_master),
        (signal.SIGINT, the_master),
        (signal.SIGTERM, a_worker),
    ],
)
def test_ranks_stop_on_request(signum: int, whom: Any, whole: str, tmp_path: Path) -> None:
    """Whichever process is asked, the job ends with code 75 and one line; the same command computes only the rest."""
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", sys.executable, *YAHT, "--store", table]) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        signal_to(whom(job), signum)
        result = job.end(20)
    assert result.returncode == 75
    assert "table_sha256" not in result.stdout
    complaints = [line for line in result.stderr.splitlines(keepends=True) if "yahtzee_cluster.run: " in line]
    assert len(complaints) == 1
    assert f"stopped on request ({signal.Signals(signum).name}" in complaints[0]
    assert complaints[0].endswith(LAST)
    there = n_classes(table)
    assert sorted(path.name for path in table.iterdir()) == ["classes", "index", "zarr.json"]
    resumed = finished(3, table)
    assert (resumed["table_sha256"], resumed["classes_computed"]) == (whole, resumed["classes"] - there)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_one_process_stops_on_request(signum: int, whole: str, tmp_path: Path) -> None:
    """A run without mpirun stops in the same way."""
    table = tmp_path / "table"
    with started([sys.executable, *YAHT, "--store", table]) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        signal_to(job.pid, signum)
        result = job.end(20)
    assert (result.returncode, result.stdout) == (75, "")
    assert result.stderr.endswith(f"stopped on request ({signal.Signals(signum).name}); {LAST}")
    assert "Traceback" not in result.stderr
    there = n_classes(table)
    resumed = finished(1, table)
    assert (resumed["table_sha256"], resumed["classes_computed"]) == (whole, resumed["classes"] - there)


@pytest.mark.parametrize("n_ranks", [1, 3])
@pytest.mark.parametrize(("slow_s", "in_time"), [(1.5, True), (60, False)])
def test_grace(n_ranks: int, slow_s: float, in_time: bool, tmp_path: Path) -> None:
    """A class that is being computed is committed if it takes no longer than the grace, and is given up otherwise."""
    table = tmp_path / "table"
    flags = ["--rules", "yaht", "--G", "0", "--grace", "10" if in_time else "1", "--store", table]
    launcher = [MPIRUN, "-n", n_ranks] if n_ranks > 1 else []
    with started([*launcher, *slow(slow_s, *flags)]) as job:
        job.wait_until(job.is_slow)
        before, asked = n_classes(table), time.monotonic()
        signal_to(job.ranks[0] if n_ranks > 1 else job.pid, signal.SIGTERM)
        result = job.end(30)
    assert result.returncode == 75, result.stderr
    assert time.monotonic() - asked < 8
    assert n_classes(table) == before + in_time
    assert (table / "classes" / "03-0").exists() == in_time


def test_usr1_belongs_to_hydra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among ranks that Hydra has started, SIGUSR1 says that one has died, and is no request; elsewhere it is one."""
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)}
    try:
        for launched_by_hydra in (True, False):
            monkeypatch.delenv(HYDRA, raising=False)
            if launched_by_hydra:
                monkeypatch.setenv(HYDRA, "7")
            request = StopRequest()
            request.listen()
            signal.raise_signal(signal.SIGUSR1)
            assert request.by == (None if launched_by_hydra else "SIGUSR1")
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def test_the_first_request_counts() -> None:
    """Asked again, a run still has the time that it was first given."""
    request = StopRequest(grace_s=0.05)
    request.check()
    request.check_time()
    request.take("SIGTERM")
    request.check_time()
    time.sleep(0.06)
    request.take("SIGINT")
    with pytest.raises(TimeoutError):
        request.check_time()
    with pytest.raises(StoppedError, match=r"\(SIGTERM\)"):
        request.check()


@pytest.mark.parametrize("flag", ["--grace", "--lease"])
@pytest.mark.parametrize("value", ["0", "-1", "soon", "1.5", "9999999"])
def test_bad_times(flag: str, value: str) -> None:
    """A grace or a lease is a whole number of seconds."""
    result = subprocess.run(
        [sys.executable, *YAHT, flag, value], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 2
    assert "expected" in result.stderr
    assert result.stderr.count("\n") == 1


def test_ctrl_c_while_everything_is_being_loaded(tmp_path: Path) -> None:
    """Before there is anything to stop, Ctrl-C ends the process without a story."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Impatient())\n"
    )
    command = [sys.executable, "-m", "yahtzee_cluster.run", "--store", str(tmp_path / "table")]
    variables = os.environ | {"PYTHONPATH": str(tmp_path)}
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")
