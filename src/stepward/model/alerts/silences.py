"""Silences: until a time no sink gets alerts of a kind, of one workflow or of all."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from stepward.model.alerts.alert_routing import named_workflow
from stepward.model.records import Alert


class AlertSilence(Struct, frozen=True, kw_only=True):
    """Alerts of a kind are kept from the sinks until an instant; operators see them all the same."""

    kind: str
    workflow: str | None = None
    """Alerts about this workflow alone; None: all alerts of the kind."""
    until: float
    set_at: float = 0.0
    set_by: str = ""
    note: str | None = None

    def covers(self, alert: Alert) -> bool:
        """Whether the alert is of this kind and workflow."""
        about = alert.workflow or named_workflow(alert)
        return alert.kind == self.kind and (self.workflow is None or self.workflow == about)

    def lasted_at(self, at: float) -> bool:
        """Whether it was in force at an instant."""
        return self.set_at <= at < self.until


def silent_until(alert: Alert, silences: Iterable[AlertSilence], now: float) -> float | None:
    """Until when no sink gets the alert; None: they get it now."""
    return max((each.until for each in silences if each.lasted_at(now) and each.covers(alert)), default=None)


def is_over_unsent(alert: Alert, silences: Iterable[AlertSilence]) -> bool:
    """Whether the alert was acknowledged, or its cause gone, while it was silent.

    A sink that does not have it yet does not get it any more.
    """
    at = alert.acknowledged_at
    return at is not None and any(each.lasted_at(at) and each.covers(alert) for each in silences)
