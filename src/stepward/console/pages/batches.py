"""Acts in bulk: the list of batches, and the page of one with its progress."""

from __future__ import annotations

from litestar import get
from litestar.params import FromPath

from stepward.console.acts.batches import VERBS
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.store.contract import BATCH_ENDS, Batch, BatchState, BatchVerb
from stepward.views.batches import part_done, said_of
from stepward.views.state_symbols import Tone

LIMIT = 200
TONES = {
    BatchState.RUNNING: (Tone.WORK, "▶"),
    BatchState.PAUSED: (Tone.HELD, "="),
    BatchState.STOPPED: (Tone.QUIET, "■"),
    BatchState.DONE: (Tone.GOOD, "✓"),
}
"""The tone and the sign of each state."""


@get("/batches", permission=Permission.READ)
async def batches_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The batches, newest first."""
    found = await client.batches.recent(LIMIT)
    rows = [{"batch": batch, "look": TONES[batch.state], "part": part_done(batch)} for batch in found]
    return await console.page(request, client, "batches.html", {"rows": rows})


@get("/batches/{batch_id:str}", permission=Permission.READ)
async def batch_page(
    request: PageRequest, client: RequestClient, console: SharedConsole, batch_id: FromPath[str]
) -> PageResponse:
    """A batch: what it asks, how far it is, and what refused."""
    batch = await client.batches.get(batch_id)
    may_administer = client.principal.may(Permission.ADMINISTER)
    values = {
        "batch": batch,
        "look": TONES[batch.state],
        "part": part_done(batch),
        "said": said_of(batch.parameters),
        "ended": batch.state in BATCH_ENDS,
        "left": _seconds_left(batch),
        "refused_where": _where_refused(batch),
        "can_repeat": batch.verb in VERBS and (batch.verb is not BatchVerb.DELETE or may_administer),
        "repeated": _repeated(batch),
    }
    return await console.page(request, client, "batch.html", values)


def _repeated(batch: Batch) -> dict[str, str]:
    """The options of a resubmission that the same act on the tasks that refused begins with."""
    said = batch.parameters
    given = {"doubt": said.doubt, "later": said.later, "priority": said.priority}
    return {name: str(value) for name, value in given.items() if value is not None}


def _seconds_left(batch: Batch) -> float | None:
    """Seconds until the last task is asked, if the rate is kept."""
    left = batch.matched - batch.done - batch.refused
    return left / batch.rate if batch.state is BatchState.RUNNING and left > 0 else None


def _where_refused(batch: Batch) -> str:
    """The filter of the tasks that refused, of those that are kept."""
    ids = ", ".join(f"'{each.task}'" for each in batch.refusals)
    return f"id in ({ids})" if ids else ""
