"""The list of tasks; its filter and position are in the address."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from litestar import get
from litestar.response import Redirect
from msgspec import Struct

from stepward.client import TaskStatus, session_of
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole, root_of
from stepward.errors import InvalidFilter
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import FoundPage, ScopedClient
from stepward.http.dependencies import RequestClient
from stepward.model.alerts.console_links import task_href
from stepward.model.states import TaskState
from stepward.store.search.fields import SearchField
from stepward.views.tasks import note_of

PAGE = 50
LONGEST = 4_000
"""Most characters of a filter or a cursor in the address."""
CHIPS = (
    ("in error", "state = 'error'"),
    ("processing", "state = 'processing'"),
    ("waiting", "state = 'waiting'"),
    ("suspended", "state = 'suspended'"),
    ("undoing", "state = 'undoing'"),
    ("pending", "state = 'pending'"),
    ("failed in the last hour", "state = 'error' and ended > '1h ago'"),
    ("due within the hour", "deadline < 'in 1h'"),
)
"""Common filters, with their labels."""
FIELDS = [f"{field}." if field in (SearchField.LABEL, SearchField.ATTRIBUTE) else field.value for field in SearchField]
"""The fields of a filter; behind the point of two of them stands a name."""
MOST_WORDS = 500
"""Most names of workflows, and of Agents, that the filter is completed with."""


class TaskLine(Struct, frozen=True, kw_only=True):
    """A row of the list."""

    status: TaskStatus
    note: str
    used: float | None
    """The share of the time until its deadline that the task has used, 0 to 1."""


class Wanted(Struct, frozen=True, kw_only=True):
    """The filter and position in the address."""

    where: str = ""
    """A filter in the language of ``docs/search.md``."""
    before: str = ""

    def query(self, **changed: str) -> str:
        """The query of the address with some parts replaced."""
        return urlencode({name: value for name, value in ({"where": self.where} | changed).items() if value})


@get("/tasks", permission=Permission.READ)
async def tasks_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse | Redirect:
    """Tasks, newest first."""
    wanted = _wanted(request.query_params)
    problem = ""
    try:
        found = await client.tasks(where=wanted.where or None, limit=PAGE, cursor=wanted.before or None)
    except InvalidFilter as error:
        found, problem = FoundPage([], None), str(error)
    now = client.now()
    values = {
        "wanted": wanted,
        "problem": problem,
        "lines": [_line(status, now) for status in found.tasks],
        "older": wanted.query(before=found.cursor) if found.cursor else None,
        "newest": wanted.query() if wanted.before else None,
        "chips": CHIPS,
        "words": await _words(client),
    }
    return await console.page(request, client, "tasks.html", values, status=422 if problem else 200)


async def _words(client: ScopedClient) -> str:
    """What the filter is completed with, as JSON: the fields, and by field its known values.

    The names of workflows and Agents are those of the whole store, for principals who may see all.
    """
    values = {"state": [state.value for state in TaskState]}
    if client.principal.may(Permission.READ_ALL):
        store = session_of(client.unscoped).store
        values["workflow"] = sorted({record.name for record in await store.client.workflows()})[:MOST_WORDS]
        values["agent"] = [standing.name for standing in await store.operators.standings()][:MOST_WORDS]
    return json.dumps({"fields": FIELDS, "values": values})


@get("/find", permission=Permission.READ)
async def find_page(request: PageRequest) -> Redirect:
    """Redirect to the page of the task whose id was typed."""
    id = str(request.query_params.get("id") or "").strip()
    return Redirect(f"{root_of(request)}{task_href(id) if id else '/tasks'}", status_code=303)


def _wanted(asked: Any) -> Wanted:
    """The filter and position in the address; ``state``, ``workflow`` and ``label`` of links become parts of the
    filter."""
    parts = [str(asked["where"])[:LONGEST]] if asked.get("where") else []
    parts += [f"{name} = {_quoted(str(asked[name]))}" for name in ("state", "workflow") if asked.get(name)]
    label, _, value = str(asked.get("label") or "").partition("=")
    if value:
        parts.append(f"label.{label} = {_quoted(value)}")
    return Wanted(where=" and ".join(parts), before=str(asked.get("before") or "")[:LONGEST])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _line(status: TaskStatus, now: float) -> TaskLine:
    used = None
    if status.deadline is not None and status.finished_at is None and status.deadline > status.created_at:
        used = min(1.0, max(0.0, (now - status.created_at) / (status.deadline - status.created_at)))
    return TaskLine(status=status, note=note_of(status), used=used)
