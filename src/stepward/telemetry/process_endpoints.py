"""``/metrics``, ``/livez`` and ``/readyz`` of a process with actors, served on its own event loop.

A process whose event loop hangs does not answer, so the probes report it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from stepward.errors import SettingsError
from stepward.telemetry.process_metrics import ProcessMetrics
from stepward.telemetry.store_metrics import CONTENT_TYPE

CONNECTIONS = 100
"""Most concurrent connections; further requests are answered 503."""
HEADER_BYTES = 16 * 1024
KEEP_ALIVE_SECONDS = 5
END_SECONDS = 1
"""Seconds that running answers may take when the server ends."""

UnreadyReasons = Callable[[], list[str]]
"""The reasons why the process is not ready, one line each; empty if it is."""
AsgiScope = MutableMapping[str, Any]
AsgiSend = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class TelemetryApplication:
    """The three paths as an ASGI application."""

    def __init__(self, metrics: ProcessMetrics, readiness: UnreadyReasons) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(metrics)
        self._readiness = readiness

    async def __call__(self, scope: AsgiScope, receive: Callable[[], Awaitable[Any]], send: AsgiSend) -> None:
        """Answers a request."""
        if scope["type"] == "http":
            status, kind, body = self._answer(scope["method"], scope["path"])
            headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _answer(self, method: str, path: str) -> tuple[int, str, bytes]:
        plain = "text/plain; charset=utf-8"
        if method not in ("GET", "HEAD"):
            return 405, plain, b"expected GET\n"
        if path == "/metrics":
            return 200, CONTENT_TYPE, generate_latest(self._registry)
        if path == "/livez":
            return 200, plain, b"live\n"
        if path == "/readyz":
            reasons = self._readiness()
            return (503, plain, "\n".join([*reasons, ""]).encode()) if reasons else (200, plain, b"ready\n")
        return 404, plain, b"expected /metrics, /livez or /readyz\n"


@contextlib.asynccontextmanager
async def serving(address: str, metrics: ProcessMetrics, readiness: UnreadyReasons) -> AsyncIterator[str]:
    """Serves until the block ends, and yields the address. Raises SettingsError if the address is not available."""
    listening = _listen(address)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    server = uvicorn.Server(
        uvicorn.Config(
            TelemetryApplication(metrics, readiness),
            log_config=None,
            access_log=False,
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            ws="none",
            http="h11",
            h11_max_incomplete_event_size=HEADER_BYTES,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=END_SECONDS,
        )
    )
    # Not ``serve``, which would take the signals of the process.
    task = asyncio.get_running_loop().create_task(server._serve([listening]), name="telemetry")
    host, port = listening.getsockname()[:2]
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        listening.close()


def _listen(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        return socket.create_server((name, int(port)), family=family)
    except OSError as error:
        raise SettingsError(
            f"metrics: expected an address to listen on, found {address}: {error.strerror}; choose another"
        ) from None
