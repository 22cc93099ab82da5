"""`python -m tests.contract_kit.small_process [WRONG]`: the small Agent as a process that the contract kit starts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

import httpx

from stepward.clock import Environment
from stepward.durations import seconds
from stepward.events import Observers
from stepward.transport.open_broker import broker_at
from tests.contract_kit.small_agent import SmallAgent


async def main(wrong: str) -> int:
    """Serve until SIGTERM; the exit code."""
    given = os.environ
    broker = broker_at(
        given["STEPWARD_TRANSPORT"],
        app=given["CONTRACT_APP"],
        now=time.time,
        environment=Environment(),
        observers=Observers(),
    )
    async with httpx.AsyncClient(base_url=given["CONTRACT_SERVICE"], timeout=None) as client:

        async def post(path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
            answer = await client.post(path, headers=headers, content=body)
            return answer.status_code, answer.json()

        agent = SmallAgent(
            broker,
            post,
            store=given["CONTRACT_STORE"],
            lease=seconds(given["STEPWARD_LEASE"]),
            capacity=int(given["CONTRACT_CAPACITY"]),
            now=time.time,
            app=given["CONTRACT_APP"],
            wrong=wrong,
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, agent.end)
        return await agent.run()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:2] or [""])))
