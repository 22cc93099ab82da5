"""A submitted form: bounded fields, its token, and the version of the page that it was on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from litestar.response import Redirect

from stepward.console.form_tokens import FormGuard
from stepward.console.page_frame import PageRequest, root_of
from stepward.errors import InvalidArguments, TaskChanged
from stepward.http.access.permissions import Permission
from stepward.http.access.principals import Principal
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.payload import check_size

STALE = "the state has changed since the page was shown: another act or process was faster; look again, then decide"


class SentForm:
    """The fields of a form that a browser sent."""

    def __init__(self, fields: Mapping[str, str], many: list[str]) -> None:
        self._fields = fields
        self.ids = many
        """The selected tasks or numbers."""

    def text(self, name: str) -> str:
        """A field as text; empty if it is missing."""
        return self._fields.get(name, "")

    def optional(self, name: str) -> str | None:
        """A field as text; None if it is empty."""
        return self._fields.get(name) or None

    def json(self, name: str, what: str) -> object:
        """A field as JSON. Raises InvalidArguments."""
        text = self.text(name).strip()
        try:
            data = text.encode()
            check_size(data, what)
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeEncodeError):
            raise InvalidArguments(
                f"{what}: expected JSON, found {text[:60]!r}; text stands in double quotes"
            ) from None

    def number(self, name: str) -> int:
        """A field as a positive whole number. Raises InvalidArguments."""
        text = self.text(name)
        if not text.isdecimal() or not 1 <= len(text) <= 18:
            raise InvalidArguments(f"{name}: expected a number, found {text[:60]!r}; reload the page")
        return int(text)

    def check_version(self, found: str) -> None:
        """Raises HttpRefusal (409) if the page's content has changed since the form was sent out."""
        if self.text("version") != found:
            raise HttpRefusal(409, STALE)

    def check_typed(self, expected: str) -> None:
        """Raises HttpRefusal (422) unless the form's confirmation field holds the expected text."""
        typed = self.text("typed").strip()
        if typed != expected:
            raise HttpRefusal(422, f"confirmation: expected {expected} typed, found {typed[:60]!r}; nothing was done")


@contextmanager
def unchanged_page() -> Iterator[None]:
    """Raises HttpRefusal (409) where the task of a form is not any more as the page showed it."""
    try:
        yield
    except TaskChanged:
        raise HttpRefusal(409, STALE) from None


async def sent_form(request: PageRequest, guard: FormGuard, principal: Principal) -> SentForm:
    """The form of a request. Raises HttpRefusal for a form without a valid token."""
    data = await request.form()
    fields = {name: value for name, value in data.items() if isinstance(value, str)}
    guard.check(principal, fields.get("csrf_token", ""))
    chosen = [value for value in data.getall("ids", []) if isinstance(value, str)]
    return SentForm(fields, chosen)


def check_administers(client: ScopedClient) -> None:
    """Raises HttpRefusal (403) for what cannot be taken back, unless the principal is an admin."""
    if not client.principal.may(Permission.ADMINISTER):
        raise HttpRefusal(403, f"expected a principal with the permission administer, found {client.principal.role}")


def row_numbers(form: SentForm) -> list[int]:
    """The numbers of the selected rows. Raises InvalidArguments if none is selected."""
    numbers = [int(text) for text in form.ids if text.isdecimal() and len(text) <= 18]
    if not numbers:
        raise InvalidArguments("selection: expected at least one, found none; tick what is meant")
    return numbers


def back_to(request: PageRequest, path: str, done: str) -> Redirect:
    """The answer that leads to a page, which shows the message of that key."""
    return Redirect(f"{root_of(request)}{path}?done={done}", status_code=303)
