"""Checks that the leader makes beside its decisions, each at its own interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from stepward.events import AlertSink, Observers
from stepward.settings import Settings
from stepward.store.contract import SupervisorStore
from stepward.supervisor.batch_runner import BatchRunner
from stepward.supervisor.due_schedules import DueSchedules
from stepward.supervisor.early_warnings import EarlyWarnings
from stepward.supervisor.missing_standbys import Standbys
from stepward.supervisor.mixed_code import MixedCode
from stepward.supervisor.sink_report import SinkReport
from stepward.supervisor.state_history import StateHistory


class Check(Protocol):
    """Something that the leader looks at."""

    async def look(self, term: int) -> None:
        """Look, unless it is too early; called at the end of each pass."""
        ...


def checks_of(
    store: SupervisorStore,
    settings: Settings,
    observers: Observers,
    sinks: Sequence[AlertSink],
    batches: BatchRunner,
    schedules: DueSchedules,
    down: Callable[[], Mapping[str, str]],
) -> tuple[Check, ...]:
    """All checks."""
    return (
        SinkReport(store, sinks),
        Standbys(store, settings, observers),
        MixedCode(store, observers),
        schedules,
        EarlyWarnings(store, settings, observers, locked=lambda: batches.locked, late_starts=schedules.late, down=down),
        StateHistory(store),
    )
