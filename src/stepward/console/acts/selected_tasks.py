"""One act on several selected tasks: a preview of each first, then the act."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from litestar import post
from msgspec import Struct

from stepward.client import TaskHandle, refusal, session_of
from stepward.console.acts.form import STALE, SentForm, sent_form
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.errors import InvalidArguments, Refused, TaskChanged
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.access.two_person import ActProposed
from stepward.http.api.tasks.etags import version_of
from stepward.http.dependencies import RequestClient
from stepward.model.states import TaskState
from stepward.store.contract import Directive
from stepward.views.actions.acts_by_state import taken_back

MOST = 100
"""Most tasks of one form."""
ACTS: dict[str, Callable[[TaskHandle], Awaitable[TaskState]]] = {
    "resubmit": lambda task: task.resubmit(),
    "undo": lambda task: task.undo(),
    "cancel": lambda task: task.cancel(),
    "suspend": lambda task: task.suspend(),
    "resume": lambda task: task.resume(),
}
TYPED = frozenset({"undo", "cancel"})
"""Acts that require the number of tasks to be typed."""
MEANINGS = {
    "resubmit": "the step that failed is repeated",
    "suspend": "nothing more of it starts",
    "resume": "it goes on",
}


class BulkLine(Struct, frozen=True, kw_only=True):
    """The effect of the act on one task, before or after it."""

    id: str
    state: TaskState | None
    version: str = ""
    result: str
    is_refused: bool = False


@post("/tasks/preview", permission=Permission.ACT, status_code=200)
async def bulk_preview(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The preview of the act on each task; nothing is changed."""
    form = await sent_form(request, console.guard, client.principal)
    verb = _verb(form)
    lines = [await _previewed(client, id, verb) for id in _ids(form)]
    able = [line for line in lines if not line.is_refused]
    values = {
        "verb": verb,
        "lines": lines,
        "able": able,
        "is_done": False,
        "is_typed": verb in TYPED,
        "still": True,
    }
    return await console.page(request, client, "bulk.html", values)


@post("/tasks/act", permission=Permission.ACT, status_code=200)
async def bulk_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """Carries out the act on each task that is still as it was shown."""
    form = await sent_form(request, console.guard, client.principal)
    verb, ids = _verb(form), _ids(form)
    if verb in TYPED:
        form.check_typed(str(len(ids)))
    lines = [await _done(client, id, verb, form.text(f"version:{id}")) for id in ids]
    console.forget()
    values = {"verb": verb, "lines": lines, "able": [], "is_done": True, "is_typed": False, "still": True}
    return await console.page(request, client, "bulk.html", values)


def _verb(form: SentForm) -> str:
    verb = form.text("verb")
    if verb not in ACTS:
        raise InvalidArguments(f"verb: expected one of {', '.join(ACTS)}, found {verb[:40]!r}; reload the page")
    return verb


def _ids(form: SentForm) -> list[str]:
    ids = list(dict.fromkeys(form.ids))
    if not 1 <= len(ids) <= MOST:
        raise InvalidArguments(f"selection: expected 1 to {MOST} tasks, found {len(ids)}; tick those that are meant")
    return ids


async def _previewed(client: ScopedClient, id: str, verb: str) -> BulkLine:
    try:
        found = await client.find(id)
    except Refused as error:
        return BulkLine(id=id, state=None, result=str(error), is_refused=True)
    record, session = found.record, session_of(found.client)
    steps = await session.store.client.steps(id)
    (status,) = await session.statuses([record])
    refused = await refusal(session.store.client, record, steps, Directive(verb=verb, actor=""))
    result = refused or MEANINGS.get(verb) or taken_back(steps)
    return BulkLine(
        id=id, state=record.state, version=version_of(status), result=result, is_refused=refused is not None
    )


async def _done(client: ScopedClient, id: str, verb: str, version: str) -> BulkLine:
    try:
        found = await client.find(id)
        state = await ACTS[verb](client.acting(found, expected=[version]))
    except ActProposed:
        return BulkLine(id=id, state=found.record.state, result="proposed: another person has to confirm it")
    except TaskChanged:
        return BulkLine(id=id, state=found.record.state, result=STALE, is_refused=True)
    except Refused as error:
        return BulkLine(id=id, state=None, result=str(error), is_refused=True)
    return BulkLine(id=id, state=state, result="done")
