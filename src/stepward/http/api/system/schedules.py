"""``/api/v1/schedules``: recurring tasks, created, started by hand, caught up with, paused and removed."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import delete, get, post
from litestar.params import Body, FromPath
from msgspec import Struct

from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.resources import ScheduleResource, resource
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.schedule_overlap import Overlap
from stepward.schedules.nominal_times import CatchUp


class CreateScheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The workflow to run, its arguments, and its nominal times: one of ``cron``, ``every`` and ``at``."""

    name: str
    workflow: str
    arguments: list[Any] = []
    cron: str | None = None
    """Five fields: 0 2 * * *."""
    every: str | float | None = None
    """Seconds, or a duration such as 15m."""
    at: str | None = None
    """An instant: 2030-01-31T12:00:00Z."""
    timezone: str | None = None
    overlap: Overlap | None = None
    jitter: str | float | None = None
    start: str | None = None
    end: str | None = None
    catch_up: CatchUp | None = None
    priority: int | None = None
    fairness_key: str | None = None


class BackfillRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The range of nominal times, both ends included, as instants."""

    start: str
    end: str


class StartedResource(Struct, frozen=True, kw_only=True):
    """The ids of the tasks that were started."""

    ids: list[str]


OPTIONS = [name for name in CreateScheduleRequest.__struct_fields__ if name not in ("name", "workflow", "arguments")]


@get("/schedules", permission=Permission.READ)
async def list_schedules(client: RequestClient) -> list[ScheduleResource]:
    """List the schedules, by name."""
    return [resource(ScheduleResource, schedule) for schedule in await client.schedules()]


@post("/schedules", permission=Permission.OPERATE, status_code=201)
async def create_schedule(client: RequestClient, data: Annotated[CreateScheduleRequest, Body()]) -> ScheduleResource:
    """Create a schedule under a new name."""
    given: Any = {name: getattr(data, name) for name in OPTIONS if getattr(data, name) is not None}
    created = await client.unscoped.create_schedule(data.name, data.workflow, data.arguments, **given)
    return resource(ScheduleResource, created)


@post("/schedules/{name:str}/trigger", permission=Permission.OPERATE, status_code=201)
async def trigger_schedule(client: RequestClient, name: FromPath[str], reason: Reason = None) -> StartedResource:
    """Start a task of a schedule now, beside its nominal times."""
    task = await client.unscoped.trigger_schedule(name)
    await client.give_reason("trigger_schedule", name, reason)
    return StartedResource(ids=[task.id])


@post("/schedules/{name:str}/backfill", permission=Permission.OPERATE, status_code=201)
async def backfill_schedule(
    client: RequestClient, name: FromPath[str], data: Annotated[BackfillRequest, Body()]
) -> StartedResource:
    """Start the tasks of the nominal times of a range that have none yet, at most 1,000."""
    tasks = await client.unscoped.backfill_schedule(name, data.start, data.end)
    return StartedResource(ids=[task.id for task in tasks])


@post("/schedules/{name:str}/pause", permission=Permission.OPERATE, status_code=204)
async def pause_schedule(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Pause a schedule; nominal times that pass meanwhile are skipped."""
    if not await client.unscoped.pause_schedule(name):
        raise HttpRefusal(409, f"schedule {name}: expected one at work, found it paused already")
    await client.give_reason("pause_schedule", name, reason)


@post("/schedules/{name:str}/resume", permission=Permission.OPERATE, status_code=204)
async def resume_schedule(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Resume a paused schedule from its next nominal time on."""
    if not await client.unscoped.resume_schedule(name):
        raise HttpRefusal(409, f"schedule {name}: expected a paused one, found it at work")
    await client.give_reason("resume_schedule", name, reason)


@delete("/schedules/{name:str}", permission=Permission.ADMINISTER)
async def remove_schedule(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Remove a schedule that no application declares any more; its tasks stay."""
    await client.unscoped.remove_schedule(name)
    await client.give_reason("remove_schedule", name, reason)
