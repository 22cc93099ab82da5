"""Whole applications on a real SQLite file, in virtual time."""

import logging
import sys

import pytest

from stepward.model.tracing.submission_span import API
from stepward.store import change_watcher
from tests import virtual
from tests.scheduler.conftest import pytest_asyncio_loop_factories, world

__all__ = ["pytest_asyncio_loop_factories", "world"]


@pytest.fixture(autouse=True)
def _looks_as_in_reality(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look for changes of other processes falls into no step that is traced."""
    monkeypatch.setattr(virtual, "LOOK_SECONDS", change_watcher.EVERY)


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application that does not trace, whatever other tests of this process have imported."""
    monkeypatch.delitem(sys.modules, API, raising=False)


@pytest.fixture(autouse=True)
def unlogged(caplog: pytest.LogCaptureFixture) -> None:
    """The default level, whatever other tests of this process have set: lines below it are not composed."""
    caplog.set_level(logging.WARNING, "stepward")
