"""Runs the server on a socket until it is interrupted."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import threading
import webbrowser
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.web.server import Server

MOST_CONNECTIONS = 512
STALL_S = 10.0
"""The time in which a connection has to send a request, and to take what is sent to it."""
GRACE_S = 1


def bound(address: str, port: int | None, default_port: int) -> socket.socket:
    """A socket that listens on a port; without one, on the default port, or on any if that is in use."""
    number = default_port if port is None else port
    try:
        return _listener(address, number)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return bound(address, 0, default_port)
        raise UsageError(f"port: cannot listen on {address}, port {number}: {error.strerror}") from error


def _listener(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(MOST_CONNECTIONS)
    except OSError:
        found.close()
        raise
    return found


def serve(listener: socket.socket, server: Server, url: str, *, opens_browser: bool) -> None:
    """Answer requests until an interrupt; what a browser asks before the server is ready waits for it."""
    config = uvicorn.Config(
        server.app,
        loop="asyncio",
        http=_Connection,
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    if opens_browser:
        threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()
    _Runner(config, server).run([listener])


class _Runner(uvicorn.Server):
    """Gives up all questions when it is told to end: whoever waits for an answer is told so at once."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._server = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what is cut off now is no failure
        self._server.close()
        await super().shutdown(sockets)


class _Connection(H11Protocol):
    """A connection that is cut off when it stalls, for which uvicorn itself would wait without end."""

    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            others = (one for one in self.connections if isinstance(one, _Connection) and one is not self)
            next((one for one in others if one.is_idle and not one.transport.is_closing()), self).transport.abort()
        self._watch = self.loop.call_later(STALL_S, self._look, None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        self.resume_writing()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _look(self, last: object) -> None:
        """Cut off a connection that has sent no request since the last look."""
        if self.is_idle and self.cycle is last:
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(STALL_S, self._look, self.cycle)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(STALL_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
