"""Connections that never come about leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from typing import Any

import pytest

from servers.ports import free_port
from stepward.errors import TransportError
from tests.transport.brokers import opened


async def test_a_server_that_is_down_leaves_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Objects of such a try may be collected in any thread, also in one that has no loop."""
    gc.collect()
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: heard.append(each.exc_value))
    # The client logs the error, and what is captured would keep it, and all that it refers to.
    caplog.set_level(logging.CRITICAL + 1, "aiormq")
    gc.disable()
    try:
        with pytest.raises(TransportError, match="Connection refused"):
            await opened(f"amqp://guest:guest@127.0.0.1:{free_port()}", app="shop")
        await asyncio.to_thread(gc.collect)
    finally:
        gc.enable()
    assert heard == []
