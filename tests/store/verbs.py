"""Every verb of the store, with arguments drawn by chance from what the stores hold: mostly fitting, sometimes not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepward.model.agents import AgentHealth, Report
from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.rate import RateLimit
from stepward.model.limits.slot_shares import SlotClaim
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Instance, Role, Task, WorkflowRecord
from stepward.model.tasks.key_rules import Debounce, KeyRule, Singleton, Throttle
from stepward.store.contract import Directive, Least, Store, UpdateAct
from tests.store.changes import drawn_changes
from tests.store.conformance.world import finish, step
from tests.store.differential import Act, Maker, Stream
from tests.store.drawn_tasks import BODIES, PLANS, SERVED, drawn_task, fresh
from tests.store.listing import listed
from tests.store.operators import OPERATORS
from tests.store.supervisor_verbs import SUPERVISION

KEYS = ("charge/1", "pack/1", "charge/1~undo", "stage/1")
VERBS = ("undo", "cancel", "suspend", "resume", "resubmit", "mark_done")

RULES: tuple[KeyRule, ...] = (
    Singleton("k"),
    Singleton("k", if_running="join"),
    Singleton("k", if_running="replace"),
    Debounce("k", wait=2, latest=5),
    Throttle("k", every=3),
    Throttle("k", every=3, if_too_soon="join"),
)


def instance_of(stream: Stream) -> str:
    """Mostly the newest Scheduler, at times an older one, which may be dead."""
    return stream.chance.choice(stream.instances[-3:]) if stream.instances else "nobody"


async def submit(stream: Stream) -> Act:
    tasks = [drawn_task(stream) for _ in range(stream.chance.randrange(1, 4))]
    return lambda store, number: store.client.submit(fresh(tasks), PLANS)


async def submit_under_rule(stream: Stream) -> Act:
    task, rule = drawn_task(stream), stream.chance.choice(RULES)
    return lambda store, number: store.client.submit_keyed(fresh([task]), rule, PLANS, actor="ada")


async def share(stream: Stream) -> Act:
    """A submission and an outcome within a transaction, which may be rolled back."""
    task, is_kept = drawn_task(stream), stream.chance.random() < 0.7
    held = await held_task(stream)
    told = None if held is None else finish(step(held), finished_at=stream.now())
    owner = instance_of(stream)

    async def act(store: Store, number: int) -> Any:
        try:
            async with store.client.transaction() as transaction:
                answers = await transaction.submit(fresh([task]), PLANS)
                known = await transaction.known(stream.ids[-5:])
                finished = told is not None and await transaction.finish(owner, told)
                if not is_kept:
                    raise KeyError
        except KeyError:
            return "rolled back"
        return [*answers, sorted(known), finished]

    return act


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


async def ask_update(stream: Stream) -> Act:
    id, update, name = stream.pick(stream.ids) or "nobody", stream.chance.choice("uvw"), stream.chance.choice("ab")
    actor = stream.chance.choice((None, "ada"))
    asked = UpdateAct(id, update, name, b'{"id":"u","value":1}', actor=actor)

    async def act(store: Store, number: int) -> Any:
        asking = await store.client.ask_update(asked)
        return asking, await store.client.update(asking.task, update)

    return act


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
    instance, choice, count = instance_of(stream), stream.chance.randrange(13), stream.chance.randrange(1, 6)
    claim = SlotClaim(
        agent="order@1", wanted=count, most=count * (choice > 0), busy=choice // 10, until=stream.now() + 20
    )
    declared = FlowLimit(name="agent:order@1", declared_concurrency=count)
    acts: tuple[Act, ...] = (
        lambda store, number: store.operators.set_limit(declared.name, SetLimit(concurrency=count), "ada"),
        lambda store, number: store.operators.set_limit(declared.name, SetLimit(rate=RateLimit(count, 1.0)), "ada"),
        lambda store, number: store.operators.reset_limit(declared.name, "ada"),
        lambda store, number: store.host.declare_limits([declared], []),
        lambda store, number: store.host.declare_limits([], [declared.name]),
        lambda store, number: store.supervisor.release_slots(stream.term),
        lambda store, number: store.operators.set_limit("workflow:order", SetLimit(concurrency=3 * count), "ada"),
        lambda store, number: store.operators.reset_limit("workflow:order", "ada"),
        lambda store, number: store.operators.set_limit("workflow:order", SetLimit(rate=RateLimit(count, 9.0)), "ada"),
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
                submit_under_rule,
                share,
                load,
                read_inbox,
                stray,
                unheld,
                signal,
                ask_update,
                direct,
                register,
                renew,
                retire,
                describe,
                break_agent,
                bound,
            ),
            *SUPERVISION,
            *(wake, due, later, *OPERATORS),
        )
    },
    # What a Scheduler does most.
    **{f"commit{number}": commit for number in range(8)},
    **{f"claim{number}": claim for number in range(4)},
}
