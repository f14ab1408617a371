"""The server that most tests of this room ask, and the browser that opens its page."""

from collections.abc import Iterator
from pathlib import Path

import browser as a_browser
import pytest
from opened import DESK, Opened
from playwright.sync_api import Browser, BrowserContext, Page
from web import Site, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the server keeps games."""
    return tmp_path_factory.mktemp("games")


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    """A server that keeps games."""
    with serving("--games", folder) as site:
        yield site


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    with a_browser.started() as browser:
        yield browser


@pytest.fixture
def opened(chromium: Browser, site: Site) -> Iterator[Opened]:
    """Opens the page at some address; in the end there were no errors, and nobody else was asked anything."""
    home = f"http://127.0.0.1:{site.port}/"
    contexts: list[BrowserContext] = []
    errors: list[str] = []
    foreign: list[str] = []

    def open_page(
        address: str = "", *, size: dict[str, int] = DESK, scheme: str = "light", touch: bool = False
    ) -> Page:
        context = chromium.new_context(viewport=size, color_scheme=scheme, has_touch=touch, is_mobile=touch)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on(
            "console",
            lambda said: errors.append(said.text) if said.type == "error" and "400" not in said.text else None,
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith((home, "blob:")) else foreign.append(asked.url))
        page.goto(f"{home}{address}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
    assert foreign == []
