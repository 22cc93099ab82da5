"""Following orders: a visitor's list of them, and the page of each, which goes on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from examples.shop.storefront.order import PlacedOrder
from examples.shop.storefront.pages import Pages
from examples.shop.storefront.refusal import PageRefusal
from examples.shop.storefront.storefront import Storefront
from examples.shop.storefront.visitors import visitor_of

MOST_STREAMS = 200
HEARTBEAT_SECONDS = 15
FIRST_WORD_SECONDS = 0.1
RETRY = "retry: 1000\n\n"
HEARTBEAT = ": still here\n\n"
END = "event: end\ndata:\n\n"


@dataclass(frozen=True, slots=True)
class Following:
    """What each path of the orders does; an order of another visitor is not there."""

    storefront: Storefront
    pages: Pages

    async def show_all(self, request: Request) -> Response:
        """A visitor's orders, newest first."""
        orders = self.storefront.records.orders(visitor_of(request))
        rows = [(order, self.storefront.view(order)) for order in orders]
        return self.pages.show(request, "orders.html", rows=rows)

    async def show(self, request: Request) -> Response:
        """One order, as it stands now."""
        order = self._order(request)
        await self._first_word(order)
        return self.pages.show(request, "order.html", order=order, view=self.storefront.view(order))

    async def show_json(self, request: Request) -> Response:
        """One order for programs: its state, and every event received about it."""
        order = self._order(request)
        view = self.storefront.view(order)
        events = [
            {"id": event.id, "sequence": event.sequence, "type": event.type, "time": event.time.isoformat()}
            for event in self.storefront.records.events(order.id)
        ]
        steps = [{"name": stage.name, "state": stage.mark.value} for stage in view.stages]
        told = {"id": order.id, "state": view.state.value, "headline": view.headline, "note": view.note}
        return JSONResponse({**told, "steps": steps, "events": events})

    async def show_live(self, request: Request) -> Response:
        """The order's status as server-sent events: whenever it changes, until it is final."""
        order = self._order(request)
        if self.storefront.bell.listeners >= MOST_STREAMS:
            raise PageRefusal(503, "We are rather busy", "Too many pages follow their orders at the moment.")
        return StreamingResponse(self._changes(order, _seen(request)), media_type="text/event-stream")

    async def _first_word(self, order: PlacedOrder) -> None:
        """Wait a moment for the first event of an order that was just placed: sooner than by a stream of its page."""
        with self.storefront.bell.listening(order.id) as rung:
            if not self.storefront.records.events(order.id):
                await _rings(rung, FIRST_WORD_SECONDS)

    async def _changes(self, order: PlacedOrder, seen: int) -> AsyncIterator[str]:
        with self.storefront.bell.listening(order.id) as rung:
            yield RETRY
            while not self.storefront.bell.is_stopped:
                rung.clear()
                view = self.storefront.view(order)
                if view.sequence > seen:
                    seen = view.sequence
                    yield _event(seen, self.pages.render("status.html", order=order, view=view))
                if view.is_final:
                    yield END
                    return
                if not await _rings(rung, HEARTBEAT_SECONDS):
                    yield HEARTBEAT

    def _order(self, request: Request) -> PlacedOrder:
        order = self.storefront.records.order(request.path_params["order"])
        if order is None or order.visitor != visitor_of(request) or not order.is_posted:
            raise PageRefusal(404, "There is no such order", "You have no order of that number.")
        return order


def _seen(request: Request) -> int:
    """The newest event that the page has; a browser that comes back tells the last that reached it."""
    told = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 10 else 0


def _event(sequence: int, html: str) -> str:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"id: {sequence}\nevent: status\n{lines}\n"


async def _rings(rung: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await rung.wait()
    except TimeoutError:
        return False
