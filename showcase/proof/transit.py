"""The observer's findings at the broker: the shop's messages went over it, and its outage cost no order."""

from __future__ import annotations

from collections.abc import Sequence

from showcase.proof.evidence import Evidence, Expected, Finding, Transit
from showcase.proof.words import count

WAYS = {
    "request": "Agents were asked over {broker}",
    "reply": "Agents answered over {broker}",
    "event": "The storefront was told over {broker}",
}


def prove_outage(orders: Sequence[Expected], evidence: Evidence) -> list[Finding]:
    """Whether all that was on the way when the broker was hurt came to its end."""
    outage = evidence.outage
    if outage is None:
        return []
    held = [order for order in orders if order.order_id in outage.held]
    lost = [order.order_id for order in held if evidence.states.get(order.order_id) is not order.ends]
    wrong = [f"{order_id}: was not brought to its end" for order_id in lost]
    if not held:
        wrong.append(f"no order was on the way when {outage.lost} was lost")
    figures = f"{len(held) - len(lost)} of {count(len(held), 'order')}"
    return [Finding(f"No order was lost with {outage.lost}", figures, tuple(wrong))]


def prove_transit(orders: Sequence[Expected], evidence: Evidence) -> list[Finding]:
    """Whether the shop's processes spoke with one another over the broker, and not past it."""
    transit = evidence.transit
    if transit is None:
        return []
    return [_submitted(orders, transit), *(_went(kind, len(orders), transit) for kind in WAYS)]


def _submitted(orders: Sequence[Expected], transit: Transit) -> Finding:
    missing = [order.order_id for order in orders if order.order_id not in transit.submitted]
    claim = f"Each order was posted over {transit.broker}"
    figures = count(transit.seen.get("submission", 0), "submission")
    return Finding(claim, figures, tuple(f"{each}: came another way" for each in missing))


def _went(kind: str, fewest: int, transit: Transit) -> Finding:
    """Every order takes at least one of each kind; who looks on may miss some while the broker is away."""
    seen = transit.seen.get(kind, 0)
    plural = "replies" if kind == "reply" else f"{kind}s"
    wrong = () if seen >= fewest else (f"expected at least {fewest} {plural}, saw {seen}",)
    return Finding(WAYS[kind].format(broker=transit.broker), f"{seen:,} {plural}", wrong)
