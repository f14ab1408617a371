"""A real Slurm of four nodes on this host, with its own daemons, ports, key and directory."""

import getpass
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

N_NODES = 4
FETCHED = Path(__file__).resolve().parents[2] / ".slurm"
BASE = FETCHED / "root" if (FETCHED / "ready").exists() else Path("/")
"""Where Debian's packages are: what `make slurm` unpacked, or else what is installed."""
PLUGINS = next(BASE.glob("usr/lib/*/slurm-wlm"), None)
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
CONF = """
ClusterName=mini
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
PluginDir={plugins}
AuthType=auth/munge
CredType=cred/munge
# A job that was requeued starts a second after its credentials have expired.
AuthInfo=socket={home}/munge.socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=2,batch_sched_delay=0,sched_min_interval=100000
SlurmdParameters=config_overrides
KillWait=5
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/%n.log
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A cluster that runs; programs find it by their environment."""

    environment: Mapping[str, str]

    def run(self, *command: object, cwd: Path | None = None) -> str:
        """What a command prints; it must succeed."""
        words = [str(word) for word in command]
        done = subprocess.run(
            words, env=self.environment, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def job(self, number: str) -> dict[str, str]:
        """What Slurm says of a job."""
        words = self.run("scontrol", "show", "job", "--oneliner", number).split()
        return {key: value for key, _, value in (word.partition("=") for word in words)}

    def ended(self, number: str) -> dict[str, str]:
        """A job that has ended, however."""
        return self.until(number, *ENDED)

    def until(self, number: str, *states: str) -> dict[str, str]:
        """A job that has come to one of these states."""
        wait_for(lambda: self.job(number)["JobState"] in states, lambda: self.job(number))
        return self.job(number)


def wait_for(true: Callable[[], bool], said: Callable[[], object], timeout_s: float = 60) -> None:
    """Wait until something is true, and fail with what is said if it takes too long."""
    until = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < until, said()
        time.sleep(0.05)


def lacking() -> str | None:
    """Why no Slurm can be started here, if so."""
    try:
        socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, flags=socket.AI_ADDRCONFIG)
    except OSError:
        return "Slurm does not start on a host that has no address"
    daemons = [_daemon(name) for name in ("slurmctld", "slurmd", "slurmstepd", "munged")]
    there = PLUGINS and all(daemon.exists() for daemon in daemons)
    return None if there else "no Slurm of Debian's here; `make slurm` fetches it"


@contextmanager
def started(home: Path) -> Iterator[Slurm]:
    """A Slurm that keeps everything in one directory, until the end of the block."""
    assert PLUGINS
    libraries = [] if Path("/") == BASE else [str(PLUGINS), str(PLUGINS.parent)]
    environment = os.environ | {
        "SLURM_CONF": str(home / "slurm.conf"),
        "PATH": f"{BASE / 'usr/bin'}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": ":".join([*libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
    }
    slurm = Slurm(environment)
    _configure(home)
    with ExitStack() as daemons:
        for name, command in _commands(home).items():
            daemons.enter_context(_running(command, home / f"{name}.out", environment))
        idle = ["sinfo", "--noheader", "--format=%T %D"]
        wait_for(
            lambda: (
                subprocess.run(idle, env=environment, capture_output=True, text=True, check=False).stdout
                == f"idle {N_NODES}\n"
            ),
            lambda: "\n".join(path.read_text(errors="replace") for path in home.glob("*.out")),
            timeout_s=20,
        )
        daemons.callback(_empty, slurm)
        yield slurm


def _daemon(name: str) -> Path:
    plain = BASE / "usr/sbin" / name
    return plain if plain.exists() else plain.with_name(f"{name}-wlm")


def _configure(home: Path) -> None:
    """Write the configuration and the key; ports are free now, and hardly taken a moment later."""
    with ExitStack() as sockets:
        taken = [sockets.enter_context(socket.socket()) for _ in range(1 + N_NODES)]
        for each in taken:
            each.bind(("127.0.0.1", 0))
        port, *ports = [each.getsockname()[1] for each in taken]
    host = socket.gethostname().partition(".")[0]
    conf = CONF.format(host=host, port=port, user=getpass.getuser(), plugins=PLUGINS, home=home)
    for number, port in enumerate(ports, 1):
        conf += f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=4000\n"
        (home / f"n{number}").mkdir()
    (home / "state").mkdir()
    (home / "slurm.conf").write_text(conf)
    (home / "munge.key").touch(0o600)
    (home / "munge.key").write_bytes(os.urandom(128))


def _commands(home: Path) -> dict[str, list[str]]:
    """The daemons, in the order in which they are started."""
    munge = {option: f"{home}/munge.{option}" for option in ("socket", "pid", "log", "seed", "key")}
    files = [f"--{option}{'' if option == 'socket' else '-file'}={path}" for option, path in munge.items()]
    node = [str(_daemon("slurmd")), "-D", "-d", str(_daemon("slurmstepd")), "-N"]
    return {
        "munged": [str(_daemon("munged")), "--foreground", "--force", *files],
        "slurmctld": [str(_daemon("slurmctld")), "-D"],
        **{f"slurmd-{number}": [*node, f"n{number}"] for number in range(1, N_NODES + 1)},
    }


@contextmanager
def _running(command: list[str], output: Path, environment: Mapping[str, str]) -> Iterator[None]:
    with output.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as daemon:
        try:
            yield
        finally:
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


def _empty(slurm: Slurm) -> None:
    """Leave no job behind, whose processes would outlive the daemons."""
    slurm.run("scancel", "--user", getpass.getuser())
    wait_for(lambda: not slurm.run("squeue", "--noheader"), lambda: slurm.run("squeue"))
