"""The desk: where a basket becomes an order, once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from examples.shop.storefront.checkout import Checkout, blank, read_checkout
from examples.shop.storefront.forms import Form, read_form
from examples.shop.storefront.order import Care, PlacedOrder
from examples.shop.storefront.pages import Pages
from examples.shop.storefront.refusal import PageRefusal
from examples.shop.storefront.storefront import Storefront, Taken, is_in_doubt
from examples.shop.storefront.visitors import remember, visitor_of
from stepward.errors import StoreError, TransportError

SEE_OTHER = 303


@dataclass(frozen=True, slots=True)
class OrderDesk:
    """What each path of the checkout does."""

    storefront: Storefront
    pages: Pages

    async def show(self, request: Request) -> Response:
        """An empty form, under a new order's id."""
        return self._form(request, blank(_new_id(), self.storefront.records.basket(visitor_of(request))))

    async def place(self, request: Request) -> Response:
        """Place the order, and lead to its page; the same form leads to the same order."""
        form, visitor = await read_form(request), visitor_of(request)
        order = self.storefront.records.order(form.get("order", ""))
        if order is None:
            checkout = read_checkout(form, self.storefront.records.basket(visitor))
            if checkout.is_wrong:
                return self._form(request, _with_good_id(checkout), status=400)
            order = _order(checkout, visitor)
        return await self._place(request, form, order, visitor)

    async def _place(self, request: Request, form: Form, order: PlacedOrder, visitor: str) -> Response:
        try:
            await self.storefront.place(order, visitor, empties_basket="product" not in form)
        except Taken:
            raise PageRefusal(
                409, "That order number is taken", "Please open the checkout again: it brings a new one."
            ) from None
        except (StoreError, TransportError) as error:
            return self.pages.show(
                request, "unavailable.html", status=503, fields=form.multi_items(), is_in_doubt=is_in_doubt(error)
            )
        return remember(request, RedirectResponse(f"/orders/{order.id}", SEE_OTHER))

    def _form(self, request: Request, checkout: Checkout, *, status: int = 200) -> Response:
        return self.pages.show(request, "checkout.html", status=status, checkout=checkout)


def _order(checkout: Checkout, visitor: str) -> PlacedOrder:
    return PlacedOrder(
        id=checkout.order,
        visitor=visitor,
        customer=checkout.customer,
        address=checkout.address,
        care=Care(checkout.care),
        lines=checkout.lines.lines,
        amount_cents=checkout.amount_cents,
        placed_at=datetime.now(UTC),
    )


def _with_good_id(checkout: Checkout) -> Checkout:
    """The form to show again; one that had no valid id gets one."""
    return msgspec.structs.replace(checkout, order=_new_id()) if checkout.errors.order else checkout


def _new_id() -> str:
    return f"order-{secrets.token_hex(8)}"
