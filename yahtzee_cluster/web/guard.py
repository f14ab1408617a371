"""What every request has to pass, and what every response says to the browser.

A page of another site must not be able to ask this server anything, not even by a name of its own that leads to this
machine. So requests must name it by an address or by `localhost`, and come from its own page.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Middleware that refuses requests from elsewhere, and adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._names = {"localhost", socket.gethostname().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_encoded(HEADERS.items())]
            await send(message)

        problem = self._problem(scope) if scope["type"] == "http" else "only HTTP is spoken here"
        if problem is None:
            await self._app(scope, receive, send_with_headers)
        elif scope["type"] == "http":
            body = json.dumps({"version": 1, "error": problem}).encode()
            headers = _encoded([("content-type", "application/json"), ("content-length", str(len(body)))])
            await send_with_headers({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _problem(self, scope: Scope) -> str | None:
        """Why a request is refused."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            if name in {b"host", b"origin"} and name.decode() in headers:
                return f"expected one {name.decode()}"
            headers[name.decode("latin-1")] = value.decode("latin-1")
        host = headers.get("host", "")
        if not self._is_here(host):
            return "the Host header names another machine; use the address that the program printed"
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            return "the request comes from another site"
        site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
        if site not in {"none", "same-origin"} and not (mode == "navigate" and scope["method"] == "GET"):
            return "the request comes from another site"
        return None

    def _is_here(self, host: str) -> bool:
        """Whether a Host header is an address or a name of this machine."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in self._names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]
