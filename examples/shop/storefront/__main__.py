"""`python -m examples.shop.storefront --queues URL --database FILE --name NAME`: run one storefront."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from examples.shop.storefront.server import run
from stepward import StepwardError

HOST = "127.0.0.1"


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.storefront", description=__doc__)
    parser.add_argument("--host", default=HOST, help=f"address to listen on; {HOST} unless given")
    parser.add_argument("--port", type=int, default=0, help="port; 0 takes a free one")
    parser.add_argument(
        "--queues",
        required=True,
        metavar="URL",
        help="where they are: sqlite:///FILE, postgresql://…, nats://…, amqp://…",
    )
    parser.add_argument("--database", type=Path, required=True, metavar="FILE", help="the storefront's own SQLite file")
    parser.add_argument("--name", required=True, help="names the private response queue: no two may share it")
    parser.add_argument(
        "--name-of-host",
        action="append",
        default=[],
        metavar="HOST",
        help="a name under which browsers reach it, beside localhost and its address; may be given again",
    )
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    try:
        asyncio.run(
            run(
                given.queues,
                given.database,
                given.name,
                host=given.host,
                port=given.port,
                is_tethered=given.tethered,
                hosts=given.name_of_host,
            )
        )
    except StepwardError as error:
        sys.exit(f"storefront: {error}")


if __name__ == "__main__":
    main()
