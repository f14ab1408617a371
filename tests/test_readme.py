"""The README works when it is pasted, line by line, into a fresh shell in the checkout."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """The commands of the README in their order, without those that make the environment and run the tests."""
    pasted = re.findall(r"^(?: {4}|\$ )([a-z.].*)", README, re.MULTILINE)
    return [command.partition("  #")[0].strip() for command in pasted if not command.startswith("make ")]


def test_readme_works_when_pasted(tmp_path: Path) -> None:
    """Every command succeeds, in a shell that knows nothing of this environment, and prints what is shown."""
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    pasted = commands()
    assert pasted[0] == ". .venv/bin/activate"
    assert sum(command.startswith("mpirun ") for command in pasted) >= 2
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "yahtzee-maxprob-800-G5").symlink_to("again")  # the table that `make run` would have made
    order = sorted(pasted[1:], key=lambda command: not command.startswith("mpirun "))
    script = "\n".join([pasted[0], *(f"echo '$ {command}'; {{ {command}; }} < /dev/null || exit" for command in order)])
    result = subprocess.run(
        ["env", "-i", f"HOME={tmp_path}", "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "bash", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    for shown in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        assert shown in result.stdout
    assert "54.188692 %" in result.stdout
