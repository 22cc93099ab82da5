"""`python -m servers.keeper.postgres --ports PORT PORT`: keep a primary and its standby until told to stop.

A line of JSON says how they stand, once both are there and whenever that changes. All their data go with them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from servers.keeper.postgres.keeper import keep
from servers.postgres import Pair, Server, newest
from servers.postgres.programs import reachable
from servers.postgres.server import cluster, home
from servers.tether import listen, until

NAMES = ("first", "second")
SETTINGS = {"max_connections": "200"}


def main() -> None:
    """Read the command line and keep the servers."""
    parser = argparse.ArgumentParser(prog="python -m servers.keeper.postgres", description=__doc__)
    parser.add_argument("--ports", nargs=2, type=int, required=True, metavar="PORT", help="one for each server")
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    given = parser.parse_args()
    with home() as folder:
        programs = reachable(newest(), folder)
        places = zip(NAMES, given.ports, strict=True)
        servers = [Server(programs, cluster(folder, name), SETTINGS, port) for name, port in places]
        pair = Pair(*servers, synchronous=True)
        try:
            asyncio.run(_work(pair, is_tethered=given.tethered))
        except RuntimeError as error:
            sys.exit(f"postgres: {error}")
        finally:
            # Only now no thread is at work on them any more.
            pair.stop()


async def _work(pair: Pair, *, is_tethered: bool) -> None:
    told = listen(is_tethered=is_tethered)
    # Before anything is begun: whoever reads this may end it in good order from now on.
    print("postgres ready", flush=True)
    await until(told, keep(pair))


if __name__ == "__main__":
    main()
