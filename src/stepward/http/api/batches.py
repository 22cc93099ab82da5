"""``/api/v1/batches``: one directive for every task that a filter finds; nothing is started without its preview."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from litestar import get, post
from litestar.params import Body, PathParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from stepward.client import UNSET as NOT_GIVEN
from stepward.client.batches.confirmation import confirmed_by
from stepward.client.batches.preview import SampledTask
from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.instants import instant_or_duration
from stepward.http.api.resources import resource
from stepward.http.api.tasks.task_reads import LIMIT, ListLimit
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.store.contract import Batch, BatchParameters, BatchRefusal, BatchState, BatchVerb, Doubt, Later
from stepward.store.search.lexer import LONGEST_FILTER

BatchId = Annotated[str, PathParameter(description="The batch's id.", max_length=100)]
Where = Annotated[str, Meta(min_length=1, max_length=LONGEST_FILTER)]


class BatchAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The act on every task that the filter finds within the principal's scope."""

    verb: BatchVerb
    where: Where
    step: str | None = None
    input: list[Any] | UnsetType = UNSET
    """The arguments to repeat the step with."""
    result: Any | UnsetType = UNSET
    """The result to record with mark_done."""
    doubt: Doubt | None = None
    later: Later | None = None
    complete_by: str | float | None = None
    """An instant, or a duration from the act on each task."""
    priority: int | None = None


class BatchStart(BatchAct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same, to be carried out."""

    preview: str
    """The token of a preview of just this act, of the last 15 minutes."""
    confirm: int | None = None
    """The number of tasks that the preview counted; needed for all but suspend and resume."""
    rate: float = 20.0
    """Most tasks a second."""
    reason: str | None = None


class BatchPace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another rate."""

    rate: float


class PreviewResource(Struct, frozen=True, kw_only=True):
    """What a batch would do."""

    number: int
    is_exact: bool
    as_of: datetime
    sample: list[SampledTask]
    needs_confirmation: bool
    preview: str
    """The token with which it is started."""


class BatchResource(Struct, frozen=True, kw_only=True):
    """A batch, and how far it is."""

    id: str
    verb: BatchVerb
    filter: str
    workflows: list[str]
    labels: dict[str, str]
    parameters: BatchParameters
    actor: str
    reason: str | None
    state: BatchState
    rate: float
    as_of: datetime
    matched: int
    is_exact: bool
    done: int
    refused: int
    refusals: list[BatchRefusal]
    created_at: datetime
    finished_at: datetime | None


@post("/batches/preview", permission=Permission.ACT, status_code=200)
async def preview_batch(client: RequestClient, data: Annotated[BatchAct, Body()]) -> PreviewResource:
    """Count the tasks, and say what the act would do to the first of them; nothing is changed."""
    found = await client.batches.preview(data.verb, data.where, _parameters(data))
    return PreviewResource(
        number=found.count.number,
        is_exact=found.count.is_exact,
        as_of=_instant(found.count.as_of),
        sample=found.sample,
        needs_confirmation=found.needs_confirmation,
        preview=found.token,
    )


@post("/batches", permission=Permission.ACT, status_code=201)
async def start_batch(client: RequestClient, data: Annotated[BatchStart, Body()]) -> BatchResource:
    """Start the act of a preview."""
    if not confirmed_by(data.verb, data.preview, data.confirm):
        raise HttpRefusal(
            422, "confirm: expected the number of tasks that the preview counted, found another", field="confirm"
        )
    batch = await client.batches.start(
        data.verb, data.where, _parameters(data), token=data.preview, rate=data.rate, reason=data.reason
    )
    return _shown(batch)


@get("/batches", permission=Permission.READ)
async def list_batches(client: RequestClient, limit: ListLimit = LIMIT) -> list[BatchResource]:
    """The batches, newest first; with a scope those that the principal started."""
    return [_shown(batch) for batch in await client.batches.recent(limit)]


@get("/batches/{batch_id:str}", permission=Permission.READ)
async def show_batch(client: RequestClient, batch_id: BatchId) -> BatchResource:
    """A batch, and how far it is."""
    return _shown(await client.batches.get(batch_id))


@post("/batches/{batch_id:str}/pause", permission=Permission.ACT, status_code=200)
async def pause_batch(client: RequestClient, batch_id: BatchId, reason: Reason = None) -> BatchResource:
    """Ask no further task until it is resumed."""
    batch = await client.batches.pause(batch_id)
    await client.give_reason("pause_batch", batch_id, reason)
    return _shown(batch)


@post("/batches/{batch_id:str}/resume", permission=Permission.ACT, status_code=200)
async def resume_batch(client: RequestClient, batch_id: BatchId, reason: Reason = None) -> BatchResource:
    """Go on with a batch that is paused."""
    batch = await client.batches.resume(batch_id)
    await client.give_reason("resume_batch", batch_id, reason)
    return _shown(batch)


@post("/batches/{batch_id:str}/stop", permission=Permission.ACT, status_code=200)
async def stop_batch(client: RequestClient, batch_id: BatchId, reason: Reason = None) -> BatchResource:
    """Ask no further task for good; what was asked stays so."""
    batch = await client.batches.stop(batch_id)
    await client.give_reason("stop_batch", batch_id, reason)
    return _shown(batch)


@post("/batches/{batch_id:str}/pace", permission=Permission.ACT, status_code=200)
async def pace_batch(
    client: RequestClient, batch_id: BatchId, data: Annotated[BatchPace, Body()], reason: Reason = None
) -> BatchResource:
    """Go on with another rate."""
    batch = await client.batches.pace(batch_id, data.rate)
    await client.give_reason("pace_batch", batch_id, reason)
    return _shown(batch)


BATCH_ROUTES = (
    preview_batch,
    start_batch,
    list_batches,
    show_batch,
    pause_batch,
    resume_batch,
    stop_batch,
    pace_batch,
)


def _parameters(data: BatchAct) -> dict[str, Any]:
    said = {name: getattr(data, name) for name in ("step", "doubt", "later", "priority")}
    given = {name: getattr(data, name) for name in ("input", "result")}
    said |= {name: NOT_GIVEN if isinstance(value, UnsetType) else value for name, value in given.items()}
    return said | {"complete_by": instant_or_duration(data.complete_by)}


def _shown(batch: Batch) -> BatchResource:
    return resource(BatchResource, batch)


def _instant(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
