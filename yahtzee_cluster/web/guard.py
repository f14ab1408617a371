"""What every request has to pass, and what every response says to the browser.

A page of another site must not be able to ask this server anything, not even by a name of its own that leads to this
machine. So requests must name it by an address or by `localhost`, and come from its own page.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import socket
from collections.abc import Iterable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from yahtzee_cluster.play.answer import VERSION

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::\d{1,5})?", re.ASCII | re.IGNORECASE)
ONCE = {"host", "origin", "sec-fetch-site", "sec-fetch-mode", "content-type"}
"""Headers that a request must not have twice, because whoever reads them next may choose the other one."""
LOOK_EVERY_S = 0.5
"""How often a connection is read from although nothing is expected, to notice that it has ended."""


class Guard:
    """Middleware that refuses requests from elsewhere, and adds the headers.

    `is_open` says whether other machines may ask, by any address or by the name of this machine.
    """

    def __init__(self, app: ASGIApp, *, is_open: bool) -> None:
        self._app, self._is_open = app, is_open
        self._names = {"localhost", *([socket.gethostname().lower()] if is_open else [])}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_encoded(HEADERS.items())]
            await send(message)

        async def receive_in_time() -> Message:
            while True:  # a request that is sent too early pauses reading, and then hides that the connection ends
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY_S):
                        return await receive()

        problem = self._problem(scope)
        if problem is None:
            await self._app(scope, receive_in_time, send_with_headers)
            return
        body = json.dumps({"version": VERSION, "error": problem}).encode()
        headers = _encoded([("content-type", "application/json"), ("content-length", str(len(body)))])
        await send_with_headers({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _problem(self, scope: Scope) -> str | None:
        """Why a request is refused."""
        headers: dict[str, str] = {}
        for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
            if name in ONCE and name in headers:
                return f"expected one header {name}"
            headers[name] = value
        host = headers.get("host", "")
        if not self._is_here(host):
            return "the Host header names another machine; use the address that the program printed"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "the request comes from another site"
        site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
        if site not in {"none", "same-origin"} and not (mode == "navigate" and scope["method"] == "GET"):
            return "the request comes from another site"
        return None

    def _is_here(self, host: str) -> bool:
        """Whether a Host header is an address or a name of this machine."""
        found = HOST.fullmatch(host)
        if not found:
            return False
        if (found[2] or "").lower() in self._names:
            return True
        try:
            address = ipaddress.ip_address(found[1] or found[2])
        except ValueError:
            return False
        return address.is_loopback or self._is_open


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]
