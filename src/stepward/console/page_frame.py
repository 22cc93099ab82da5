"""The frame of all pages, the counts beside the menu, and the conversion of a page into an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jinja2 import Environment
from litestar import Request, Response
from litestar.di import NamedDependency
from msgspec import Struct

from stepward.client import session_of
from stepward.console.filters.text import count
from stepward.console.form_tokens import FormGuard
from stepward.console.rendering import rendered
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.store.contract import Overview

PageRequest = Request[Any, Any, Any]
PageResponse = Response[str]
LATE_FROM = 0.8
"""The share of the time until its deadline from which a task counts as late."""
ROWS_SHOWN = 200
"""Most rows of a list without pages."""
KEPT_SECONDS = 1.0
"""Seconds for which the counts beside the menu are reused."""


class MenuEntry(Struct, frozen=True):
    """An entry of the menu."""

    path: str
    word: str
    needs: Permission
    figure: str = ""
    """The field of the overview that is shown beside the entry."""


MENU = (
    MenuEntry("/", "Now", Permission.READ_ALL),
    MenuEntry("/tasks", "Tasks", Permission.READ),
    MenuEntry("/batches", "Acts in bulk", Permission.READ),
    MenuEntry("/agents", "Agents", Permission.READ_ALL),
    MenuEntry("/limits", "Limits", Permission.READ_ALL),
    MenuEntry("/alerts", "Alerts", Permission.READ, "open_alerts"),
    MenuEntry("/schedules", "Schedules", Permission.READ),
    MenuEntry("/dead-letters", "Dead letters", Permission.READ_ALL, "dead_letters"),
    MenuEntry("/instances", "Instances", Permission.READ_ALL),
    MenuEntry("/audit", "Audit", Permission.READ_ALL),
    MenuEntry("/settings", "Settings", Permission.SIGNED_IN),
)

DONE = {
    "resubmit": "Resubmitted: a Scheduler goes on with it.",
    "undo": "Undo was asked for: what was done is taken back, newest first.",
    "cancel": "Cancel was asked for: it stops, and what was done is taken back.",
    "propose": "Proposed: it is carried out when another person confirms it here, within the hour.",
    "confirm": "Confirmed, and asked for.",
    "suspend": "Suspended: nothing more of it starts until it is resumed.",
    "resume": "Resumed.",
    "mark_done": "The result is recorded; the task goes on.",
    "signal": "The signal is in the task's inbox.",
    "update": "The task has accepted the update.",
    "update_asked": "The update is in the task's inbox; the task has not answered yet.",
    "fork": "This is the new task; its page names the one that it was forked from.",
    "start": "Started: the leading Supervisor asks the tasks, oldest first.",
    "pause_batch": "Paused: no further task is asked.",
    "resume_batch": "Resumed.",
    "stop_batch": "Stopped for good; what was asked stays asked.",
    "pace_batch": "The rate is changed.",
    "acknowledge": "Acknowledged.",
    "drain": "Asked: with its next heartbeat the process starts nothing more, and ends once what runs is done.",
    "silence": "Silent: no sink gets these alerts until then; what is open then is sent.",
    "unsilence": "The silence is over: sinks get what is still open.",
    "enable_webhook": "The webhook is enabled: it gets first the events that wait.",
    "disable_webhook": "The webhook is disabled: its events wait, for seven days each.",
    "test_sink": "The leading Supervisor sends the test; the row of the sink shows its answer.",
    "suspend_agent": "Suspended: what is under way ends by itself, and steps wait with no failure counted.",
    "resume_agent": "Resumed: the Agent is asked again, a little more each moment.",
    "set_limit": "Set: every process follows within a second, and calls that run are not broken off.",
    "reset_limit": "Reset: the limit that the code declares holds again.",
    "put_back": "Put back into their queues, as new messages.",
    "discard": "Discarded for good.",
    "pause_schedule": "Paused: times that pass meanwhile are skipped.",
    "resume_schedule": "Resumed from its next nominal time on.",
    "trigger_schedule": "Started: this is the task of the schedule, beside its nominal times.",
    "backfill_schedule": "Started: a task for each nominal time of the range that had none.",
    "remove_schedule": "Removed; the tasks that it made stay.",
}
"""The message of a page after an act, by the word in its address."""


class _Kept(NamedTuple):
    at: float
    overview: Overview


class Console:
    """The state that the console's pages share within a process."""

    def __init__(self, templates: Environment, guard: FormGuard) -> None:
        self.guard = guard
        self._templates = templates
        self._kept: _Kept | None = None

    async def page(
        self,
        request: PageRequest,
        client: ScopedClient,
        template: str,
        values: Mapping[str, Any],
        *,
        status: int = 200,
    ) -> PageResponse:
        """The answer with a template in the frame."""
        frame = await self._frame(request, client)
        return self._answer(template, {**frame, **values}, status)

    def bare_page(
        self, template: str, values: Mapping[str, Any], *, status: int, headers: dict[str, str]
    ) -> PageResponse:
        """The answer with a template without menu and counts: before sign-in, and while the store is unavailable."""
        return self._answer(template, {"menu": [], "principal": None, "root": "", **values}, status, headers)

    async def overview(self, client: ScopedClient) -> Overview:
        """How everything stands, at most a second old."""
        now = client.now()
        if self._kept is None or not 0 <= now - self._kept.at < KEPT_SECONDS:
            operators = session_of(client.unscoped).store.operators
            self._kept = _Kept(now, await operators.overview(LATE_FROM))
        return self._kept.overview

    def forget(self) -> None:
        """An act has changed the figures."""
        self._kept = None

    async def _frame(self, request: PageRequest, client: ScopedClient) -> dict[str, Any]:
        principal = client.principal
        sees_all = principal.may(Permission.READ_ALL)
        overview = await self.overview(client) if sees_all else None
        return {
            "app": client.app,
            "root": root_of(request),
            "path": request.scope["path"],
            "address": _address(request),
            "menu": [(entry, _figure(entry, overview)) for entry in MENU if principal.may(entry.needs)],
            "principal": principal,
            "may_act": principal.may(Permission.ACT),
            "may_operate": principal.may(Permission.OPERATE),
            "may_administer": principal.may(Permission.ADMINISTER),
            "payloads": principal.payloads,
            "now": client.now(),
            "token": self.guard.token(principal),
            "missing": request.app.state.source.missing_partitions(),
            "done": DONE.get(request.query_params.get("done", "")),
        }

    def _answer(
        self, template: str, values: dict[str, Any], status: int, headers: dict[str, str] | None = None
    ) -> PageResponse:
        body = rendered(self._templates, template, values)
        return Response(body, status_code=status, media_type="text/html", headers=headers or {})


SharedConsole = NamedDependency[Console]
"""The console of a request; the parameter is called ``console``."""


def root_of(request: PageRequest) -> str:
    """The path below which the application is mounted; empty where it stands by itself."""
    return str(request.scope.get("stepward.base", ""))


def _figure(entry: MenuEntry, overview: Overview | None) -> str:
    number = getattr(overview, entry.figure) if entry.figure and overview is not None else 0
    return count(number) if number else ""


def _address(request: PageRequest) -> str:
    query = request.scope["query_string"].decode("latin-1")
    return request.scope["path"] + (f"?{query}" if query else "")
