"""The proof: do money, stock, parcels, letters and events agree with what became of the orders?

Pure: what is there and what was expected in, findings out. Of money, goods and letters the services' own books decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from showcase.proof.events import prove_events
from showcase.proof.evidence import Evidence, Expected, Failover, Finding, HeardOrder, Outage, Takeover, Transit
from showcase.proof.failover import prove_failover
from showcase.proof.orders import prove_orders, prove_takeovers
from showcase.proof.services import prove_services
from showcase.proof.transit import prove_outage, prove_transit

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
