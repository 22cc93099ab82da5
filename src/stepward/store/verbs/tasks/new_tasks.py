"""New tasks: a submission with an id that exists starts nothing; each task is recorded with the plan of its
workflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from msgspec.structs import astuple

from stepward.model.pipeline_plan import NO_PLANS, Plan, Plans, from_json, planned_steps
from stepward.model.records import Step, Task
from stepward.payload.references import same_payload
from stepward.store.contract import Submitted
from stepward.store.partitions.placement import read_shards, shard_of
from stepward.store.store_errors import ShardElsewhere
from stepward.store.verbs.connection import VerbConnection, VerbRow
from stepward.store.verbs.tasks import status_events

WorkflowVersion = tuple[str, str]
"""Name and version of a workflow."""


async def begin(connection: VerbConnection, tasks: Sequence[Task], workflow: str, version: str) -> list[Submitted]:
    """Submits tasks of one workflow with its plan, which are placed with others; returns the result for each."""
    return await begin_all(connection, [((workflow, version), tasks)])


async def begin_all(
    connection: VerbConnection, groups: Sequence[tuple[WorkflowVersion, Sequence[Task]]]
) -> list[Submitted]:
    """Submits tasks of some workflows with their plans, placed with others; returns the result for each, in order."""
    plans: dict[WorkflowVersion, Plan] = {}
    events_to: dict[WorkflowVersion, str | None] = {}
    for workflow in dict.fromkeys(workflow for workflow, _ in groups):
        declared, events_to[workflow] = await _declared(connection, *workflow)
        plans |= declared
    for workflow, tasks in groups:
        for task in tasks:
            task.events_to = events_to[workflow]
    return await insert(connection, [task for _, tasks in groups for task in tasks], plans)


async def begin_with(connection: VerbConnection, task: Task, steps: Sequence[Step]) -> Submitted:
    """Submits a task that has a record already, with the stages of its workflow's plan that it has not.

    Raises ShardElsewhere for a chosen id of a shard that has left the store.
    """
    if task.id != task.uid:
        await check_shards(connection, [task.id])
    plans, task.events_to = await _declared(connection, task.workflow, task.version)
    (submitted,) = await insert(connection, [task], NO_PLANS)
    if submitted.created:
        known = {step.key for step in steps}
        planned = planned_steps(task, plans.get((task.workflow, task.version), ()))
        rest = [astuple(step) for step in planned if step.key not in known]
        await connection.change_each("turn.insert_planned", rest)
        await connection.change_each("turn.insert_step", [astuple(step) for step in steps])
    return submitted


async def _declared(connection: VerbConnection, workflow: str, version: str) -> tuple[Plans, str | None]:
    """The plan of a workflow, if it declares one, and the webhooks of its tasks."""
    plan, events_to = await connection.row("submission.declared", workflow, version) or (None, None)
    return NO_PLANS if plan is None else {(workflow, version): from_json(plan)}, events_to


async def submit(connection: VerbConnection, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
    """Submits tasks that are placed by their ids. Raises ShardElsewhere for one of a shard that has left the store.

    That error has to roll back: it comes after rows were inserted.
    """
    return await insert(connection, tasks, plans, are_placed_by_ids=True)


async def check_shards(connection: VerbConnection, ids: Sequence[str], shard: Callable[[str], int] = shard_of) -> None:
    """Raises ShardElsewhere unless the store holds the shard of each of these."""
    _check_held(await connection.shards(), ids, shard)


def _check_held(written: str | None, ids: Sequence[str], shard: Callable[[str], int] = shard_of) -> None:
    if written is not None:
        held = read_shards(written)
        for id in ids:
            if shard(id) not in held:
                raise ShardElsewhere(shard(id))


async def insert(
    connection: VerbConnection, tasks: Sequence[Task], plans: Plans, *, are_placed_by_ids: bool = False
) -> list[Submitted]:
    """Inserts tasks whose ids are new, the first of each id, with their plans; returns the result for each."""
    firsts: dict[str, Task] = {}
    for task in tasks:
        firsts.setdefault(task.id, task)
    reported = [task for task in firsts.values() if task.reply_to is not None or task.events_to is not None]
    events = [status_events.received(task) for task in reported]
    ordered = sorted(firsts.values(), key=attrgetter("id"))
    inserted = await connection.insert_each("submission.insert", list(map(astuple, ordered)))
    if are_placed_by_ids:
        _check_held(await connection.shards_beside(inserted), list(firsts))
    created = {row[0] for row in inserted}
    are_all_new = len(created) == len(tasks)
    new = tasks if are_all_new else [task for task in firsts.values() if task.uid in created]
    for task, each in zip(reported, events, strict=True):
        if task.uid in created:
            await status_events.put(connection, each, task.created_at)
    if plans:
        await _record_plans(connection, new, plans)
    if are_all_new:
        return [Submitted(task.uid, task.id, created=True, same=True) for task in tasks]
    known = await _existing(connection, [task.id for task in firsts.values() if task.uid not in created])
    return [_answer(task, firsts[task.id], created, known) for task in tasks]


async def _existing(connection: VerbConnection, ids: list[str]) -> dict[str, VerbRow]:
    found = {row[0]: row for row in await connection.rows("submission.existing", ids)}
    if found:
        # The result says that these tasks exist: they must not be less durable than this commit.
        await connection.follow_commits()
    return found


async def _record_plans(connection: VerbConnection, tasks: Sequence[Task], plans: Plans) -> None:
    steps = [step for task in tasks for step in planned_steps(task, plans.get((task.workflow, task.version), ()))]
    await connection.change_each("turn.insert_planned", [astuple(step) for step in steps])


def _answer(task: Task, first: Task, created: set[str], known: Mapping[str, VerbRow]) -> Submitted:
    if first.uid not in created:
        _, uid, workflow, input = known[task.id]
    elif task is first:
        return Submitted(task.uid, task.id, created=True, same=True)
    else:
        uid, workflow, input = first.uid, first.workflow, first.input
    same = workflow == task.workflow and (input is None or same_payload(input, task.input))
    return Submitted(uid, task.id, created=False, same=same)
