"""What customers do at the storefront, and what they see there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import httpx

from examples.shop.storefront.storefront import Storefront
from tests.examples.storefront.fakes import FakeDoor

ORDER: dict[str, Any] = {
    "order": "order-01",
    "customer": "Ada",
    "address": "Harbour Street 5",
    "care": "normal",
    "product": "teapot",
    "quantity": "2",
}


async def order(customer: httpx.AsyncClient, /, **changes: Any) -> httpx.Response:
    """Send an order with its lines; None leaves a field out."""
    fields = {name: value for name, value in {**ORDER, **changes}.items() if value is not None}
    return await customer.post("/orders", data=fields)


async def heard(storefront: Storefront, door: FakeDoor, order_id: str, *happened: tuple[str, dict[str, Any]]) -> None:
    """Tell of an order, and return when all of it was written down."""
    async with asyncio.timeout(10):
        with storefront.bell.listening(order_id) as rung:
            for name, data in happened:
                rung.clear()
                door.tell(order_id, name, **data)
                await rung.wait()


async def until(customer: httpx.AsyncClient, is_so: Callable[[], bool]) -> None:
    """Keep the storefront answering until something is so."""
    async with asyncio.timeout(10):
        while not is_so():
            await customer.get("/health")


class Page(HTMLParser):
    """A page as far as tests look at it: its fields by id or name, and the text of elements that have an id."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__()
        self.fields: dict[str, dict[str, str | None]] = {}
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(response.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in ("input", "textarea"):
            self.fields[known.get("id") or known.get("name") or ""] = known
        if tag not in ("input", "img", "meta", "link", "br", "path", "circle"):
            self._open.append(known.get("id") or "")

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for name in filter(None, self._open):
            self.texts[name] = self.texts.get(name, "") + data

    def error(self, field: str) -> str:
        """The message beside a field, which has to refer to it."""
        told_by = self.fields[field].get("aria-describedby") or ""
        assert self.fields[field].get("aria-invalid") == "true", f"{field} is not marked as wrong"
        return self.texts[told_by].strip()
