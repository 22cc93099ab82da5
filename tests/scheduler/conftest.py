"""Whole applications on a real SQLite file, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from stepward.transport.memory.memory_transport import MemoryTransport
from tests.scheduler.approvals import Approvals
from tests.scheduler.world import Service, World
from tests.virtual import VirtualLoop


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], VirtualLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    await world.close()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def approvals() -> Approvals:
    return Approvals()


class VerbsAlone(MemoryTransport):
    """Queues in memory that are used by the verbs of all transports alone."""


@pytest.fixture
def verbs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that stand between an application and the verbs of its queues."""
    monkeypatch.setattr("stepward.running.MemoryTransport", VerbsAlone)
