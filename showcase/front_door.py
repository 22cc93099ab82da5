"""The storefront as a browser uses it: order forms are posted, and the order's own page shows the received events."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import TracebackType
from typing import Self

import httpx
import msgspec

from examples.orders.database import OrderRecord
from showcase.proof import HeardOrder

PATIENCE_SECONDS = 20
AGAIN_SECONDS = 0.1


class FormRefused(Exception):
    """The storefront did not take an order form."""


class FrontDoor:
    """A browser at the storefront; `accepted` counts the forms of each order that it took.

    `refused` counts those that it asked to send again, in a moment.
    """

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.accepted: Counter[str] = Counter()
        self.refused = 0
        # Proxies of the environment are for the outside world.
        self._browser = httpx.AsyncClient(base_url=url, headers={"Origin": url}, trust_env=False, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._browser.aclose()

    async def order(self, order: OrderRecord) -> None:
        """Send an order form, again while we are asked for patience; raises FormRefused unless it leads to its page."""
        page = await self._send(order)
        for _ in range(int(PATIENCE_SECONDS / AGAIN_SECONDS)):
            if page.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            self.refused += 1
            await asyncio.sleep(AGAIN_SECONDS)
            page = await self._send(order)
        if page.status_code != httpx.codes.SEE_OTHER or page.headers["Location"] != f"/orders/{order.id}":
            found = f"{page.status_code} {page.reason_phrase}"
            raise FormRefused(f"form of {order.id}: expected to be led to its page, found {found}")
        self.accepted[order.id] += 1

    async def _send(self, order: OrderRecord) -> httpx.Response:
        try:
            return await self._browser.post("/orders", data=_form(order))
        except httpx.TransportError as error:
            raise FormRefused(f"form of {order.id}: expected an answer, found {error!r}") from error

    async def heard(self, order_id: str) -> list[HeardOrder]:
        """The events of the order that the storefront has received."""
        page = await self._browser.get(f"/orders/{order_id}.json")
        page.raise_for_status()
        return msgspec.json.decode(page.content, type=_Page).events


class _Page(msgspec.Struct, frozen=True):
    events: list[HeardOrder]


def _form(order: OrderRecord) -> dict[str, str | list[str]]:
    form: dict[str, str | list[str]] = {
        "order": order.id,
        "customer": order.customer,
        "address": order.address,
        "care": order.care,
        "product": [line.product for line in order.lines],
        "quantity": [str(line.quantity) for line in order.lines],
    }
    return form if order.address else form | {"confirm": "no-address"}
