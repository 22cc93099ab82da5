"""The proof of the order example finds what is planted; on honest books it finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from examples.orders.database import OrderState
from examples.shop.services.faults import FaultKind, StandingFault
from servers.ledger import Effect
from showcase.proof import Evidence, Expected, Failover, HeardOrder, Outage, Takeover, Transit, prove
from showcase.proof.books import OrderBook, OrderBooks

GOOD = Expected(order_id="good", goods={"teapot": 2, "kettle": 1}, amount_cents=15250, asked_again=("payment", "stock"))
BAD = Expected(order_id="bad", goods={"kettle": 1}, amount_cents=6850, ends=OrderState.UNDONE)
ORDERS = [GOOD, BAD]
STATES = {"good": OrderState.PROCESSED, "bad": OrderState.UNDONE}
DETAILS: dict[str, dict[str, Any]] = {
    "reserve": {"product": "teapot", "quantity": 2},
    "charge": {"amount_cents": 15250},
    "create": {"address": "Harbour Street 5"},
    "send": {"template": "on-its-way"},
}


def effect(action: str, order_id: str, key: str = "", undoes: str | None = None, **details: Any) -> Effect:
    return Effect(
        number=1,
        at="2026-01-01T00:00:00+00:00",
        key=key or f"{order_id}/{action}",
        action=action,
        order_id=order_id,
        details=DETAILS.get(action, {}) | details,
        undoes=undoes,
    )


def fault(hits: int) -> StandingFault:
    return StandingFault(
        number=1,
        kind=FaultKind.ANSWER_LOST,
        order_id="good",
        action="charge",
        times=0,
        seconds=None,
        rate=None,
        seen=hits,
        hits=hits,
    )


def book(*effects: Effect, faults: int | None = None) -> OrderBook:
    return OrderBook(
        effects=list(effects),
        deliveries={each.key: 1 for each in effects},
        faults=[] if faults is None else [fault(faults)],
    )


def undone(action: str, undo: str) -> tuple[Effect, Effect]:
    done = effect(action, "bad")
    return done, effect(undo, "bad", undoes=done.key)


def heard(*types: str) -> list[HeardOrder]:
    return [HeardOrder(sequence=n, type=f"stepward.{each}") for n, each in enumerate(types, start=1)]


def hear(order_id: str, *events: HeardOrder) -> Callable[[Evidence], Evidence]:
    return lambda evidence: replace(heard={**evidence.heard, order_id: list(events)})(evidence)


def transit(*submitted: str, **seen: int) -> Transit:
    went = {"submission": 3, "request": 9, "reply": 2, "event": 12}
    return Transit(broker="NATS", submitted=frozenset(submitted or ("good", "bad")), seen=went | seen)


def honest() -> Evidence:
    payment = book(effect("charge", "good"), *undone("charge", "refund"), faults=1)
    payment.deliveries["good/charge"] = 2
    lines = effect("reserve", "good"), effect("reserve", "good", "good/second", product="kettle", quantity=1)
    stock = book(*lines, *undone("reserve", "release"))
    stock.deliveries["good/reserve"] = 2
    return Evidence(
        books=OrderBooks(
            stock=stock,
            payment=payment,
            parcel=book(effect("create", "good")),
            mail=book(effect("send", "good")),
        ),
        states=STATES,
        forms={"good": 2, "bad": 1},
        tasks=["good", "bad"],
        heard={
            "good": heard("request.received", "task.started", "step.completed", "task.completed"),
            "bad": heard("request.received", "task.started", "step.failed", "task.undoing", "task.undone"),
        },
        takeovers=[Takeover(killed="scheduler-1", held=frozenset({"good"}))],
        failover=Failover(acknowledged=frozenset({"good"}), standby=STATES),
        outage=Outage(lost="NATS’s node1", held=frozenset({"bad"})),
        transit=transit(),
    )


def add(service: str, *effects: Effect) -> Callable[[Evidence], Evidence]:
    def plant(evidence: Evidence) -> Evidence:
        getattr(evidence.books, service).effects.extend(effects)
        return evidence

    return plant


def drop(service: str, key: str) -> Callable[[Evidence], Evidence]:
    def plant(evidence: Evidence) -> Evidence:
        effects = getattr(evidence.books, service).effects
        effects[:] = [each for each in effects if each.key != key]
        return evidence

    return plant


def replace(**fields: Any) -> Callable[[Evidence], Evidence]:
    def plant(evidence: Evidence) -> Evidence:
        fields_before = {name: getattr(evidence, name) for name in evidence.__dataclass_fields__}
        return Evidence(**(fields_before | fields))

    return plant


def ask_once(service: str, key: str) -> Callable[[Evidence], Evidence]:
    def plant(evidence: Evidence) -> Evidence:
        getattr(evidence.books, service).deliveries[key] = 1
        return evidence

    return plant


def without_hits(evidence: Evidence) -> Evidence:
    evidence.books.payment.faults[:] = [fault(0)]
    return evidence


def without_faults(evidence: Evidence) -> Evidence:
    evidence.books.payment.faults.clear()
    return evidence


def test_honest_books_hold() -> None:
    findings = prove(ORDERS, honest())
    assert [finding for finding in findings if not finding.holds] == []
    assert all(finding.figures for finding in findings)


def test_without_a_failover_the_table_has_no_line_for_one() -> None:
    claims = [finding.claim for finding in prove(ORDERS, replace(failover=None)(honest()))]
    assert len(claims) == len(prove(ORDERS, honest())) - 2


def failover(acknowledged: str = "good", **standby: OrderState) -> Callable[[Evidence], Evidence]:
    return replace(failover=Failover(acknowledged=frozenset(acknowledged.split()), standby=standby or STATES))


def test_without_a_broker_the_table_has_no_line_for_one() -> None:
    claims = [finding.claim for finding in prove(ORDERS, replace(outage=None, transit=None)(honest()))]
    assert len(claims) == len(prove(ORDERS, honest())) - 5
    assert not any("NATS" in claim for claim in claims)


GOOD_END = honest().heard["good"][-1:]
PLANTED: dict[str, tuple[Callable[[Evidence], Evidence], str]] = {
    "double charge": (add("payment", effect("charge", "good", "other")), "good: charged 2 times"),
    "double charge, one refunded": (
        add(
            "payment",
            effect("charge", "good", "other"),
            effect("refund", "good", undoes="other"),
        ),
        "good: charged 2 times",
    ),
    "charge missing": (drop("payment", "good/charge"), "good: costs €152.50, paid €0.00"),
    "wrong amount": (
        lambda e: add("payment", effect("charge", "good", amount_cents=1))(drop("payment", "good/charge")(e)),
        "good: costs €152.50, paid €0.01",
    ),
    "money kept": (drop("payment", "bad/refund"), "bad: payment still holds bad/charge"),
    "money kept, no parcel": (drop("payment", "bad/refund"), "bad: 1 charge, 0 parcels"),
    "parcel missing": (drop("parcel", "good/create"), "good: 1 charge, 0 parcels"),
    "two parcels": (add("parcel", effect("create", "good", "other")), "good: 1 charge, 2 parcels"),
    "parcel for nothing": (add("parcel", effect("create", "bad")), "bad: 0 charges, 1 parcel"),
    "stock kept": (drop("stock", "bad/release"), "bad: wants nothing, has 2 teapots reserved"),
    "stock missing": (
        lambda e: drop("stock", "good/reserve")(drop("stock", "good/second")(e)),
        "good: wants 1 kettle, 2 teapots, has nothing reserved",
    ),
    "second line missing": (
        drop("stock", "good/second"),
        "good: wants 1 kettle, 2 teapots, has 2 teapots reserved",
    ),
    "stock twice": (
        add("stock", effect("reserve", "good", "other")),
        "good: wants 1 kettle, 2 teapots, has 1 kettle, 4 teapots reserved",
    ),
    "letter missing": (drop("mail", "good/send"), "good: 0 letters"),
    "two letters": (add("mail", effect("send", "good", "other")), "good: 2 letters"),
    "letter about an undone order": (add("mail", effect("send", "bad")), "bad: mail still holds bad/send"),
    "not asked again": (ask_once("payment", "good/charge"), "good: payment was not asked again under the same key"),
    "no line asked again": (ask_once("stock", "good/reserve"), "good: stock was not asked again under the same key"),
    "stranger": (add("mail", effect("send", "who")), "mail acted for unknown order who"),
    "no hits": (without_hits, "payment was never answer_lost on charge of good"),
    "no faults": (without_faults, "the services had no faults at all"),
    "wrong end": (
        replace(states={"good": OrderState.PROCESSED, "bad": OrderState.ERROR}),
        "bad: has to be Undone, is Error",
    ),
    "no end": (replace(states={"good": OrderState.PROCESSED}), "bad: has to be Undone, is missing"),
    "two tasks": (replace(tasks=["good", "good", "bad"]), "good: 1 order, 2 tasks"),
    "no task": (replace(tasks=["bad"]), "good: 1 order, 0 tasks"),
    "task without an order": (replace(tasks=["good", "bad", "who"]), "who: 0 orders, 1 task"),
    "form without an order": (replace(forms={"good": 2, "bad": 1, "who": 1}), "who: 1 form, 0 orders"),
    "order without a form": (replace(forms={"good": 2}), "bad: 0 forms, 1 order"),
    "nothing sent twice": (replace(forms={"good": 1, "bad": 1}), "no form was sent twice"),
    "dead letter": (replace(dead_letters=["order who: expected a customer"]), "order who: expected a customer"),
    "nothing heard": (hear("good"), "good: heard of nothing first"),
    "event missing": (hear("good", heard("request.received")[0], *GOOD_END), "good: heard events 1, 4"),
    "event twice": (
        hear("good", *heard("request.received"), *heard("request.received"), *GOOD_END),
        "good: heard events 1, 1, 4",
    ),
    "event late": (hear("good", *reversed(honest().heard["good"])), "good: heard events 4, 3, 2, 1"),
    "no request first": (
        hear("good", *heard("task.started", "task.completed")),
        "good: heard of stepward.task.started first",
    ),
    "wrong last word": (
        hear("good", *heard("request.received", "task.failed")),
        "good: has to end with stepward.task.completed, ended with stepward.task.failed",
    ),
    "no last word": (
        hear("bad", *heard("request.received")),
        "bad: has to end with stepward.task.undone, ended with stepward.request.received",
    ),
    "two ends": (
        hear("bad", *heard("request.received", "task.completed", "task.undone")),
        "bad: stepward.task.completed was not the end",
    ),
    "nothing taken over": (
        replace(takeovers=[Takeover(killed="agents-1", held=frozenset())]),
        "agents-1 held no order when it was killed",
    ),
    "acknowledged, no order": (failover("good who"), "who: was acknowledged, and is gone"),
    "acknowledged, no task": (replace(tasks=["bad"]), "good: was acknowledged, and is gone"),
    "nothing acknowledged": (failover(""), "no order was acknowledged when the primary died"),
    "missing on the standby": (
        failover(good=OrderState.PROCESSED),
        "bad: is Undone, on the standby missing",
    ),
    "other on the standby": (
        failover(good=OrderState.PROCESSED, bad=OrderState.PROCESSING),
        "bad: is Undone, on the standby Processing",
    ),
    "more on the standby": (
        failover(good=OrderState.PROCESSED, bad=OrderState.UNDONE, who=OrderState.PENDING),
        "who: is missing, on the standby Pending",
    ),
    "lost with the broker": (
        replace(states={"good": OrderState.PROCESSED, "bad": OrderState.PENDING}, takeovers=[]),
        "bad: was not brought to its end",
    ),
    "nothing on the way": (
        replace(outage=Outage(lost="RabbitMQ", held=frozenset())),
        "no order was on the way when RabbitMQ was lost",
    ),
    "posted past the broker": (replace(transit=transit("good")), "bad: came another way"),
    "asked past the broker": (replace(transit=transit(request=1)), "expected at least 2 requests, saw 1"),
    "answered past the broker": (replace(transit=transit(reply=0)), "expected at least 2 replies, saw 0"),
    "told past the broker": (replace(transit=transit(event=0)), "expected at least 2 events, saw 0"),
    "lost in a takeover": (
        replace(states={"good": OrderState.PROCESSING, "bad": OrderState.UNDONE}),
        "good: was not brought to its end",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_finds_what_is_planted(name: str) -> None:
    plant, line = PLANTED[name]
    wrong = [line for finding in prove(ORDERS, plant(honest())) for line in finding.wrong]
    assert line in wrong


def test_books_count_calls_by_key() -> None:
    kept = book(effect("charge", "good"))
    kept.deliveries["good/charge"] = 3
    assert kept.calls(kept.kept("charge", "good")) == 3
    assert msgspec.convert(msgspec.to_builtins(kept), OrderBook) == kept
