"""The server of the page: its files, and the questions of the page as JSON over HTTP.

Cheap questions, such as advice for the highest expected score, are answered at once; all others by worker processes of
a lower priority, so that they keep no cheap one waiting. A question is given up when its asker has left.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.fields import Fields
from yahtzee_cluster.play.answer import VERSION
from yahtzee_cluster.play.deck import INTERVALS_S
from yahtzee_cluster.play.question import parsed
from yahtzee_cluster.web.description import JSON, LINES, description
from yahtzee_cluster.web.guard import Guard
from yahtzee_cluster.web.questions import (
    BUILT_IN,
    DEFAULT_RULES,
    KINDS,
    Advisers,
    answer,
    facts_of,
    is_cheap,
    rules_asked,
    session_of,
    strategies_known,
)
from yahtzee_cluster.web.saved_games import NoGameError, SavedGames, TakenError
from yahtzee_cluster.web.workers import BusyError, FailedError, Workers

MOST_BODY = 200_000
"""The most bytes of a question."""
BODY_WITHIN_S = 10.0
"""The time within which a question has to arrive."""
N_WORKERS = 2
NEW = {"cache-control": "no-store"}
"""Says that an answer is to be asked for again each time."""
PAGE = resources.files("yahtzee_cluster") / "web" / "page"
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}


class Server:
    """The application, with what its handlers share. `is_open` says whether other machines may ask."""

    def __init__(self, games: SavedGames | None = None, *, is_open: bool = False) -> None:
        self._games = games
        self._advisers = Advisers(len(BUILT_IN))
        self._solved: set[str] = set()
        self._solving = {name: asyncio.Lock() for name in BUILT_IN}
        self._workers = Workers(N_WORKERS)
        self._files = {
            entry.name: _Static(entry.name, entry.read_bytes()) for entry in PAGE.iterdir() if entry.is_file()
        }
        routes = [
            Route("/api/facts", self._about),
            Route("/api/games", self._list_games),
            Route("/api/games/{name}", self._read_game, methods=["GET"]),
            Route("/api/games/{name}", self._write_game, methods=["PUT"]),
            Route("/api/{kind}", self._ask, methods=["POST"]),
            Route("/openapi.json", self._describe),
            Route("/{file}", self._file),
            Route("/", self._file),
        ]
        self.app = Starlette(
            routes=routes,
            middleware=[Middleware(Guard, is_open=is_open)],
            exception_handlers={HTTPException: _refusal, YahtzeeClusterError: _refusal, Exception: _failure},
            lifespan=self._lifespan,
        )
        self.app.router.redirect_slashes = False

    def close(self) -> None:
        """Give up all questions."""
        self._workers.close()

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        preparing = asyncio.create_task(self._prepare())
        try:
            yield
        finally:
            preparing.cancel()
            self.close()

    async def _prepare(self) -> None:
        """Have ready what the first questions need, in the order in which they need it."""
        await self._solve(DEFAULT_RULES)
        gc.freeze()  # to go through all that stays took 20 ms each time, while everybody waited
        await self._workers.start()

    async def _solve(self, name: str) -> None:
        """Have the expected scores of a built-in game."""
        if name not in self._solved:
            adviser = self._advisers.of(rules_asked({"rules": name}))
            async with self._solving[name]:
                await asyncio.to_thread(lambda: adviser.expected)
            self._solved.add(name)

    # ------------------------------------------------------------------------------------------------ files

    async def _file(self, request: Request) -> Response:
        """A file of the page."""
        static = self._files.get(request.path_params.get("file", "index.html"))
        if static is None:
            raise HTTPException(404, "no such page")
        return static.response(request)

    async def _describe(self, _: Request) -> Response:
        """The description of all that can be asked."""
        return Response(json.dumps(description()), headers=NEW, media_type=JSON)

    async def _about(self, _: Request) -> Response:
        """The games and strategies that come with the program."""
        return _Answer(self._facts)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return {
            "rules": [facts_of(rules_asked({"rules": name})) for name in BUILT_IN],
            "strategies": strategies_known(),
            "intervals": INTERVALS_S,
            "saves": self._games is not None,
        }

    # ------------------------------------------------------------------------------------------------ games

    def _folder(self) -> SavedGames:
        if self._games is None:
            raise HTTPException(404, "the server was started without --games, so it keeps none")
        return self._games

    async def _list_games(self, _: Request) -> Response:
        return _Answer({"games": await asyncio.to_thread(self._folder().names)})

    async def _read_game(self, request: Request) -> Response:
        return _Answer(await asyncio.to_thread(self._folder().read, request.path_params["name"]))

    async def _write_game(self, request: Request) -> Response:
        folder, name = self._folder(), request.path_params["name"]
        question, text = await _question(request)
        Fields(question, "question", ("record", "rules"))
        found = await self._answer("record", question, text, request)
        await asyncio.to_thread(folder.write, name, found["text"])
        return _Answer({"name": name}, 201)

    # -------------------------------------------------------------------------------------------- questions

    async def _ask(self, request: Request) -> Response:
        """The answer to a question."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise HTTPException(404, "no such question")
        question, text = await _question(request)
        if LINES in request.headers.get("accept", "") and not is_cheap(kind, question):
            return StreamingResponse(self._lines(kind, session_of(question), text), headers=NEW, media_type=LINES)
        return _Answer(await self._answer(kind, question, text, request))

    async def _answer(self, kind: str, question: dict[str, Any], text: str, request: Request) -> dict[str, Any]:
        """The answer to a question, which is given up when the asker leaves; `text` is the question as it was sent."""
        if is_cheap(kind, question):
            await self._solve(question.get("rules", DEFAULT_RULES))
            return answer(kind, question, self._advisers)
        asked = asyncio.create_task(self._workers.ask(kind, session_of(question), text, lambda _: None))
        left = asyncio.create_task(_leaving(request))
        try:
            await asyncio.wait([asked, left], return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise HTTPException(499, "the asker has left")  # which nobody reads
            return asked.result()
        finally:
            asked.cancel()
            left.cancel()

    async def _lines(self, kind: str, session: str, text: str) -> AsyncIterator[str]:
        """Progress and answer, a line each."""
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        asked = asyncio.create_task(
            self._workers.ask(kind, session, text, lambda progress: messages.put_nowait({"progress": progress}))
        )
        asked.add_done_callback(lambda _: messages.put_nowait({}))
        try:
            while message := await messages.get():
                yield json.dumps(message) + "\n"
            yield json.dumps({"version": VERSION, **asked.result()}) + "\n"
        except YahtzeeClusterError as error:
            yield json.dumps({"version": VERSION, "error": str(error)}) + "\n"
        finally:
            asked.cancel()


class _Answer(Response):
    """A JSON object. Characters beyond ASCII are escaped, because what a question has need not be valid Unicode."""

    media_type = JSON

    def __init__(self, found: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps({"version": VERSION, **found}, allow_nan=False)
        super().__init__(content, status, {**NEW, **(headers or {})})


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


async def _question(request: Request) -> tuple[dict[str, Any], str]:
    """The JSON object in a body of limited size, which has to arrive in time; and its text."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise HTTPException(415, f"expected a body of type {JSON}")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BODY:
                    raise HTTPException(413, f"expected a body of at most {MOST_BODY} bytes")
        text = body.decode("utf-8")
    except TimeoutError:
        raise HTTPException(408, "the body did not arrive in time") from None
    except UnicodeDecodeError:
        raise UsageError("expected UTF-8") from None
    return parsed(text), text


async def _leaving(request: Request) -> None:
    """Wait until the asker has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


STATUS = {NoGameError: 404, TakenError: 409, UsageError: 400, BusyError: 503, FailedError: 500}
"""The status of a refusal, by the first kind of error that fits."""


async def _refusal(_: Request, error: Exception) -> Response:
    """Why a question is not answered."""
    if isinstance(error, HTTPException):
        return _Answer({"error": error.detail}, error.status_code, error.headers)
    status = next(status for kind, status in STATUS.items() if isinstance(error, kind))
    return _Answer({"error": str(error)}, status)


async def _failure(_: Request, __: Exception) -> Response:
    return _Answer({"error": "the server has failed; its terminal says why"}, 500)
