"""Acts on all tasks that a filter finds: the preview, the start, and steering a batch from its page."""

from __future__ import annotations

from typing import Any

from litestar import post
from litestar.params import FromPath
from litestar.response import Redirect

from stepward.client.batches.confirmation import confirmed_by
from stepward.console.acts.form import SentForm, sent_form
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole, root_of
from stepward.errors import InvalidArguments, Refused
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_batches import ScopedBatches
from stepward.http.api.instants import instant_or_duration
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.store.contract import Batch, BatchVerb

VERBS = (BatchVerb.RESUBMIT, BatchVerb.UNDO, BatchVerb.CANCEL, BatchVerb.SUSPEND, BatchVerb.RESUME, BatchVerb.DELETE)
"""Acts on all tasks of a list; marking a step as done needs a result for each task and stays with the task's page."""
OPTIONS = ("doubt", "later", "complete_by", "priority")
"""The fields of a resubmission."""


@post("/batches/preview", permission=Permission.ACT, status_code=200)
async def batch_preview(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The count and a sample of the tasks; nothing is changed."""
    form = await sent_form(request, console.guard, client.principal)
    verb, where = _verb(form), form.text("where")
    found = await client.batches.preview(verb, where, _parameters(form))
    values = {
        "verb": verb.value,
        "where": where,
        "found": found,
        "options": {name: form.text(name) for name in OPTIONS},
        "has_options": verb is BatchVerb.RESUBMIT,
        "still": True,
    }
    return await console.page(request, client, "batch_preview.html", values)


@post("/batches/start", permission=Permission.ACT)
async def batch_start(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Start the batch that a preview has shown, once the number of its tasks is typed."""
    form = await sent_form(request, console.guard, client.principal)
    verb, token = _verb(form), form.text("preview")
    typed = form.text("typed").strip()
    if not confirmed_by(verb, token, int(typed) if typed.isdecimal() and len(typed) <= 18 else None):
        raise HttpRefusal(
            422, f"confirmation: expected the number of tasks typed, found {typed[:60]!r}; nothing started"
        )
    batch = await client.batches.start(
        verb, form.text("where"), _parameters(form), token=token, rate=_rate(form), reason=form.optional("reason")
    )
    console.forget()
    return Redirect(f"{root_of(request)}/batches/{batch.id}?done=start", status_code=303)


@post("/batches/{batch_id:str}/act", permission=Permission.ACT)
async def batch_act(
    request: PageRequest, client: RequestClient, console: SharedConsole, batch_id: FromPath[str]
) -> Redirect:
    """Pause, resume, stop or pace a batch."""
    form = await sent_form(request, console.guard, client.principal)
    verb = form.text("verb")
    await client.batches.get(batch_id)
    batch = await _steered(client.batches, batch_id, verb, form)
    return Redirect(f"{root_of(request)}/batches/{batch.id}?done={verb}_batch", status_code=303)


async def _steered(batches: ScopedBatches, id: str, verb: str, form: SentForm) -> Batch:
    if verb == "pause":
        return await batches.pause(id)
    if verb == "resume":
        return await batches.resume(id)
    if verb == "stop":
        return await batches.stop(id)
    if verb == "pace":
        return await batches.pace(id, _rate(form))
    raise InvalidArguments(f"verb: expected pause, resume, stop or pace, found {verb[:40]!r}; reload the page")


def _verb(form: SentForm) -> BatchVerb:
    verb = form.text("verb")
    if verb not in VERBS:
        raise InvalidArguments(f"verb: expected one of {', '.join(VERBS)}, found {verb[:40]!r}; reload the page")
    return BatchVerb(verb)


def _parameters(form: SentForm) -> dict[str, Any]:
    return {
        "doubt": form.optional("doubt"),
        "later": form.optional("later"),
        "complete_by": instant_or_duration(form.optional("complete_by")),
        "priority": _priority(form.optional("priority")),
    }


def _priority(text: str | None) -> int | None:
    if text is not None and not (text.isdecimal() and len(text) == 1):
        raise Refused(f"priority: expected 0 (last) to 9 (first), found {text[:40]!r}; give a digit or leave it empty")
    return None if text is None else int(text)


def _rate(form: SentForm) -> float:
    text = form.text("rate").strip()
    try:
        return float(text)
    except ValueError:
        raise Refused(f"rate: expected tasks a second, found {text[:40]!r}; give a number") from None
