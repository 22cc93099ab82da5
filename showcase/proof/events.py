"""The events that the storefront received through its private response queue: complete, in order, and each order's
end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from examples.orders.database import OrderState
from showcase.proof.evidence import Expected, Finding, HeardOrder
from showcase.proof.words import count

FIRST = "stepward.request.received"
LAST = {
    OrderState.PROCESSED: "stepward.task.completed",
    OrderState.UNDONE: "stepward.task.undone",
    OrderState.CANCELLED: "stepward.task.cancelled",
    OrderState.ERROR: "stepward.task.failed",
}
FINAL = frozenset(LAST.values()) - {LAST[OrderState.ERROR]}
"""After an error an operator may have a task go on."""


def prove_events(orders: Sequence[Expected], heard: Mapping[str, Sequence[HeardOrder]]) -> list[Finding]:
    """Every finding from the events of each order."""
    return [_whole(orders, heard), _told_the_end(orders, heard)]


def _whole(orders: Sequence[Expected], heard: Mapping[str, Sequence[HeardOrder]]) -> Finding:
    wrong = []
    for order in orders:
        events = heard.get(order.order_id, ())
        numbers = [event.sequence for event in events]
        if numbers != list(range(1, len(numbers) + 1)):
            wrong.append(f"{order.order_id}: heard events {', '.join(map(str, numbers))}")
        if not events or events[0].type != FIRST:
            wrong.append(f"{order.order_id}: heard of {events[0].type if events else 'nothing'} first")
    figures = f"{count(sum(map(len, heard.values())), 'event')} of {count(len(heard), 'order')}"
    return Finding("Events came whole and in order", figures, tuple(wrong))


def _told_the_end(orders: Sequence[Expected], heard: Mapping[str, Sequence[HeardOrder]]) -> Finding:
    wrong = []
    ends: Counter[str] = Counter()
    for order in orders:
        types = [event.type for event in heard.get(order.order_id, ())] or ["nothing"]
        ends[types[-1].rpartition(".")[2]] += 1
        if types[-1] != LAST[order.ends]:
            wrong.append(f"{order.order_id}: has to end with {LAST[order.ends]}, ended with {types[-1]}")
        wrong += [f"{order.order_id}: {each} was not the end" for each in types[:-1] if each in FINAL]
    figures = ", ".join(f"{times} {end}" for end, times in ends.most_common())
    return Finding("The last event told how it ended", figures, tuple(wrong))
