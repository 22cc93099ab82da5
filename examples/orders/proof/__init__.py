"""The proof: do money, stock, parcels, letters and events agree with what became of the orders?

Pure: what is there and what was expected in, findings out. Of money, goods and letters the services' own books decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from examples.orders.proof.events import prove_events
from examples.orders.proof.evidence import Evidence, Expected, Failover, Finding, HeardOrder, Outage, Takeover, Transit
from examples.orders.proof.failover import prove_failover
from examples.orders.proof.orders import prove_orders, prove_takeovers
from examples.orders.proof.services import prove_services
from examples.orders.proof.transit import prove_outage, prove_transit

__all__ = ["Evidence", "Expected", "Failover", "Finding", "HeardOrder", "Outage", "Takeover", "Transit", "prove"]


def prove(orders: Sequence[Expected], evidence: Evidence) -> list[Finding]:
    """Every finding, those that hold included."""
    return [
        *prove_orders(orders, evidence),
        *prove_events(orders, evidence.heard),
        *prove_services(orders, evidence.books),
        *prove_takeovers(orders, evidence),
        *prove_failover(evidence),
        *prove_outage(orders, evidence),
        *prove_transit(orders, evidence),
    ]
