"""The Agent of the contract as an Agent of Stepward: `stepward agent tests/contract_kit/python_agent.py:app`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from stepward import App, HttpAgent, Retry, current_step

contract = HttpAgent(
    os.environ.get("CONTRACT_AGENT", "contract"),
    os.environ.get("CONTRACT_SERVICE", "http://127.0.0.1:8099"),
    retry=Retry(attempts=1),
    concurrency=int(os.environ.get("CONTRACT_CAPACITY", "4")),
)


@contract.operation
async def echo(value: Any) -> Any:
    """Return the value."""
    return value


@contract.operation
async def fill(size: int) -> str:
    """Return a text of that many bytes."""
    return "x" * size


@contract.operation
async def report(values: list[Any]) -> int:
    """Report each value as progress, and return their number."""
    step = current_step()
    for value in values:
        step.heartbeat(value)
        await asyncio.sleep(0)
    return len(values)


@contract.operation
async def call(body: dict[str, Any]) -> Any:
    """Call the service."""
    return await contract.post("/call", json=body)


@call.undo
async def undo_call(result: Any, body: dict[str, Any]) -> Any:
    """Call the service's undo."""
    return await contract.post("/undo", json={"result": result, "argument": body})


app = App(os.environ.get("CONTRACT_APP", "contract"), agents=[contract])
