"""Several hosts on one machine: namespaces with networks, host names and mounts of their own, joined by a bridge.

All of them live inside one namespace of networks and mounts, and vanish with the process that made it. No rights are
needed but those of making user namespaces.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from launch import MPIRUN

UNSHARED = ["--mount", "--net", "--uts"]
MAPPED = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
NETWORK = "10.99.0"

HUB = f"""
set -e
exec 3<&0  # ends when the hosts are wanted no more
mount -t tmpfs none /run
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
ip address add {NETWORK}.254/24 dev br0
for i in $(seq $1); do
    ip netns add h$i
    ip -n h$i link set lo up
    ip link add v$i type veth peer name eth0 netns h$i
    ip link set v$i master br0 up
    ip -n h$i address add {NETWORK}.$i/24 dev eth0
    ip -n h$i link set eth0 up
    ip netns exec h$i unshare --mount --uts bash -c "hostname h$i; echo \\$\\$ > /run/h$i; exec cat" <&3 &
    until [ -s /run/h$i ]; do sleep 0.01; done
done
cat > /run/on_host <<'EOF'
#!/bin/bash
# Called by the launcher of ranks as if it were ssh: flags, an address, a command.
while [[ $1 == -* ]]; do shift; done
host=h${{1##*.}}; shift
exec nsenter --target "$(cat /run/$host)" --mount --net --uts bash -c "$*"
EOF
chmod +x /run/on_host
echo up
exec cat
"""

MEND = """
ip link set v$1 up
until ip -n h$1 link show eth0 | grep -q 'state UP'; do sleep 0.01; done
ip neighbour flush all
for name in $(ip netns list | cut -d ' ' -f 1); do
    ip -n $name neighbour flush all  # nobody remembers that somebody was not there
done
"""


def missing() -> str | None:
    """Why there can be no hosts here, if so."""
    for tool in ("ip", "unshare", "nsenter"):
        if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"no `{tool}` here"
    attempt = ["unshare", *UNSHARED, *MAPPED, "sh", "-c", "mount -t tmpfs none /run && ip link add br0 type bridge"]
    result = subprocess.run(attempt, capture_output=True, text=True, check=False)
    return f"no namespaces here: {result.stderr.strip()}" if result.returncode else None


@dataclass
class Beowulf:
    """Hosts h1, h2, … that see the same files, and each other over TCP only."""

    n_hosts: int
    hub_pid: int

    def inside(self, command: list[str]) -> list[str]:
        """The command, run on the machine that all hosts hang on."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self.hub_pid), "--mount", "--net", "--uts", *user, *command]

    def on_host(self, host: int, command: list[str]) -> list[str]:
        """The command, run on one of the hosts."""
        return self.inside(["/run/on_host", f"{NETWORK}.{host}", shlex.join(command)])

    def mpirun(self, flags: list[str], n_on_host: dict[int, int], *programs: list[object]) -> list[str]:
        """The command that starts ranks on hosts, host by host: of each program as many as its first entry says."""
        placed = ",".join(f"{NETWORK}.{host}:{n_ranks}" for host, n_ranks in n_on_host.items())
        command = [MPIRUN, *flags, "-localhost", f"{NETWORK}.254", "-launcher", "ssh", "-launcher-exec", "/run/on_host"]
        command += ["-hosts", placed]
        for n_ranks, *arguments in programs:
            command += ["-n", str(n_ranks), sys.executable, *map(str, arguments), ":"]
        return self.inside(["env", "UCX_TLS=tcp,self", f"PATH={os.environ['PATH']}:/usr/sbin:/sbin", *command[:-1]])

    @contextmanager
    def cut_off(self, host: int) -> Iterator[None]:
        """A host whose network fails, as long as it is wanted."""
        subprocess.run(self.inside(["ip", "link", "set", f"v{host}", "down"]), check=True)
        try:
            yield
        finally:
            subprocess.run(self.inside(["bash", "-c", MEND, "mend", str(host)]), check=True, timeout=10)


@contextmanager
def hosts(n_hosts: int) -> Iterator[Beowulf]:
    """Some hosts, as long as they are wanted."""
    command = ["unshare", *UNSHARED, *MAPPED, "bash", "-c", HUB, "hub", str(n_hosts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hub:
        assert hub.stdout is not None
        assert hub.stdout.readline() == "up\n"
        yield Beowulf(n_hosts, hub.pid)
        assert hub.stdin is not None
        hub.stdin.close()
