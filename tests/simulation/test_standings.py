"""The checker of Agents' states can fail: two probes at once, a breaker that opened without a failure."""

from __future__ import annotations

import pytest

from simulation.invariants.history import Change, Mirror
from simulation.invariants.standings import Standings
from simulation.invariants.watched_rows import AgentRow
from simulation.trace import Trace

CLOSED = AgentRow("pay", None, None, None, None)
OPEN = AgentRow("pay", None, 1.0, 20.0, None)
PROBED = AgentRow("pay", None, 1.0, 40.0, "a1")


@pytest.mark.parametrize(
    ("before", "after", "now", "message"),
    [
        (CLOSED, OPEN, 1.0, None),
        (OPEN, PROBED, 20.0, None),
        (PROBED, CLOSED, 22.0, None),
        (PROBED, PROBED._replace(probe_by="a2", asks_at=60.0), 41.0, None),
        (OPEN, PROBED, 19.0, "a1 probes pay before its time, beside None"),
        (PROBED, PROBED._replace(probe_by="a2", asks_at=60.0), 30.0, "a2 probes pay before its time, beside a1"),
        (CLOSED, PROBED, 30.0, "a1 probes pay before its time, beside None"),
        (OPEN, CLOSED, 30.0, "the breaker of pay closed and nobody had found out"),
    ],
)
def test_what_a_breaker_may_do(before: AgentRow, after: AgentRow, now: float, message: str | None) -> None:
    told: list[str] = []
    trace = Trace(lambda: now, lambda: None)
    standings = Standings(Mirror(), lambda invariant, text: told.append(text), lambda: now, trace)
    standings.committed([Change("agent", before, after)])
    assert told == ([] if message is None else [message])
