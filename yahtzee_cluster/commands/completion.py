"""`yahtzee-cluster completion`: the file with which a shell completes commands and flags."""

from __future__ import annotations

import argparse

from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import needs


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print the file with which a shell completes the commands and flags of this program."
    parser.epilog = f"Example: {parser.prog} bash >~/.local/share/bash-completion/completions/{cli.PROGRAM}"
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell that reads it")


def run(options: argparse.Namespace) -> str:
    """Make the file from the parsers of all verbs."""
    with needs("completion", "shtab", extra="shell"):
        import shtab
    paths = {"FILE": shtab.FILE, "NAME|FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
    parser = cli.make_parser()
    for action in cli.actions(parser):
        if action.metavar in paths:
            action.complete = paths[str(action.metavar)]  # type: ignore[attr-defined]  # where shtab looks for it
    return shtab.complete(parser, options.shell).rstrip("\n")
