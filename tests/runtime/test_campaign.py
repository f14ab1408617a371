"""A short campaign of faults; `make torture` holds a long one."""

import json
import shutil
import subprocess
import sys

import pytest
from beowulf import MAPPED
from campaign import AT_REST, LIVE
from launch import SUPPORT

CAMPAIGN = SUPPORT / "campaign.py"


def missing() -> str | None:
    """Why no file system can be mounted here, if so."""
    if shutil.which("unshare") is None:
        return "no `unshare` here"
    attempt = ["unshare", "--mount", *MAPPED, "mount", "-t", "tmpfs", "none", "/mnt"]
    result = subprocess.run(attempt, capture_output=True, text=True, check=False)
    return f"no file system can be mounted here: {result.stderr.strip()}" if result.returncode else None


MISSING = missing()


@pytest.mark.skipif(bool(MISSING), reason=str(MISSING))
def test_campaign() -> None:
    """Every kind of fault, at random moments of real runs: nothing is lost, and nothing sound is computed again."""
    flags = ["--runs", "2", "--faults", str(len(LIVE | AT_REST)), "--ranks", "4", "--flags", "--rules yaht --G 6"]
    result = subprocess.run(
        [sys.executable, str(CAMPAIGN), *flags], capture_output=True, text=True, timeout=600, check=False
    )
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    assert (report["lost"], result.returncode) == ("", 0)
    assert set(report["injected"]) == {*LIVE, *AT_REST}
