"""An NFS server and hosts that mount what it exports, inside a virtual machine made for nothing else.

The server is the machine itself. The hosts are namespaces with networks of their own, so to the kernel's NFS each of
them is a client of its own, with its own cache, connection and locks; a bridge joins all of them.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import beowulf
from beowulf import NETWORK, Beowulf
from launch import MPIRUN

ADDRESS = f"{NETWORK}.253"
EXPORT = Path("/export")
"""The shared disk, as the server sees it."""
SHARED = Path("/shared")
"""The same, as hosts see it."""
N_HOSTS = 3
RENEWAL_S = 10
"""After so long the server forgets a client that says nothing, and so long it waits for its old clients when it is new;
the shortest that it takes.
"""

DAEMONS = f"""
set -e
for user in _rpc statd; do echo "$user:x:1:65534::/:/bin/false" >> /etc/passwd; done
for module in nfsd nfsv3 nfsv4 ext4 loop bridge veth; do modprobe $module; done
mkdir -p {EXPORT} {SHARED} /var/lib/nfs/rpc_pipefs /var/lib/nfs/nfsdcld
truncate -s 1G /run/disk
mkfs.ext4 -q /run/disk
mount -o loop /run/disk {EXPORT}
mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs
mount -t nfsd nfsd /proc/fs/nfsd
ip link set lo up
rpcbind -w
rpc.statd --no-notify
nfsdcld
exportfs -i -o rw,no_root_squash,no_subtree_check,fsid=0 '*:{EXPORT}'
rpc.mountd
echo {RENEWAL_S} > /proc/fs/nfsd/nfsv4leasetime
echo {RENEWAL_S} > /proc/fs/nfsd/nfsv4gracetime
ip link add server type veth peer name v0 netns $1
ip link set server up
ip address add {ADDRESS}/24 dev server
nsenter --target $1 --net ip link set v0 master br0 up
"""

LOCKING = """
set -e
mount -t tmpfs none /run
mount -t tmpfs none /var/lib/nfs
mkdir /var/lib/nfs/sm /var/lib/nfs/sm.bak
touch /var/lib/nfs/state
rpcbind -w
rpc.statd --no-notify
"""
"""What NFS 3 wants on a client before it locks files between hosts."""


@dataclass
class Site:
    """The server and its clients."""

    hosts: Beowulf

    def run(self, host: int, *command: object) -> str:
        """What a command says on a host; it must succeed."""
        words = self.on(host, *command)
        return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=120).stdout

    def on(self, host: int, *command: object) -> list[str]:
        """A command, run on a host."""
        return self.hosts.on_host(host, list(map(str, command)))

    def python(self, host: int, *arguments: object) -> list[str]:
        """Python, run on a host."""
        return self.on(host, sys.executable, *arguments)

    def ranks(self, hosts: Sequence[int], arguments: Sequence[object], *flags: object) -> list[object]:
        """One rank on each of these hosts, the first of them the master.

        To MPI they are on one host, and talk through its memory; all that goes over the network is NFS.
        """
        command: list[object] = [MPIRUN, *flags]
        for host in hosts:
            command += ["-n", 1, *self.python(host, *arguments), ":"]
        return command[:-1]

    @contextmanager
    def mounted(self, options: str) -> Iterator[None]:
        """The shared disk, mounted on every host with these options."""
        path = EXPORT if "vers=3" in options else "/"
        for host in range(1, N_HOSTS + 1):
            self.run(host, "mount", "-t", "nfs", "-o", options, f"{ADDRESS}:{path}", SHARED)
        try:
            yield
        finally:
            for host in range(1, N_HOSTS + 1):
                self.run(host, "umount", SHARED)

    def serve(self) -> None:
        """Serve files, from now on or again."""
        subprocess.run(["rpc.nfsd", "8"], check=True, timeout=60)

    def stop_serving(self) -> None:
        """End the server as a restart does: its clients wait."""
        subprocess.run(["rpc.nfsd", "0"], check=True, timeout=60)

    @contextmanager
    def away(self, how: str) -> Iterator[None]:
        """The server is not there, as long as it is wanted."""
        if how == "stopped":
            self.stop_serving()
        else:
            subprocess.run(["ip", "link", "set", "server", "down"], check=True)
        try:
            yield
        finally:
            if how == "stopped":
                self.serve()
            else:
                subprocess.run(["ip", "link", "set", "server", "up"], check=True)


@contextmanager
def site() -> Iterator[Site]:
    """A server and its clients; they end with the machine."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    with beowulf.hosts(N_HOSTS) as hosts:
        subprocess.run(["bash", "-c", DAEMONS, "daemons", str(hosts.hub_pid)], check=True, timeout=120)
        here = Site(hosts)
        here.serve()
        for host in range(1, N_HOSTS + 1):
            here.run(host, "bash", "-c", LOCKING)
        yield here
