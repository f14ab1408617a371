"""The server that most tests of this room ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest
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
