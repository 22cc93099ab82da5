"""Queues, dead letters, alerts and listings, with arguments drawn by chance; see ``verbs``."""

from __future__ import annotations

from typing import Any

from stepward.model.alerts.alert_routing import AlertProgress, AlertReceipt
from stepward.model.states import TaskState
from stepward.store.contract import Store
from tests.store.changes import REPLIES
from tests.store.differential import Act, Stream
from tests.store.listing import listed

QUEUES = ("q", "agents.pay")


async def put(stream: Stream) -> Act:
    queue = stream.chance.choice(QUEUES)
    expires_at = stream.now() + 20 if stream.chance.random() < 0.3 else None
    bodies = [(b"%d" % stream.chance.randrange(99), expires_at) for _ in range(stream.chance.randrange(1, 4))]
    return lambda store, number: store.messages.put(queue, bodies)


async def take(stream: Stream) -> Act:
    stream.queue, limit = stream.chance.choice(QUEUES), stream.chance.randrange(1, 4)
    return lambda store, number: store.messages.take(stream.queue, limit, 10.0)


async def read(stream: Stream) -> Act:
    stream.queue = REPLIES
    return lambda store, number: store.messages.read(REPLIES, 0, 20)


async def settle(stream: Stream) -> Act | None:
    known = stream.pick(stream.tokens[-20:])
    if known is None:
        return None
    queue, tokens = known
    choice = stream.chance.randrange(3)
    if choice == 0:
        return lambda store, number: _extended(store, queue, tokens[number])
    if choice == 1:
        return lambda store, number: store.messages.bury(queue, [(tokens[number], "expected sense, found none")])
    return lambda store, number: store.messages.settle(queue, [tokens[number]])


async def _extended(store: Store, queue: str, token: int) -> bool:
    """Whether it is still held: what is answered are tokens, which each store draws itself."""
    return bool(await store.messages.extend(queue, [token], 10.0))


async def adopt(stream: Stream) -> Act | None:
    if stream.chance.random() < 0.8:
        return None
    return lambda store, number: store.messages.adopt("q", "agents.pay")


async def letters(stream: Stream) -> Act:
    known = stream.pick(stream.letters[-5:])
    choice = stream.chance.randrange(4)
    if known is None or choice < 2:
        return lambda store, number: store.operators.dead_letters(9)
    if choice == 2:
        return lambda store, number: _counted(store.operators.put_back([known[number]], "ada"))
    return lambda store, number: _counted(store.operators.discard([known[number]], "ada"))


async def _counted(doing: Any) -> int:
    return len(await doing)


async def alerts(stream: Stream) -> Act:
    known = stream.pick(stream.alerts[-9:])
    choice, next_try = stream.chance.randrange(5), stream.now() + 5
    if known is None or choice == 0:
        return lambda store, number: store.operators.alerts(9, open_only=True)
    if choice == 1:
        return lambda store, number: store.supervisor.undelivered_alerts(9)
    if choice == 2:
        return lambda store, number: record(store, known[number], None)
    if choice == 3:
        return lambda store, number: record(store, known[number], next_try)
    return lambda store, number: store.operators.acknowledge(known[number], "ada")


async def record(store: Store, number: int, next_try: float | None) -> None:
    """A sink took the alert, or refused it."""
    now = store.now()
    taken = {"raised_at": now} if next_try is None else {"tries": 1, "next_try": next_try, "error": "no"}
    progress = AlertProgress(number=number, resolved_at=None, tried=True, next_try=next_try)
    await store.supervisor.record_receipts([AlertReceipt(number=number, sink="log", **taken)], [progress])


async def look(stream: Stream) -> Act:
    chance = stream.chance
    wanted: dict[str, Any] = {
        "state": chance.choice((None, *TaskState)),
        "workflow": chance.choice((None, "order")),
        "label": chance.choice((None, ("city", "Ulm"))),
        "limit": chance.randrange(1, 9),
    }
    return lambda store, number: listed(store, **wanted)


OPERATORS = (put, take, read, settle, adopt, letters, alerts, look)
