"""How Agents may stand: what breakers must obey with every change, and that a suspended Agent is asked nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from simulation.invariants.history import Change, Mirror
from simulation.invariants.watched_rows import AgentRow, StepRow
from simulation.planted_bugs.planting import bug, put
from simulation.trace import Trace
from stepward.host import agent_capacity
from stepward.scheduler.admission import fair_share

HEARD_WITHIN = 4.0
"""Seconds after which every Scheduler has received that an Agent is suspended, once no faults strike."""
ASKED = frozenset({"operation", "undo"})


class Standings:
    """Follows Agents commit by commit."""

    def __init__(
        self,
        mirror: Mirror,
        broken: Callable[[str, str], None],
        now: Callable[[], float],
        trace: Trace,
    ) -> None:
        self._mirror = mirror
        self._broken = broken
        self._now = now
        self._trace = trace
        self._reached = trace.reached

    def committed(self, entries: list[Change]) -> None:
        """Check a transaction, change by change."""
        is_resumed = any(
            table == "audit" and after is not None and after.act == "resume" for table, _, after in entries
        )
        for table, before, after in entries:
            if after is None:
                continue
            if table == "agent" and before is not None:
                self._moved(before, after, is_resumed=is_resumed)
            elif table == "step" and after.state == "running" and (before is None or before.attempt != after.attempt):
                self._asked(after)

    def _moved(self, before: AgentRow, after: AgentRow, *, is_resumed: bool) -> None:
        if after.probe_by is not None and (after.probe_by, after.asks_at) != (before.probe_by, before.asks_at):
            self._probes(before, after)
        elif before.opened_at is None and after.opened_at is not None:
            self._reached("a breaker opened for all")
        elif before.opened_at is not None and after.opened_at is None:
            self._reached("a breaker closed for all")
            # An operator's resume closes it where no process is left that could probe.
            if before.probe_by is None and not is_resumed:
                self._broken("R15", f"the breaker of {after.name} closed and nobody had found out")

    def _probes(self, before: AgentRow, after: AgentRow) -> None:
        self._reached("an instance found out for all")
        if before.asks_at is None or before.asks_at > self._now():
            self._broken("R15", f"{after.probe_by} probes {after.name} before its time, beside {before.probe_by}")

    def _asked(self, step: StepRow) -> None:
        agent = self._mirror.agents.get(step.name.partition(".")[0])
        if agent is None or agent.suspended_at is None or step.kind not in ASKED:
            return
        # A process that stood still had no chance to hear of it.
        if self._now() - agent.suspended_at > HEARD_WITHIN and self._trace.seconds_since_stall() > HEARD_WITHIN:
            self._broken("R15", f"step {step.task}/{step.key} was asked of {agent.name}, which is suspended")


@bug
def suspended_agent_asked(stack: ExitStack) -> None:
    """Schedulers give an Agent room that an operator has suspended."""

    def room(capacity: int, standing: Any, *given: Any) -> Any:
        at_work = None if standing is None else replace(standing, suspended_at=None, suspended_by=None)
        return fair_share.room(capacity, at_work, *given)

    put(stack, agent_capacity, "room", room)
