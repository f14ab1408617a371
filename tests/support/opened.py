"""The page, opened in a real browser at some address."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

Opened = Callable[..., Page]


@contextmanager
def refused(page: Page) -> Iterator[None]:
    """The page shows a problem at the end of the block."""
    yield
    expect(page.locator("#problem")).to_be_visible()


def say(page: Page, words: str) -> None:
    """Type a command on the play view by keys alone."""
    page.locator("#command").evaluate("field => field.blur()")
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
