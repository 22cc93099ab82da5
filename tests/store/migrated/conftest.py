"""Whole applications on a recorded SQLite file, in virtual time."""

from tests.scheduler.conftest import pytest_asyncio_loop_factories, world

__all__ = ["pytest_asyncio_loop_factories", "world"]
