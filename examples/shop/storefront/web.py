"""The storefront's paths, and what is said when one of them leads nowhere."""

from __future__ import annotations

from collections.abc import Collection

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from examples.shop.storefront.desk import OrderDesk
from examples.shop.storefront.following import Following
from examples.shop.storefront.guard import RequestGuard
from examples.shop.storefront.pages import STATIC, Pages
from examples.shop.storefront.refusal import PageRefusal
from examples.shop.storefront.shelf import Shelf
from examples.shop.storefront.storefront import Storefront

BROKEN = (500, "Something broke here", "It is our fault, not yours. Your basket and your orders are safe.")
FOREIGN = (403, "That came from another site", "Only our own pages may change anything here. Please use those.")
ELSEWHERE = (421, "The shop is not under that name", "Please use the address that you were given.")
NOT_HERE = ("There is nothing here", "Please go back, or start again at the shelf.")


def build(storefront: Storefront, hosts: Collection[str] = ()) -> ASGIApp:
    """The ASGI application of a storefront, which answers under its addresses, as localhost and as those hosts."""
    pages = Pages(storefront.records)

    async def on_http_exception(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return pages.error(error.status_code, *NOT_HERE)

    async def on_refusal(_request: Request, error: Exception) -> Response:
        assert isinstance(error, PageRefusal)
        return pages.error(error.status, error.title, error.words)

    async def on_broken(_request: Request, _error: Exception) -> Response:
        return pages.error(*BROKEN)

    app = Starlette(
        routes=_routes(storefront, pages),
        exception_handlers={
            PageRefusal: on_refusal,
            HTTPException: on_http_exception,
            ClientDisconnect: _on_client_left,
            Exception: on_broken,
        },
    )
    return RequestGuard(app, pages.error(*FOREIGN), pages.error(*ELSEWHERE), hosts)


def _routes(storefront: Storefront, pages: Pages) -> list[Route | Mount]:
    shelf, desk, following = (
        Shelf(storefront.records, pages),
        OrderDesk(storefront, pages),
        Following(storefront, pages),
    )
    return [
        Route("/", shelf.show),
        Route("/products/{product}", shelf.show_product),
        Route("/basket", shelf.show_basket),
        Route("/basket", shelf.add, methods=["POST"]),
        Route("/basket/change", shelf.change, methods=["POST"]),
        Route("/basket/remove", shelf.remove, methods=["POST"]),
        Route("/checkout", desk.show),
        Route("/orders", following.show_all),
        Route("/orders", desk.place, methods=["POST"]),
        Route("/orders/{order}.json", following.show_json),
        Route("/orders/{order}/live", following.show_live),
        Route("/orders/{order}", following.show),
        Route("/health", _show_health),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


async def _show_health(_request: Request) -> Response:
    """That the process is there."""
    return JSONResponse({"service": "storefront", "status": "ok"})


async def _on_client_left(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)
