"""`python -m examples.shop.console`: the web console over the shop's store, on loopback alone."""

from __future__ import annotations

import argparse

import uvicorn

from examples.orders.app import app
from servers.web import KeptServer, exit_cleanly_at_signals

HOST = "127.0.0.1"
LONGEST_STOP_SECONDS = 1


def main() -> None:
    """Read the command line and serve; where the store is says `STEPWARD_STORE`."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.console", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port; 0 takes a free one")
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    config = uvicorn.Config(
        app.asgi(local_admin=True),
        host=HOST,
        port=given.port,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LONGEST_STOP_SECONDS,
    )
    exit_cleanly_at_signals()
    KeptServer(config, "console", is_tethered=given.tethered).run()


if __name__ == "__main__":
    main()
