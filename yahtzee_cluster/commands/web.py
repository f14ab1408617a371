"""`yahtzee-cluster web`: the coach in the browser."""

from __future__ import annotations

import argparse
import ipaddress
from importlib import import_module

from yahtzee_cluster.commands.shared import count
from yahtzee_cluster.errors import UsageError, needs
from yahtzee_cluster.output import write_stdout
from yahtzee_cluster.text import shown

LOOPBACK = "127.0.0.1"
PORT = 8213
MOST_PORT = 65535


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Play in the browser, with advice, against the program's strategies, with a review of every game, practice and "
        "any position to explore. The page asks no other machine, and only this machine can open it. Ctrl-C ends the "
        "server. Needs the extra `web`."
    )
    parser.epilog = f"Examples: {parser.prog}; {parser.prog} --no-browser --port 9000 --games games"
    parser.add_argument("--port", type=count, metavar="N", help=f"the port (default: {PORT}, or any if that is in use)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    parser.add_argument("--games", metavar="DIR", help="a folder in which the page keeps games as files")
    parser.add_argument(
        "--address",
        default=LOOPBACK,
        metavar="IP",
        help=f"the address to listen on (default: {LOOPBACK}); another machine can reach it only with --allow-network",
    )
    parser.add_argument(
        "--allow-network",
        action="store_true",
        help="permit an --address that other machines can reach; there are no passwords",
    )


def run(options: argparse.Namespace) -> str:
    """Serve the page until an interrupt."""
    try:
        address = ipaddress.ip_address(options.address)
    except ValueError:
        raise UsageError(f"address: expected an IP address, found {shown(options.address)}") from None
    if not address.is_loopback and not options.allow_network:
        raise UsageError(f"address: other machines may reach {address}, without a password; say --allow-network")
    if options.port is not None and not 0 <= options.port <= MOST_PORT:
        raise UsageError(f"port: expected 0 to {MOST_PORT}, found {options.port}")
    with needs("web", "starlette and uvicorn", extra="web"):
        import_module("starlette"), import_module("uvicorn")
    listening, server, saved_games = (
        import_module(f"yahtzee_cluster.web.{name}") for name in ("listening", "server", "saved_games")
    )
    games = None if options.games is None else saved_games.SavedGames(options.games)
    listener = listening.bound(options.address, options.port, PORT)
    host = f"[{address}]" if address.version == 6 else str(address)
    url = f"http://{host}:{listener.getsockname()[1]}/"
    write_stdout(url)
    is_open = not address.is_loopback
    listening.serve(listener, server.Server(games, is_open=is_open), url, opens_browser=not options.no_browser)
    return ""
