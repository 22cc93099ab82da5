"""The panel as a process: its socket, its way to start and to stop."""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

from servers.web import KeptServer, exit_cleanly_at_signals

LOOPBACK = "127.0.0.1"
LONGEST_STOP_SECONDS = 5


def serve(panel: ASGIApp, host: str, port: int, *, is_tethered: bool) -> None:
    """Serve until SIGTERM or SIGINT; port 0 takes a free one, and the printed line names it.

    A tethered panel also ends when its standard input is closed: when the process that started it has ended.
    """
    config = uvicorn.Config(
        panel,
        host=host,
        port=port,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LONGEST_STOP_SECONDS,
    )
    exit_cleanly_at_signals()
    KeptServer(config, "control", is_tethered=is_tethered).run()
