"""The program's commands, without a process of their own: that saves the start, a third of a second of processor time.

What the process itself does, tests/commands/test_cli.py shows: it starts the program each time, with `launch.program`.
"""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

from yahtzee_cluster.commands import cli


def command(*arguments: object, said: str = "") -> CompletedProcess[str]:
    """Run any command but `run`, which ends its process, and `plan`, whose every step the tests would validate here."""
    words = [*map(str, arguments)]
    assert words[0] not in {"run", "plan"}
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), patch.object(sys, "stdin", io.StringIO(said)):
        try:
            code = cli.main(words)
        except SystemExit as end:  # raised by argparse
            code = int(end.code or 0)
    return CompletedProcess(words, code, stdout.getvalue(), stderr.getvalue())
