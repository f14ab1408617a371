"""The server of the page: its files, and the questions of the page as JSON over HTTP.

Cheap questions, such as advice for the highest expected score, are answered at once; all others by worker processes of
a lower priority, so that they keep no cheap one waiting. A question is given up when its asker has left.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import Fields
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.play.answer import VERSION
from yahtzee_cluster.play.question import parsed
from yahtzee_cluster.web.guard import Guard
from yahtzee_cluster.web.questions import (
    DEFAULT_RULES,
    KINDS,
    Advisers,
    answer,
    facts_of,
    is_cheap,
    rules_asked,
    strategies_known,
)
from yahtzee_cluster.web.saved_games import SavedGames
from yahtzee_cluster.web.workers import BusyError, Workers

MOST_BODY = 200_000
"""The most bytes of a question."""
BODY_WITHIN_S = 10.0
"""The time within which a question has to arrive."""
N_WORKERS = 2
BUILT_IN = 16
"""More than there are built-in games, so that none of them is ever dropped."""
LINES = "application/x-ndjson"
"""The form of an answer with its progress before it: a JSON object a line."""
PAGE = resources.files("yahtzee_cluster") / "web" / "page"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}

Handler = Callable[[Request], Awaitable[Response]]


class Server:
    """The application, with what its handlers share."""

    def __init__(self, games: SavedGames | None = None) -> None:
        self._games = games
        self._advisers = Advisers(BUILT_IN)
        self._solving: dict[str, asyncio.Lock] = {}
        self._workers: Workers | None = None
        self._files = {
            entry.name: _Static(entry.name, entry.read_bytes()) for entry in PAGE.iterdir() if entry.is_file()
        }
        self._facts = {
            "version": VERSION,
            "rules": [facts_of(load_rules(name)) for name in preset_names()],
            "strategies": strategies_known(),
            "saves": games is not None,
        }
        routes = [
            Route("/api/facts", self._about),
            Route("/api/games", self._list_games),
            Route("/api/games/{name}", self._read_game, methods=["GET"]),
            Route("/api/games/{name}", self._write_game, methods=["PUT"]),
            Route("/api/{kind}", self._ask, methods=["POST"]),
            Route("/{file}", self._file),
            Route("/", self._file),
        ]
        self.app = Starlette(
            routes=routes,
            middleware=[Middleware(Guard)],
            exception_handlers={
                HTTPException: _refusal,
                UsageError: _refusal,
                BusyError: _refusal,
                Exception: _failure,
            },
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._workers = Workers(N_WORKERS)
        solving = asyncio.create_task(self._solve(DEFAULT_RULES))
        try:
            await self._workers.start()
            yield
        finally:
            solving.cancel()
            self._workers.close()

    async def _solve(self, name: str) -> None:
        """Have the expected scores of a built-in game."""
        rules = rules_asked({"rules": name})
        async with self._solving.setdefault(name, asyncio.Lock()):
            adviser = self._advisers.of(rules)
            await asyncio.to_thread(lambda: adviser.expected)

    # ------------------------------------------------------------------------------------------------ files

    async def _file(self, request: Request) -> Response:
        """A file of the page."""
        static = self._files.get(request.path_params.get("file", "index.html"))
        if static is None:
            raise HTTPException(404, "no such page")
        return static.response(request)

    async def _about(self, _: Request) -> Response:
        """The games and strategies that come with the program."""
        return JSONResponse(self._facts)

    # ------------------------------------------------------------------------------------------------ games

    def _folder(self) -> SavedGames:
        if self._games is None:
            raise HTTPException(404, "the server was started without --games, so it keeps none")
        return self._games

    async def _list_games(self, _: Request) -> Response:
        return JSONResponse({"version": VERSION, "games": self._folder().names()})

    async def _read_game(self, request: Request) -> Response:
        return JSONResponse({"version": VERSION, **self._folder().read(request.path_params["name"])})

    async def _write_game(self, request: Request) -> Response:
        fields = Fields(await _question(request), "question", ("record", "rules"))
        found = answer("record", fields.table, self._advisers)
        self._folder().write(request.path_params["name"], found["text"])
        return JSONResponse({"version": VERSION, "name": request.path_params["name"]}, 201)

    # -------------------------------------------------------------------------------------------- questions

    async def _ask(self, request: Request) -> Response:
        """The answer to a question."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise HTTPException(404, "no such question")
        question = await _question(request)
        if is_cheap(kind, question):
            await self._solve(question.get("rules", DEFAULT_RULES))
            return JSONResponse({"version": VERSION, **answer(kind, question, self._advisers)})
        if LINES in request.headers.get("accept", ""):
            return StreamingResponse(self._lines(kind, question), media_type=LINES)
        assert self._workers
        asked = asyncio.create_task(self._workers.ask(kind, question, lambda _: None))
        left = asyncio.create_task(_leaving(request))
        try:
            await asyncio.wait([asked, left], return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                return Response(status_code=499)  # which nobody reads
            return JSONResponse({"version": VERSION, **asked.result()})
        finally:
            asked.cancel()
            left.cancel()

    async def _lines(self, kind: str, question: dict[str, Any]) -> AsyncIterator[str]:
        """Progress and answer, a line each."""
        assert self._workers
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        asked = asyncio.create_task(
            self._workers.ask(kind, question, lambda progress: messages.put_nowait({"progress": progress}))
        )
        asked.add_done_callback(lambda _: messages.put_nowait({}))
        try:
            while message := await messages.get():
                yield json.dumps(message) + "\n"
            yield json.dumps({"version": VERSION, **asked.result()}) + "\n"
        except (UsageError, BusyError) as error:
            yield json.dumps({"version": VERSION, "error": str(error)}) + "\n"
        finally:
            asked.cancel()


class _Static:
    """A file of the page, compressed once, with a tag by which a browser knows that it has this version."""

    def __init__(self, name: str, content: bytes) -> None:
        self._content, self._zipped = content, gzip.compress(content, mtime=0)
        self._headers = {
            "content-type": TYPES.get(name.rpartition(".")[2], "application/octet-stream"),
            "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            "cache-control": "no-cache",
            "vary": "accept-encoding",
        }

    def response(self, request: Request) -> Response:
        if self._headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=self._headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self._zipped, headers=self._headers | {"content-encoding": "gzip"})
        return Response(self._content, headers=self._headers)


async def _question(request: Request) -> dict[str, Any]:
    """The JSON object in a body of limited size, which has to arrive in time."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "expected a body of type application/json")
    body = b""
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BODY:
                    raise HTTPException(413, f"expected a body of at most {MOST_BODY} bytes")
        return parsed(body.decode("utf-8"))
    except TimeoutError:
        raise HTTPException(408, "the body did not arrive in time") from None
    except UnicodeDecodeError:
        raise UsageError("expected UTF-8") from None


async def _leaving(request: Request) -> None:
    """Wait until the asker has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refusal(_: Request, error: Exception) -> Response:
    """What is said of a question that cannot be answered."""
    status = error.status_code if isinstance(error, HTTPException) else 503 if isinstance(error, BusyError) else 400
    said = error.detail if isinstance(error, HTTPException) else str(error)
    headers = (error.headers if isinstance(error, HTTPException) else None) or {}
    return JSONResponse({"version": VERSION, "error": said}, status, headers)


async def _failure(_: Request, __: Exception) -> Response:
    return JSONResponse({"version": VERSION, "error": "the server has failed; its terminal says why"}, 500)
