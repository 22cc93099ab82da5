"""The forms of a page, as a browser without scripts would send them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx


@dataclass
class Form:
    """A form: where it goes, its fields, and the values of its buttons."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        return dict(self.fields).get(name)


class Forms(HTMLParser):
    """Collects the forms that are posted."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._inside = False
        self._text: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = known.get("method") == "post"
            if self._inside:
                self.found.append(Form(known["action"]))
        elif self._inside and tag == "input" and (known.get("type") != "checkbox" or "checked" in known):
            self.found[-1].fields.append((known["name"], known.get("value", "")))
        elif self._inside and tag == "button" and "name" in known:
            self.found[-1].buttons.append((known["name"], known["value"]))
        elif self._inside and tag == "textarea":
            self._text = ""
            self.found[-1].fields.append((known["name"], ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        if tag == "textarea" and self._text is not None:
            name, _ = self.found[-1].fields[-1]
            self.found[-1].fields[-1] = (name, self._text)
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text += data


def forms_of(page: str) -> list[Form]:
    """The forms of a page that change something."""
    return Forms(page).found


def act_form(page: str, verb: str, *, edited: bool = False) -> Form:
    """The form of an act on a task's page."""
    found = [form for form in forms_of(page) if form.get("verb") == verb and (form.get("value") is not None) == edited]
    return found[0]


async def send(browser: httpx.AsyncClient, form: Form, **changed: str) -> httpx.Response:
    """Send a form, with some fields filled in or changed."""
    body: dict[str, list[str]] = {}
    for name, value in form.fields:
        body.setdefault(name, []).append(value)
    body |= {name: [value] for name, value in changed.items()}
    return await browser.post(form.action, data=body)
