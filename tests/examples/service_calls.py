"""How the tests call the remote services of the order example, and what they look at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from examples.shop.services.process import ServiceProcess

Start = Callable[..., Awaitable[ServiceProcess]]

CHARGE = {"order_id": "order-1", "amount_cents": 4200}


async def post(
    service: ServiceProcess,
    action: str,
    body: Any,
    key: str | None = "key-1",
    timeout: float = 30,
    **headers: str,
) -> httpx.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if key is not None:
        sent["Idempotency-Key"] = key
    async with httpx.AsyncClient(base_url=service.url, trust_env=False, timeout=timeout) as client:
        return await client.post(f"/{action}", json=body, headers=sent)


async def hits(service: ServiceProcess) -> list[int]:
    return [fault["hits"] for fault in await service.faults()]


def assert_problem(response: httpx.Response, status: int, words: str = "") -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert words in response.text
    assert "\n" not in response.text
