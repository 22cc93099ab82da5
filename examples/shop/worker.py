"""`python -m examples.shop.worker ROLE`: run one kind of actor until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio

from examples.orders.app import app
from servers.tether import listen, until

ROLES = ("submission", "scheduler", "agents", "supervisor", "together")
"""The last is a Scheduler with all Agents in its own process."""


def main() -> None:
    """Read the command line and work."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop.worker", description=__doc__)
    parser.add_argument("role", choices=ROLES)
    parser.add_argument("--only", nargs="+", metavar="AGENT", help="which Agents to run; all unless given")
    parser.add_argument("--tethered", action="store_true", help="end when standard input is closed")
    arguments = parser.parse_args()
    asyncio.run(_work(arguments.role, arguments.only, is_tethered=arguments.tethered))


async def _work(role: str, only: list[str] | None, *, is_tethered: bool) -> None:
    told = listen(is_tethered=is_tethered)
    async with app.running(
        submission=role == "submission",
        scheduler=role in ("scheduler", "together"),
        agents=role in ("agents", "together") and (only or True),
        supervisor=role == "supervisor",
    ) as running:
        print(f"{role} ready", flush=True)
        await until(told, running.wait())


if __name__ == "__main__":
    main()
