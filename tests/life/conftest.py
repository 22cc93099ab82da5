"""Whole applications on a real SQLite file, in virtual time."""

import pytest

from stepward.store import change_watcher
from tests import virtual
from tests.scheduler.conftest import pytest_asyncio_loop_factories, world

__all__ = ["pytest_asyncio_loop_factories", "world"]


@pytest.fixture(autouse=True)
def _looks_as_in_reality(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look for changes of other processes falls into no step that is traced."""
    monkeypatch.setattr(virtual, "LOOK_SECONDS", change_watcher.EVERY)
