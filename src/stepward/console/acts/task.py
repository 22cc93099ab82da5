"""Acts on one task from its page."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.client import UNSET, TaskHandle
from stepward.console.acts.form import SentForm, sent_form, unchanged_page
from stepward.console.page_frame import PageRequest, SharedConsole, root_of
from stepward.errors import InvalidArguments
from stepward.http.access.permissions import Permission
from stepward.http.access.two_person import PROPOSE, ActProposed
from stepward.http.api.tasks.proposals import rule_of
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.model.alerts.console_links import task_href

ANSWER_SECONDS = 5
"""Seconds for which a page waits for a task's answer to an update."""
VERBS = frozenset(
    {"resubmit", "mark_done", "signal", "update", "undo", "cancel", "suspend", "resume", "fork", "confirm"}
)


@post("/tasks/{task_id:str}/act", permission=Permission.ACT)
async def task_act(request: PageRequest, client: RequestClient, console: SharedConsole, task_id: PathId) -> Redirect:
    """Carry out an act on a task that is still as the page showed it."""
    form = await sent_form(request, console.guard, client.principal)
    found = await client.find(task_id_of(task_id))
    verb = form.text("verb")
    if verb not in VERBS:
        raise InvalidArguments(f"verb: expected one of {', '.join(sorted(VERBS))}, found {verb[:40]!r}")
    handle = client.acting(found, reason=form.optional("reason"), expected=[form.text("version")])
    shown = found.record.id
    try:
        with unchanged_page():
            if verb == "confirm":
                await rule_of(client).confirm(found.record, form.text("proposal"))
            elif verb == "fork":
                shown = (await handle.fork(form.text("step"), undo_later=form.optional("undo_later") is not None)).id
            else:
                await _carry_out(handle, verb, form, by=client.principal.name)
    except ActProposed:
        verb = PROPOSE
    except TimeoutError:
        verb = "update_asked"
    console.forget()
    return Redirect(f"{root_of(request)}{task_href(shown)}?done={verb}", status_code=303)


async def _carry_out(handle: TaskHandle, verb: str, form: SentForm, *, by: str) -> None:
    if verb == "resubmit":
        await _resubmit(handle, form)
    elif verb == "mark_done":
        step = form.text("step")
        later, until = form.optional("later"), form.optional("complete_by")
        await handle.mark_done(step, form.json("value", f"result of {step}"), later=later, complete_by=until)
    elif verb == "signal":
        name = form.text("name")
        await handle.signal(name, form.json("value", f"signal {name}"), by=by)
    elif verb == "update":
        name = form.text("name")
        await handle.update(name, form.json("value", f"update {name}"), timeout=ANSWER_SECONDS, by=by)
    else:
        await {"undo": handle.undo, "cancel": handle.cancel, "suspend": handle.suspend, "resume": handle.resume}[verb]()


async def _resubmit(handle: TaskHandle, form: SentForm) -> None:
    edited: object = UNSET
    if form.text("value").strip():
        edited = form.json("value", "arguments")
        if not isinstance(edited, list):
            raise InvalidArguments(
                "arguments: expected an array of the step's arguments, found another value; write […]"
            )
    await handle.resubmit(
        form.optional("step"),
        edited,
        failed_children=form.optional("failed_children") is not None,
        doubt=form.optional("doubt"),
        later=form.optional("later"),
        complete_by=form.optional("complete_by"),
    )
