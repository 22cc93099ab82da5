"""The pages of the panel: one page that shows everything, and two forms that change something."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs

import httpx
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from examples.shop.services.control.guard import KNOWN_HOSTS, Guard, read_form
from examples.shop.services.control.remote import NoAnswer, Remote
from examples.shop.services.control.switches import Switch, switches_of
from examples.shop.services.control.view import card, summary

HERE = Path(__file__).parent
OK = 200
SEE_OTHER = 303
BAD_GATEWAY = 502


class Panel:
    """What each path does. A service that does not answer is shown so; it never makes the page fail."""

    def __init__(self, remotes: Iterable[Remote], storefront: str | None) -> None:
        self._remotes = {remote.name: remote for remote in remotes}
        self._storefront = storefront
        templates = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined)
        self._page = templates.get_template("panel.html")

    async def show(self, _request: Request) -> Response:
        """Every service as it is now."""
        return await self._shown()

    async def turn(self, request: Request) -> Response:
        """Switch one fault of one service on or off: `on=yes` or `on=no`."""
        remote, switch = self._named(request.path_params["service"], request.path_params["switch"])
        return await self._after([remote.turn(switch, on=_read_on(await read_form(request)))])

    async def clear(self, request: Request) -> Response:
        """Switch every fault of every service off."""
        await read_form(request)
        return await self._after([remote.clear() for remote in self._remotes.values()])

    async def show_health(self, _request: Request) -> Response:
        """That the panel is there."""
        return JSONResponse({"service": "control", "status": "ok"})

    def _named(self, service: str, switch: str) -> tuple[Remote, Switch]:
        if service in self._remotes:
            for each in switches_of(service):
                if each.id == switch:
                    return self._remotes[service], each
        raise HTTPException(404, "expected a switch of a service, found none of that name")

    async def _after(self, changes: list[Awaitable[None]]) -> Response:
        troubles = [trouble for trouble in await asyncio.gather(*map(_trouble, changes)) if trouble is not None]
        return await self._shown(troubles) if troubles else RedirectResponse("/", SEE_OTHER)

    async def _shown(self, troubles: Sequence[str] = ()) -> Response:
        cards = [card(sight) for sight in await asyncio.gather(*(each.look() for each in self._remotes.values()))]
        html = self._page.render(cards=cards, summary=summary(cards), troubles=troubles, storefront=self._storefront)
        return HTMLResponse(html, BAD_GATEWAY if troubles else OK)


def build(urls: Mapping[str, str], storefront: str | None) -> Starlette:
    """The ASGI application of the panel over the services at these URLs."""
    # Proxies of the environment are for the outside world.
    client = httpx.AsyncClient(trust_env=False)
    panel = Panel([Remote(name, url, client) for name, url in urls.items()], storefront)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    return Starlette(
        routes=[
            Route("/", panel.show),
            Route("/services/{service}/{switch}", panel.turn, methods=["POST"]),
            Route("/off", panel.clear, methods=["POST"]),
            Route("/health", panel.show_health),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(Guard), Middleware(TrustedHostMiddleware, allowed_hosts=KNOWN_HOSTS)],
        exception_handlers={ClientDisconnect: _on_client_left},
        lifespan=lifespan,
    )


def _read_on(form: bytes) -> bool:
    wanted = parse_qs(form.decode(errors="replace")).get("on")
    if wanted not in (["yes"], ["no"]):
        raise HTTPException(400, "expected on=yes or on=no, found neither")
    return wanted == ["yes"]


async def _trouble(change: Awaitable[None]) -> str | None:
    try:
        await change
    except NoAnswer as error:
        return str(error)
    return None


async def _on_client_left(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)
