"""Every verb of the store, with arguments drawn by chance from what the stores hold: mostly fitting, sometimes not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepward.model.agents import AgentHealth, Report
from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.slots import SlotClaim
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.plan import PlannedStage, Plans
from stepward.model.records import Alert, Audit, InboxKind, Instance, Role, Task, WorkflowRecord
from stepward.model.schedule import Overlap, Schedule
from stepward.model.states import StepKind, StepState
from stepward.store.contract import Decision, Directive, Least, Post, Store
from tests.store.changes import REPLIES, drawn_changes
from tests.store.conformance.world import finish, step
from tests.store.differential import Act, Maker, Stream
from tests.store.listing import listed
from tests.store.operators import OPERATORS

SERVED = [("order", "1"), ("order", "2"), ("refund", "1")]
BODIES = (b"null", b'{"message":"no","step":"charge/1"}', b'{"message":"no"}')
KEYS = ("charge/1", "pack/1", "charge/1~undo", "stage/1")
VERBS = ("undo", "cancel", "suspend", "resume", "resubmit", "mark_done")
STAGE = PlannedStage(
    stage="stage",
    key="stage/1",
    name="stage",
    kind=StepKind.OPERATION,
    agent="pay",
    complete_seconds=9.0,
    has_undo=True,
    irreversible=False,
    waits_for=(),
)
PLANS: Plans = {("order", "2"): (STAGE,)}


def drawn_task(stream: Stream, **fields: Any) -> Task:
    """A task that was not submitted, or one with the id of a submitted task."""
    chance = stream.chance
    uid = stream.new("uid")
    workflow, version = chance.choice(SERVED)
    usual: dict[str, Any] = {
        "workflow": workflow,
        "version": version,
        "id": stream.pick(stream.ids) if stream.ids and chance.random() < 0.1 else uid,
        "priority": chance.randrange(3),
        "fairness_key": chance.choice((None, "a", "b")),
        "input": chance.choice((b"[]", b"[1]")),
        "created_at": stream.now(),
        "wake_at": stream.now() + chance.choice((1, 60)) if chance.random() < 0.2 else None,
        "deadline": stream.now() + chance.choice((0, 30)) if chance.random() < 0.2 else None,
        "reply_to": REPLIES if chance.random() < 0.3 else None,
        "labels": chance.choice((b"{}", b'{"city":"Ulm"}')),
    }
    task = Task(uid=uid, **usual | fields)
    stream.ids.append(task.id)
    stream.uids.append(uid)
    return task


def instance_of(stream: Stream) -> str:
    """Mostly the newest Scheduler, at times an older one, which may be dead."""
    return stream.chance.choice(stream.instances[-3:]) if stream.instances else "nobody"


async def submit(stream: Stream) -> Act:
    tasks = [drawn_task(stream) for _ in range(stream.chance.randrange(1, 4))]
    return lambda store, number: store.client.submit(_fresh(tasks), PLANS)


async def share(stream: Stream) -> Act:
    """A submission and an outcome within a transaction, which may be rolled back."""
    task, is_kept = drawn_task(stream), stream.chance.random() < 0.7
    held = await held_task(stream)
    told = None if held is None else finish(step(held), finished_at=stream.now())
    owner = instance_of(stream)

    async def act(store: Store, number: int) -> Any:
        try:
            async with store.client.transaction() as transaction:
                answers = await transaction.submit(_fresh([task]), PLANS)
                known = await transaction.known(stream.ids[-5:])
                finished = told is not None and await transaction.finish(owner, told)
                if not is_kept:
                    raise KeyError
        except KeyError:
            return "rolled back"
        return [*answers, sorted(known), finished]

    return act


def _fresh(tasks: list[Task]) -> list[Task]:
    """Copies: a store counts on the record what it tells."""
    return [Task(**{name: getattr(task, name) for name in Task.__struct_fields__}) for task in tasks]


async def held_task(stream: Stream) -> Task | None:
    """A task that some instance holds, as it stands."""
    found = await listed(stream.stores[0], limit=30)
    chosen = stream.pick(task for task in found if task.locked_by is not None)
    return None if chosen is None else await stream.stores[0].client.task(chosen.id)


async def commit(stream: Stream) -> Act:
    owner = instance_of(stream)
    changes = await drawn_changes(stream, owner, lambda **fields: drawn_task(stream, **fields))
    renew = stream.chance.choice((None, 30.0))
    return lambda store, number: store.scheduler.commit(owner, [change(number) for change in changes], renew)


async def claim(stream: Stream) -> Act:
    instance, limit = instance_of(stream), stream.chance.randrange(4)
    served = stream.chance.sample(SERVED, stream.chance.randrange(4))
    but = frozenset(stream.chance.sample((None, "a", "b"), stream.chance.randrange(3)))
    least = Least(stream.chance.randrange(3), but) if stream.chance.random() < 0.3 else None

    async def act(store: Store, number: int) -> Any:
        histories = await store.scheduler.claim(instance, served, limit, least)
        stream.claimed.setdefault(instance, set()).update(history.task.uid for history in histories)
        return histories

    return act


async def load(stream: Stream) -> Act:
    instance = instance_of(stream)
    uids = [task.uid for task in await listed(stream.stores[0], limit=20)]

    async def act(store: Store, number: int) -> Any:
        found = await store.scheduler.load(instance, uids)
        return sorted(([h.task, h.steps, len(h.inbox)] for h in found), key=lambda row: str(row[0].uid))

    return act


async def read_inbox(stream: Stream) -> Act:
    instance = instance_of(stream)
    after = stream.cursors.get(instance, (0,) * len(stream.stores))
    # What was in an inbox before its task was claimed came with the task: a store may leave it out here.
    claimed = stream.claimed.pop(instance, set())

    async def act(store: Store, number: int) -> Any:
        rows = await store.scheduler.read_inbox(instance, after[number])
        highest = max((row.number for row in rows), default=after[number])
        kept = stream.cursors.setdefault(instance, after)
        stream.cursors[instance] = (*kept[:number], highest, *kept[number + 1 :])
        return [row for row in rows if row.task not in claimed]

    return act


async def stray(stream: Stream) -> Act | None:
    task = stream.pick(await listed(stream.stores[0], limit=30))
    if task is None:
        return None
    chance = stream.chance
    outcome = chance.choice(list(Outcome))
    reply = Reply(
        task=task.uid,
        run=1,
        key=chance.choice(KEYS),
        attempt=chance.choice((1, 1, 2)),
        outcome=outcome,
        output=b"1" if outcome is Outcome.COMPLETED else None,
        error=None if outcome is Outcome.COMPLETED else BODIES[1],
        maybe_done=chance.random() < 0.5,
    )
    return lambda store, number: store.scheduler.settle_misrouted([reply])


async def unheld(stream: Stream) -> Act:
    chance = stream.chance
    agents, limit = chance.choice((None, ["pay"], ["other"])), chance.randrange(1, 5)
    after = (stream.now() - chance.choice((0, 30)), "", 0, "")

    async def act(store: Store, number: int) -> Any:
        found = await store.scheduler.unowned_steps(after, agents, limit)
        return sorted((each.task.uid, each.step.run, each.step.key) for each in found.steps), found.after

    return act


async def signal(stream: Stream) -> Act:
    id, known = stream.pick(stream.ids) or "nobody", stream.chance.choice((None, "x", "y"))
    return lambda store, number: store.client.signal(id, "paid", b"1", known)


async def direct(stream: Stream) -> Act:
    chance = stream.chance
    verb = chance.choice(VERBS)
    key = chance.choice((None, *KEYS))
    edited = b"[2]" if verb == "resubmit" and chance.random() < 0.3 else None
    directive = Directive(verb=verb, actor="ada", step=key, input=edited)
    id = stream.pick(stream.ids) or "nobody"
    return lambda store, number: store.client.direct(id, directive)


async def register(stream: Stream) -> Act:
    role = stream.chance.choice((Role.SCHEDULER, Role.SCHEDULER, Role.AGENT))
    instance = Instance(id=stream.new("i"), role=role, host="here", pid=1, serves=["order@1"], capacity=3)
    stream.instances.append(instance.id)
    return lambda store, number: store.host.register(instance, 30.0)


async def renew(stream: Stream) -> Act:
    instances = stream.instances[-4:]
    health = [AgentHealth(agent="pay", capacity=3, in_flight=stream.chance.randrange(4))]
    said = {instance: Report(health=health, demand={"pay": 2}) for instance in instances[:2]}
    return lambda store, number: store.host.renew(instances, 30.0, said)


async def break_agent(stream: Stream) -> Act:
    """What an instance does about the breaker of an Agent, and an operator about the Agent."""
    instance, choice = instance_of(stream), stream.chance.randrange(6)
    acts: tuple[Act, ...] = (
        lambda store, number: store.host.open_breaker("order@1", instance, 5.0),
        lambda store, number: store.host.grant_probe("order@1", instance, 5.0),
        lambda store, number: store.host.close_breaker("order@1", instance),
        lambda store, number: store.operators.suspend_agent("order@1", "a note", "ada"),
        lambda store, number: store.operators.resume_agent("order@1", "ada"),
        lambda store, number: store.operators.standings(),
    )
    return acts[choice]


async def bound(stream: Stream) -> Act:
    """What instances do about the slots of an Agent, and an operator and the code about its limit."""
    instance, choice, count = instance_of(stream), stream.chance.randrange(9), stream.chance.randrange(1, 6)
    claim = SlotClaim(
        agent="order@1", wanted=count, most=count * (choice > 0), busy=choice // 7, until=stream.now() + 20
    )
    declared = FlowLimit(name="agent:order@1", declared_concurrency=count)
    acts: tuple[Act, ...] = (
        lambda store, number: store.operators.set_limit(declared.name, SetLimit(concurrency=count), "ada"),
        lambda store, number: store.operators.reset_limit(declared.name, "ada"),
        lambda store, number: store.host.declare_limits([declared], []),
        lambda store, number: store.host.declare_limits([], [declared.name]),
        lambda store, number: store.supervisor.release_slots(stream.term),
    )
    if choice < len(acts):
        return acts[choice]
    return lambda store, number: store.host.lease_slots(instance, [claim])


async def retire(stream: Stream) -> Act | None:
    instance = instance_of(stream)
    return (lambda store, number: store.host.retire(instance)) if stream.chance.random() < 0.2 else None


async def describe(stream: Stream) -> Act:
    name, version = stream.chance.choice(SERVED)
    policy = b'{"threshold":%d}' % stream.chance.randrange(9)
    record = WorkflowRecord(name=name, version=version, schema=b"{}", policy=policy, complete_seconds=None)
    return lambda store, number: store.host.register_workflows([record])


async def lead(stream: Stream) -> Act:
    instance = stream.chance.choice(("one", "one", "two"))

    async def act(store: Store, number: int) -> Any:
        term = await store.supervisor.lead(instance, 20.0)
        stream.term = term or stream.term
        return term

    return act


async def forgive(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.forgive(stream.term, 5.0)


async def fence(stream: Stream) -> Act:
    async def act(store: Store, number: int) -> Any:
        return sorted(await store.supervisor.fence(stream.term), key=lambda instance: instance.id)

    return act


async def free(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.free(stream.term, 2)


async def decide(stream: Stream) -> Act:
    chance = stream.chance
    expired = await stream.stores[0].supervisor.expired_steps(9)
    decisions = [
        Decision(
            task=found.task,
            run=found.run,
            key=found.key,
            attempt=found.attempt + (chance.random() < 0.1),
            state=state,
            repeat_at=stream.now() + 1 if state is StepState.TO_REPEAT else None,
            error=BODIES[1] if state is StepState.FAILED else None,
            posts=(Post(task=found.task, kind=InboxKind.FAIL, body=BODIES[1]),) if state is StepState.FAILED else (),
            audit=Audit(actor="supervisor", act=state.value, task=found.task),
        )
        for found in expired
        for state in [chance.choice((StepState.TO_REPEAT, StepState.FAILED))]
    ]
    return lambda store, number: store.supervisor.decide(stream.term, decisions)


async def expire_task(stream: Stream) -> Act | None:
    found = stream.pick(await stream.stores[0].supervisor.expired_tasks(9))
    if found is None:
        return None
    post = Post(task=found.task, kind=stream.chance.choice((InboxKind.FAIL, InboxKind.CANCEL)), body=BODIES[2])
    audit = Audit(actor="supervisor", act="late", task=found.task)
    return lambda store, number: store.supervisor.expire_task(stream.term, found.task, post, audit)


async def unserved(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.unserved(stream.term, 5.0)


async def purge(stream: Stream) -> Act:
    before, limit = stream.now() - stream.chance.choice((30, 300)), 99  # Of those that ended at once, any may go first.
    is_operator = stream.chance.random() < 0.5

    async def act(store: Store, number: int) -> Any:
        batch = await store.supervisor.outlived(before, limit)
        uids = [task.uid for task in batch]
        assert await store.supervisor.unchanged(batch)
        read = [
            *await store.supervisor.outlived_tasks(uids, ""),
            *await store.supervisor.outlived_steps(uids, ("", 0, 0)),
            *await store.supervisor.outlived_inbox(uids, ("", 0)),
            *await store.supervisor.outlived_signals(uids, ("", "", "")),
        ]
        purged = await (
            store.operators.purge_ended(batch, before, "ada")
            if is_operator
            else store.supervisor.purge(stream.term, batch)
        )
        return [*read, purged] if purged.tasks else []

    return act


async def prune(stream: Stream) -> Act:
    before = stream.now() - stream.chance.choice((30, 300))
    is_operator = stream.chance.random() < 0.5

    async def act(store: Store, number: int) -> Any:
        records = await store.supervisor.old_records(before)
        pruned = await (
            store.operators.prune_as(records, "ada") if is_operator else store.supervisor.prune(stream.term, records)
        )
        left = await store.operators.acts(0)
        # Numbers are each store's own, and so are the hashes, which follow from what names them.
        return [pruned, *(act.audit.act for act in records.acts), len(records.alerts), *(act.audit.act for act in left)]

    return act


async def raise_alert(stream: Stream) -> Act:
    alert = Alert(kind=stream.chance.choice(("archive", "other")), message="no room")
    return lambda store, number: store.supervisor.raise_alert(stream.term, alert)


async def schedule(stream: Stream) -> Act:
    name, cron = stream.chance.choice(("a", "b")), stream.chance.choice(("0 0 * * *", "1 0 * * *"))
    declared = Schedule(
        name=name,
        workflow="order",
        version="2",
        input=b"[]",
        cron=cron,
        timezone="UTC",
        catch_up="one",
        priority=5,
        next_at=stream.now() + 10,
        overlap=stream.chance.choice(tuple(Overlap)),
    )
    if stream.chance.random() < 0.5:
        return lambda store, number: store.host.register_schedules([declared])
    return lambda store, number: store.operators.create_schedule(declared, "ada")


async def fire(stream: Stream) -> Act | None:
    due = stream.pick(await stream.stores[0].supervisor.due_schedules(9))
    if due is None:
        return None
    tasks = [drawn_task(stream, workflow=due.workflow, version=due.version)]
    next_at = stream.now() + 20
    return lambda store, number: store.supervisor.fire(stream.term, due, _fresh(tasks), next_at)


async def start_scheduled(stream: Stream) -> Act | None:
    name, act = stream.chance.choice(("a", "b")), stream.chance.choice(("trigger", "backfill"))
    found = await stream.stores[0].operators.schedule(name)
    if found is None:
        return None
    tasks = [drawn_task(stream, workflow=found.workflow, version=found.version)]
    return lambda store, number: store.operators.start_scheduled(found, _fresh(tasks), act, "ada")


async def reschedule(stream: Stream) -> Act:
    name, choice, now = stream.chance.choice(("a", "b")), stream.chance.randrange(10), stream.now()
    if choice == 0:
        return lambda store, number: store.operators.remove_schedule(name, "ada")
    if choice < 4:
        return lambda store, number: store.operators.pause_schedule(name, "ada")
    return lambda store, number: store.operators.resume_schedule(name, now + 5, "ada")


async def wake(stream: Stream) -> Act:
    return lambda store, number: store.scheduler.next_wake()


async def due(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.due()


async def later(stream: Stream) -> None:
    stream.clock.advance(stream.chance.choice((0.5, 1, 1, 12)))


MAKERS: Mapping[str, Maker] = {
    **{
        maker.__name__: maker
        for maker in (
            *(
                submit,
                share,
                load,
                read_inbox,
                stray,
                unheld,
                signal,
                direct,
                register,
                renew,
                retire,
                describe,
                break_agent,
                bound,
            ),
            *(
                lead,
                forgive,
                fence,
                free,
                decide,
                expire_task,
                unserved,
                purge,
                prune,
                raise_alert,
                schedule,
                fire,
                start_scheduled,
                reschedule,
            ),
            *(wake, due, later, *OPERATORS),
        )
    },
    # What a Scheduler does most.
    **{f"commit{number}": commit for number in range(8)},
    **{f"claim{number}": claim for number in range(4)},
}
