"""The list of tasks: what is asked for stands in the address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from litestar import get
from litestar.response import Redirect
from msgspec import Struct

from stepward.client import TaskStatus
from stepward.console.filters import task_href
from stepward.console.shell import PageRequest, PageResponse, SharedConsole, root_of
from stepward.http.access.permissions import Permission
from stepward.http.injected import RequestClient
from stepward.model.states import TaskState
from stepward.views.tasks import note_of

PAGE = 50


class TaskLine(Struct, frozen=True, kw_only=True):
    """A line of the list."""

    status: TaskStatus
    note: str
    used: float | None
    """The part of the time until its deadline that is used up, 0 to 1."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What the address asks for."""

    state: TaskState | None = None
    workflow: str = ""
    label: str = ""
    before: str = ""

    def query(self, **changed: str) -> str:
        """The address's query with something of it changed."""
        known = {"state": self.state or "", "workflow": self.workflow, "label": self.label} | changed
        return urlencode({name: str(value) for name, value in known.items() if value})


@get("/tasks", permission=Permission.READ)
async def tasks_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse | Redirect:
    """Tasks, newest first."""
    wanted = _wanted(request.query_params)
    label = wanted.label.partition("=")
    found = await client.tasks(
        state=wanted.state,
        workflow=wanted.workflow or None,
        label=(label[0], label[2]) if label[1] else None,
        limit=PAGE,
        cursor=wanted.before or None,
    )
    now = client.now()
    values = {
        "wanted": wanted,
        "states": list(TaskState),
        "lines": [_line(status, now) for status in found.tasks],
        "older": wanted.query(before=found.cursor) if found.cursor else None,
        "newest": wanted.query() if wanted.before else None,
    }
    return await console.page(request, client, "tasks.html", values)


@get("/find", permission=Permission.READ)
async def find_page(request: PageRequest) -> Redirect:
    """Go to the task of an id that was typed."""
    id = str(request.query_params.get("id") or "").strip()
    return Redirect(f"{root_of(request)}{task_href(id) if id else '/tasks'}", status_code=303)


def _wanted(asked: Any) -> Wanted:
    state = asked.get("state") or None
    return Wanted(
        state=TaskState(state) if state in set(TaskState) else None,
        workflow=str(asked.get("workflow") or "")[:200],
        label=str(asked.get("label") or "")[:400],
        before=str(asked.get("before") or "")[:400],
    )


def _line(status: TaskStatus, now: float) -> TaskLine:
    used = None
    if status.deadline is not None and status.finished_at is None and status.deadline > status.created_at:
        used = min(1.0, max(0.0, (now - status.created_at) / (status.deadline - status.created_at)))
    return TaskLine(status=status, note=note_of(status), used=used)
