"""A real browser for the tests of the page: Debian's Chromium, installed or unpacked by `make browser`."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

UNPACKED = Path(__file__).resolve().parents[2] / ".browser" / "root"


def chromium() -> Path | None:
    """The program, if there is one."""
    installed = shutil.which("chromium")
    unpacked = UNPACKED / "usr" / "lib" / "chromium" / "chromium"
    return Path(installed) if installed else unpacked if unpacked.exists() else None


@contextmanager
def started() -> Iterator[Browser]:
    """The browser, without a window."""
    program = chromium()
    assert program
    environment: dict[str, str | float | bool] = {**os.environ}
    if program.is_relative_to(UNPACKED):
        libraries = {str(library.parent) for library in (UNPACKED / "usr" / "lib").glob("*-linux-gnu*/**/*.so*")}
        path = ":".join([*sorted(libraries), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        environment |= {"LD_LIBRARY_PATH": path, "FONTCONFIG_SYSROOT": str(UNPACKED)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, env=environment, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()
    _forget()


def _forget() -> None:
    """Collect what Playwright leaves behind, which complains that its event loop is closed."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        gc.collect()
    finally:
        sys.unraisablehook = hook
