"""Runs the server on a socket until it is interrupted."""

from __future__ import annotations

import ipaddress
import socket
import threading
import webbrowser

import uvicorn

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.web.saved_games import SavedGames
from yahtzee_cluster.web.server import Server

MOST_CONNECTIONS = 512
GRACE_S = 1


def bound(address: str, port: int | None, default_port: int) -> socket.socket:
    """A socket that listens on a port; without one, on the default port, or on any if that is in use."""
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    ports = [default_port, 0] if port is None else [port]
    for last, number in enumerate(ports, 1 - len(ports)):
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((address, number))
            found.listen(MOST_CONNECTIONS)
        except OSError as error:
            found.close()
            if last == 0:
                raise UsageError(f"port: cannot listen on {address}, port {number}: {error.strerror}") from error
        else:
            return found
    raise AssertionError


def serve(listener: socket.socket, games: SavedGames | None, url: str, *, opens_browser: bool) -> None:
    """Answer requests until an interrupt; open a browser once the server is ready."""
    config = uvicorn.Config(
        Server(games).app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_S,
        lifespan="on",
    )
    if opens_browser:
        threading.Timer(0.5, webbrowser.open, [url]).start()
    uvicorn.Server(config).run([listener])
