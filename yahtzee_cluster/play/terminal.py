"""A conversation at a terminal, or with lines from a file or a pipe."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module

from yahtzee_cluster.output import write_stdout
from yahtzee_cluster.play.conversation import Conversation


def talk(conversation: Conversation) -> str:
    """Hold a conversation until the player leaves or the game is over; return the last line to print."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import_module("readline")  # lets the player edit what is typed
    write_stdout(conversation.advice())
    while True:
        try:
            line = input(conversation.prompt if sys.stdin.isatty() else "")
        except (EOFError, KeyboardInterrupt) as end:
            if sys.stdin.isatty():
                write_stdout("")  # after the prompt
            if isinstance(end, KeyboardInterrupt):
                raise
            break
        if conversation.leaves(line):
            break
        write_stdout(conversation.hear(line))
    return f"{conversation.state.position.score} points."
