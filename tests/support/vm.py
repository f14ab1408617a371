"""A virtual machine that sees this machine's files, under a kernel of its own: Debian's, in QEMU.

What it changes vanishes with it, but for the files in one folder, the desk, which both sides see. `tools/vm-here.sh`
fetches what it takes. Without the processor's help (KVM) QEMU emulates every instruction, and all takes twenty times as
long.
"""

import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VM = ROOT / ".vm"
PACKAGES = VM / "root"
DESK = Path("/run/desk")
"""Where the machine finds what is shared with it."""
MEMORY = "4G"


def missing() -> str | None:
    """Why there can be no such machine here, if so."""
    if (VM / "ready").exists():
        return None
    return f"no {VM.name} here; `make nfs` fetches it"


def accelerator() -> str:
    """KVM where the processor lends itself to it, else emulation."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return "kvm" if flags & {"vmx", "svm"} and os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


def boot(desk: Path, script: str, timeout_s: float) -> None:
    """Run a shell script in a new machine, as root; what goes to its console goes to stderr."""
    (desk / "begin").write_text(script)
    folders = {"root": (Path("/"), ",readonly=on"), "packages": (PACKAGES, ",readonly=on"), "desk": (desk, "")}
    command: list[object] = ["setpriv", "--pdeathsig", "KILL", PACKAGES / "usr/bin/qemu-system-x86_64"]
    command += ["-accel", accelerator(), "-cpu", "max", "-smp", min(os.cpu_count() or 1, 4), "-m", MEMORY]
    command += ["-nic", "none", "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot"]
    command += ["-kernel", VM / "kernel", "-initrd", VM / "initrd.gz"]
    command += ["-append", "console=ttyS0 quiet loglevel=3 panic=-1"]
    for firmware in ("qemu", "seabios"):
        command += ["-L", PACKAGES / "usr/share" / firmware]
    for name, (folder, mode) in folders.items():
        shared = f"local,path={folder},mount_tag={name},security_model=none,multidevs=remap{mode}"
        command += ["-virtfs", shared]
    libraries = PACKAGES / "usr/lib" / f"{platform.machine()}-linux-gnu"
    subprocess.run(
        list(map(str, command)),
        env=os.environ | {"LD_LIBRARY_PATH": str(libraries)},
        stdin=subprocess.DEVNULL,
        stdout=2,
        timeout=timeout_s,
        check=True,
    )
