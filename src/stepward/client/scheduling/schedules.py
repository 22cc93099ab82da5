"""Schedules at run time: created, started by hand, and caught up with, by a client."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from stepward.client.scheduling.schedule_declaration import check_catch_up, check_name
from stepward.client.session import ClientSession
from stepward.client.submitting import act_arguments
from stepward.client.submitting.known_options import Options
from stepward.durations import seconds, shown
from stepward.error_messages import nearest
from stepward.errors import Refused, ScheduleNotFound
from stepward.model.records import Task
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.model.tasks.control_characters import sought
from stepward.schedules.nominal_times import MOST_AT_ONCE, next_time, scheduled_task, tasks_of, times_within
from stepward.schedules.options import ScheduleOptions
from stepward.schedules.timetable import AT, EVERY, timetable
from stepward.workflow.definition import Workflow

Time = datetime | str
"""An instant: aware, or as ISO 8601 with an offset."""
WAYS = "cron='0 2 * * *', every='15m' or at=<a time>"


async def create(
    session: ClientSession,
    name: str,
    workflow: Workflow[Any, Any] | str,
    args: Sequence[Any],
    options: ScheduleOptions,
) -> Schedule:
    """Record a schedule. Raises Refused for a name that is taken or for what does not fit."""
    check_name(name)
    if unknown := set(options) - set(ScheduleOptions.__annotations__):
        known = ScheduleOptions.__annotations__
        advice = nearest(min(unknown), known) or "correct it"
        raise Refused(
            f"schedule {name}: expected options among {', '.join(known)}, found {min(unknown)!r:.60}; {advice}"
        )
    catch_up = options.get("catch_up", "one")
    check_catch_up(name, catch_up)
    if isinstance(args, str):
        raise Refused(f"schedule {name}: expected args to be a sequence of arguments, found {args!r:.60}")
    cron, zone = _expression(options), options.get("timezone", "UTC")
    timetable(cron, zone)
    submission = Options(priority=options.get("priority", 5), fairness_key=options.get("fairness_key"))
    (task,) = (await session.submissions.prepared(workflow, tuple(args), {}, submission)).tasks
    schedule = Schedule(
        name=name,
        workflow=task.workflow,
        version=task.version,
        input=task.input,
        cron=cron,
        timezone=zone,
        catch_up=catch_up,
        priority=task.priority,
        fairness_key=task.fairness_key,
        complete_seconds=None if task.deadline is None else task.deadline - task.created_at,
        overlap=act_arguments.one_of(Overlap, options.get("overlap"), "overlap") or Overlap.SKIP,
        jitter=seconds(options.get("jitter", 0), "jitter", zero=True),
        starts_at=_instant(options.get("start"), "start"),
        ends_at=_instant(options.get("end"), "end"),
        created_by=session.actor,
    )
    schedule = _counted(schedule, session.store.now())
    if not await session.store.operators.create_schedule(schedule, session.actor):
        raise Refused(f"schedule {name}: expected a new name, found one of that name; remove it first, or name another")
    return schedule


async def trigger(session: ClientSession, name: str) -> str:
    """Start a task of the schedule now; its id. Raises ScheduleNotFound."""
    schedule = await found(session, name)
    now = session.store.now()
    uid = session.new_uid()
    (id,) = await _start(session, schedule, [scheduled_task(schedule, f"{name}@{uid}", uid, now)], "trigger")
    return id


async def backfill(session: ClientSession, name: str, start: Time, end: Time) -> list[str]:
    """Start the tasks of all nominal times from ``start`` to ``end`` that have none yet; their ids.

    Raises ScheduleNotFound, and Refused for more than 1,000 times.
    """
    schedule = await found(session, name)
    first, last = _instant(start, "start"), _instant(end, "end")
    now = session.store.now()
    if first is None or last is None or not first <= last <= now:
        raise Refused(f"backfill of {name}: expected a range that is over, found {start} to {end}; correct it")
    times = times_within(schedule, first, last)
    if len(times) > MOST_AT_ONCE:
        raise Refused(
            f"backfill of {name}: expected at most {MOST_AT_ONCE:,} nominal times, found more; split the range"
        )
    return await _start(session, schedule, tasks_of(schedule, times, now, session.new_uid), "backfill")


async def resume(session: ClientSession, name: str) -> bool:
    """Resume the schedule from its next nominal time on; False if it is not paused. Raises ScheduleNotFound."""
    next_at = next_time(await found(session, name), session.store.now())
    return await session.store.operators.resume_schedule(name, next_at, session.actor)


async def pause(session: ClientSession, name: str) -> bool:
    """Pause the schedule; False if it is paused already. Raises ScheduleNotFound."""
    await found(session, name)
    return await session.store.operators.pause_schedule(name, session.actor)


async def remove(session: ClientSession, name: str) -> None:
    """Remove the schedule, which no application declares. Raises ScheduleNotFound."""
    await found(session, name)
    await session.store.operators.remove_schedule(name, session.actor)


async def found(session: ClientSession, name: str) -> Schedule:
    """The schedule of that name. Raises ScheduleNotFound."""
    schedule = await session.store.operators.schedule(sought(name))
    if schedule is None:
        raise ScheduleNotFound(
            f"schedule {str(name)[:100]!r}: expected one that an application declares, found none such"
        )
    return schedule


def _expression(options: ScheduleOptions) -> str:
    """The nominal times as the record holds them. Raises Refused unless exactly one kind is given."""
    cron, every, at = options.get("cron"), options.get("every"), options.get("at")
    given = [value for value in (cron, every, at) if value is not None]
    if len(given) != 1:
        raise Refused(f"schedule: expected exactly one of {WAYS}, found {len(given)} of them")
    if every is not None:
        amount = seconds(every, "every")
        return f"{EVERY}{every.strip() if isinstance(every, str) else f'{amount}s'}"
    if at is not None:
        return f"{AT}{at.isoformat() if isinstance(at, datetime) else at}"
    return str(cron)


async def _start(session: ClientSession, schedule: Schedule, tasks: Sequence[Task], act: str) -> list[str]:
    ids = await session.store.operators.start_scheduled(schedule, tasks, act, session.actor)
    session.hints.hint()
    return ids


def _counted(schedule: Schedule, now: float) -> Schedule:
    """The schedule with its first nominal time."""
    next_at = next_time(schedule, now)
    if next_at is None:
        raise Refused(
            f"schedule {schedule.name}: expected a nominal time to come, found none; move its time or its end"
        )
    return replace(schedule, next_at=next_at)


def _instant(value: Time | None, what: str) -> float | None:
    if value is None:
        return None
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        at = None
    if at is None or at.tzinfo is None:
        raise Refused(f"{what}: expected a time with its offset, such as 2027-01-15T09:00:00Z, found {shown(value)}")
    return at.timestamp()
