"""What the shop's own records have to say: each form is one order, each order one task, and all ended right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from examples.orders.database import OrderState
from showcase.proof.evidence import Evidence, Expected, Finding, Takeover
from showcase.proof.words import count


def prove_orders(orders: Sequence[Expected], evidence: Evidence) -> list[Finding]:
    """Every finding from forms, orders and tasks."""
    return [
        _ended_right(orders, evidence.states),
        _one_order_each(orders, evidence),
        _one_task_each(orders, evidence),
        _nothing_left_over(evidence),
    ]


def prove_takeovers(orders: Sequence[Expected], evidence: Evidence) -> list[Finding]:
    """A finding for each process that was killed."""
    return [_taken_over(takeover, orders, evidence.states) for takeover in evidence.takeovers]


def _ended_right(orders: Sequence[Expected], states: Mapping[str, OrderState]) -> Finding:
    wrong = [
        f"{order.order_id}: has to be {order.ends}, is {states.get(order.order_id, 'missing')}"
        for order in orders
        if states.get(order.order_id) is not order.ends
    ]
    ends = Counter(states.values())
    figures = ", ".join(f"{ends[state]} {state.lower()}" for state in OrderState if ends[state])
    return Finding("Each order ended as it had to", figures, tuple(wrong))


def _one_order_each(orders: Sequence[Expected], evidence: Evidence) -> Finding:
    ids = {order.order_id for order in orders} | set(evidence.forms) | set(evidence.states)
    wrong = [
        f"{each}: {count(evidence.forms.get(each, 0), 'form')}, {count(int(each in evidence.states), 'order')}"
        for each in sorted(ids)
        if each not in evidence.forms or each not in evidence.states
    ]
    forms = sum(evidence.forms.values())
    if forms <= len(evidence.forms):
        wrong.append("no form was sent twice")
    figures = f"{count(forms, 'form')}, {count(len(evidence.states), 'order')}"
    return Finding("A form sent twice is one order", figures, tuple(wrong))


def _one_task_each(orders: Sequence[Expected], evidence: Evidence) -> Finding:
    tasks = Counter(evidence.tasks)
    ids = {order.order_id for order in orders} | set(tasks) | set(evidence.states)
    wrong = [
        f"{each}: {count(int(each in evidence.states), 'order')}, {count(tasks[each], 'task')}"
        for each in sorted(ids)
        if tasks[each] != 1 or each not in evidence.states
    ]
    figures = f"{count(len(evidence.states), 'order')}, {count(len(evidence.tasks), 'task')}"
    return Finding("Each order is one task", figures, tuple(wrong))


def _nothing_left_over(evidence: Evidence) -> Finding:
    figures = count(len(evidence.dead_letters), "dead letter")
    return Finding("Every message was of use", figures, tuple(evidence.dead_letters))


def _taken_over(takeover: Takeover, orders: Sequence[Expected], states: Mapping[str, OrderState]) -> Finding:
    held = [order for order in orders if order.order_id in takeover.held]
    lost = [order.order_id for order in held if states.get(order.order_id) is not order.ends]
    wrong = [f"{order_id}: was not brought to its end" for order_id in lost]
    if not held:
        wrong.append(f"{takeover.killed} held no order when it was killed")
    claim = f"The work of {takeover.killed} was taken over"
    return Finding(claim, f"{len(held) - len(lost)} of {count(len(held), 'order')}", tuple(wrong))
