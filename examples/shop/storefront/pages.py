"""Pages: templates filled in, with everything escaped."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from examples.orders import catalogue
from examples.shop.storefront.records import Records
from examples.shop.storefront.visitors import remember, visitor_of

TEMPLATES = Path(__file__).with_name("templates")
STATIC = Path(__file__).with_name("static")


class Pages:
    """The shop's pages; each of them shows how much is in its visitor's basket."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters["money"] = money
        self._environment.globals.update(catalogue=catalogue, static=static_urls().__getitem__)

    def show(self, request: Request, name: str, *, status: int = 200, **context: Any) -> Response:
        """A page for the visitor who asks."""
        lines = self._records.basket(visitor_of(request))
        path = request.url.path if request.method in ("GET", "HEAD") else ""
        html = self.render(name, basket_count=sum(line.quantity for line in lines), path=path, **context)
        return remember(request, HTMLResponse(html, status))

    def error(self, status: int, title: str, words: str) -> Response:
        """A page about what went wrong; it needs no visitor and no file, for they may be what is wrong."""
        html = self.render("error.html", basket_count=0, path="", title=title, words=words)
        return HTMLResponse(html, status)

    def render(self, name: str, **context: Any) -> str:
        """A template filled in."""
        return self._environment.get_template(name).render(context)


def static_urls() -> dict[str, str]:
    """The URL of each static file; another content has another URL, so that browsers may keep what they have."""
    files = (path for path in STATIC.rglob("*") if path.is_file())
    return {
        (name := path.relative_to(STATIC).as_posix()): f"/static/{name}?v={sha256(path.read_bytes()).hexdigest()[:16]}"
        for path in files
    }


def money(cents: int) -> str:
    """Cents as customers read them: `€42.00`."""
    return f"€{cents // 100:,}.{cents % 100:02}"
