"""Kill and restart four processes under load, and count what runs at once: ``python -m torture.limits --minutes 5``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from servers import nats, postgres
from torture.limits.run import LimitsPlan, torture_limits

STORES = ("sqlite", "postgresql")
TRANSPORTS = ("store", "nats")
MINUTE = 60.0


def main() -> int:
    """0 if the limit held and everything ended."""
    parser = argparse.ArgumentParser(prog="python -m torture.limits", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long processes are killed; 5 unless given")
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--transport", choices=TRANSPORTS, default="store")
    parser.add_argument("--pause", type=float, default=3.0, help="seconds between two ends on average; 3 unless given")
    parser.add_argument("--seed", type=int, default=320_000_000, help="what the ends are drawn from")
    given = parser.parse_args()
    logs = Path(tempfile.mkdtemp(prefix="stepward-limits-logs-"))
    with places(given.store, given.transport) as (store, transport):
        plan = LimitsPlan(
            store=store,
            transport=transport,
            seconds=given.minutes * MINUTE,
            pause=given.pause,
            seed=given.seed,
            logs=logs,
        )
        verdict = asyncio.run(torture_limits(plan))
    print(verdict.table)
    if verdict.broken:
        print("\n".join(f"broken: {line}" for line in (*verdict.broken, f"logs are in {logs}")), file=sys.stderr)
        return 1
    shutil.rmtree(logs)
    return 0


@contextlib.contextmanager
def places(store: str, transport: str) -> Iterator[tuple[str, str]]:
    """The addresses of a new store and of a transport, for as long as the block lasts."""
    with contextlib.ExitStack() as stack:
        if store == "sqlite":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="stepward-limits-"))
            address = f"sqlite:///{folder}/limits.db"
        else:
            address = stack.enter_context(postgres.running()).address("postgres")
        broker = stack.enter_context(nats.running()).address if transport == "nats" else transport
        yield address, broker


if __name__ == "__main__":
    sys.exit(main())
