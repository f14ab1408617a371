"""`yahtzee-cluster man`: the manual page."""

from __future__ import annotations

import argparse

from yahtzee_cluster import __version__
from yahtzee_cluster.commands import cli
from yahtzee_cluster.errors import needs


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print the manual page of this program, with the flags of all commands."
    parser.epilog = f"Examples: {parser.prog} | man -l -; {parser.prog} >~/.local/share/man/man1/{cli.PROGRAM}.1"


def run(_: argparse.Namespace) -> str:
    """Make the page from the parsers of all verbs."""
    with needs("man", "argparse-manpage", extra="shell"):
        from argparse_manpage.manpage import Manpage
    parser = cli.make_parser()
    page = Manpage(parser)
    page.description = str(parser.description).rstrip(".")
    page.source, page.manual = f"{cli.PROGRAM} {__version__}", "User commands"
    return str(page).rstrip("\n")
