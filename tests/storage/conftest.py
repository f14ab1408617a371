"""What the tests of tables on disk share."""

from collections.abc import Iterator

import pytest
from stored import ALL, LISTED, complete, small_and_quick

from yahtzee_cluster.storage.store import Store


@pytest.fixture(scope="module", autouse=True)
def _small_and_quick() -> Iterator[None]:
    with small_and_quick():
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A finished table, for tests that leave it as it was."""
    return complete(tmp_path_factory.mktemp("store") / "table", LISTED, ALL)
