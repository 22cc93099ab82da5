"""What the image's HEALTHCHECK asks: exit 0 while an actor of this container holds a live lease in the state store.

An actor that holds one has turned and committed within the lease's time. `stepward check` is another question: it also
compares instances, and those differ while a new version is rolled out.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from stepward.cli.input.operator_store import operator_client, settings_for
from stepward.errors import StepwardError


def main() -> None:
    """Exit with 0, or with 1 and a line that says why."""
    try:
        here = asyncio.run(_live_here())
    except StepwardError as error:
        sys.exit(f"alive: {error}")
    if not here:
        sys.exit(f"alive: expected a live instance on {socket.gethostname()}, found none; look at the container's log")


async def _live_here() -> int:
    async with operator_client(settings_for(None)) as client:
        return sum(each.alive and each.host == socket.gethostname() for each in await client.instances())


if __name__ == "__main__":
    main()
