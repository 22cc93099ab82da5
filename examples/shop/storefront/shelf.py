"""The shelf and the basket: what there is, and what a visitor wants of it."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from examples.orders.catalogue import MOST_OF_ONE, PRODUCTS, Product
from examples.shop.storefront.forms import UNREAD, Form, read_form
from examples.shop.storefront.order import amount_of
from examples.shop.storefront.pages import Pages
from examples.shop.storefront.quantities import TypedLine, read_quantity
from examples.shop.storefront.records import Records
from examples.shop.storefront.refusal import PageRefusal
from examples.shop.storefront.visitors import remember, visitor_of

SEE_OTHER = 303


@dataclass(frozen=True, slots=True)
class Shelf:
    """What each path of the shelf and the basket does."""

    records: Records
    pages: Pages

    async def show(self, request: Request) -> Response:
        """Everything that is sold."""
        return self.pages.show(request, "shelf.html", products=PRODUCTS.values())

    async def show_product(self, request: Request) -> Response:
        """One product."""
        return self._product(request, _product(request.path_params["product"]))

    async def show_basket(self, request: Request) -> Response:
        """Shows the basket."""
        return self._basket(request)

    async def add(self, request: Request) -> Response:
        """Put so many more of a product into the basket."""
        form = await read_form(request)
        product, typed = _product(form.get("product", "")), form.get("quantity", "")
        held = self._quantities(request).get(product.id, 0)
        quantity = read_quantity(typed)
        if isinstance(quantity, str):
            return self._product(request, product, typed, quantity)
        if held + quantity > MOST_OF_ONE:
            error = f"At most {MOST_OF_ONE} of one thing, please: {held} are in your basket already."
            return self._product(request, product, typed, error)
        self.records.set_basket(visitor_of(request), {product.id: held + quantity})
        return _to_basket(request)

    async def change(self, request: Request) -> Response:
        """Have so many of each; 0 takes a product out. All quantities are changed, or none."""
        typed = _typed(await read_form(request))
        read = {line.product: read_quantity(line.quantity, least=0) for line in typed}
        wrong = {product: error for product, error in read.items() if isinstance(error, str)}
        if wrong:
            return self._basket(
                request,
                {line.product: TypedLine(line.product, line.quantity, wrong.get(line.product, "")) for line in typed},
            )
        self.records.set_basket(visitor_of(request), {name: int(quantity) for name, quantity in read.items()})
        return _to_basket(request)

    async def remove(self, request: Request) -> Response:
        """Take a product out."""
        form = await read_form(request)
        self.records.set_basket(visitor_of(request), {_product(form.get("product", "")).id: 0})
        return _to_basket(request)

    def _quantities(self, request: Request) -> dict[str, int]:
        return {line.product: line.quantity for line in self.records.basket(visitor_of(request))}

    def _product(self, request: Request, product: Product, quantity: str = "1", error: str = "") -> Response:
        status = 400 if error else 200
        return self.pages.show(request, "product.html", status=status, product=product, quantity=quantity, error=error)

    def _basket(self, request: Request, typed: dict[str, TypedLine] | None = None) -> Response:
        lines = self.records.basket(visitor_of(request))
        status = 400 if typed else 200
        return self.pages.show(
            request, "basket.html", status=status, lines=lines, amount_cents=amount_of(lines), typed=typed or {}
        )


def _product(name: str) -> Product:
    if name not in PRODUCTS:
        raise PageRefusal(404, "There is no such thing here", f"We do not sell “{name[:40]}”.")
    return PRODUCTS[name]


def _typed(form: Form) -> list[TypedLine]:
    products, quantities = form.getlist("product"), form.getlist("quantity")
    if len(products) != len(quantities):
        raise PageRefusal(400, UNREAD, "Each product needs one quantity: we could not tell which belongs to which.")
    return [TypedLine(_product(name).id, quantity[:40]) for name, quantity in zip(products, quantities, strict=True)]


def _to_basket(request: Request) -> Response:
    return remember(request, RedirectResponse("/basket", SEE_OTHER))
