"""The severity of alerts, the sinks that get each, and what each sink has taken: pure rules."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase

from msgspec import Struct

from stepward.model.records import Alert
from stepward.payload import readable
from stepward.settings.sink_settings import Severity, SinkSettings

TEST_KIND = "sink_test"
"""An alert that an operator sends to one sink, to see whether it arrives."""
SEVERITIES: Mapping[str, Severity] = {
    TEST_KIND: Severity.INFO,
    **dict.fromkeys(
        (
            "lease_late",
            "mixed_code",
            "queue_old",
            "refused_completions",
            "schedule_late",
            "standby_behind",
            "task_late",
        ),
        Severity.WARNING,
    ),
    **dict.fromkeys(
        (
            "archive",
            "change_refused",
            "dead_letter",
            "disk_low",
            "foreign_store",
            "in_doubt",
            "internal",
            "key_missing",
            "non_deterministic",
            "old_wire",
            "partition_down",
            "queue_refused",
            "queue_unserved",
            "schedule_failed",
            "task_error",
            "unproven_message",
            "unreadable_inbox",
            "unreadable_reply",
            "unserved",
            "webhook_disabled",
        ),
        Severity.ERROR,
    ),
    **dict.fromkeys(("late_effect", "late_effect_after_undo", "standby_missing", "undo_failed"), Severity.CRITICAL),
}
"""By kind of alert, each that this version raises."""


def severity_of(kind: str) -> Severity:
    """How urgent alerts of that kind are; one that another version raised is an error."""
    return SEVERITIES.get(kind, Severity.ERROR)


class AlertNews(StrEnum):
    """What a sink is sent about an alert."""

    RAISED = "raised"
    RESOLVED = "resolved"
    """What the alert reported is over by itself."""


class AlertReceipt(Struct, frozen=True, kw_only=True):
    """What one sink has taken of one alert, and when the rest is offered to it."""

    number: int
    sink: str
    raised_at: float | None = None
    """When it took the alert."""
    resolved_at: float | None = None
    """When it took the news that the alert is resolved."""
    tries: int = 0
    """Refusals since it took something."""
    next_try: float = 0.0
    error: str | None = None
    """The reason of its last refusal."""
    given_up_at: float | None = None


def owed(receipt: AlertReceipt, alert: Alert, *, is_unsent: bool = False) -> AlertNews | None:
    """The news that the sink is sent next; None if nothing is left.

    ``is_unsent``: the alert was over while it was silent.
    """
    if receipt.given_up_at is not None:
        return None
    if receipt.raised_at is None:
        return None if is_unsent else AlertNews.RAISED
    return AlertNews.RESOLVED if alert.resolved_at is not None and receipt.resolved_at is None else None


class AlertProgress(Struct, frozen=True, kw_only=True):
    """How far an alert has come on its way to all sinks."""

    number: int
    resolved_at: float | None
    """As it was read: an alert that was resolved meanwhile is not delivered yet."""
    tried: bool
    """Whether some sink was asked."""
    next_try: float | None
    """When it is due again; None once every sink has taken all of it."""


class ReportedSink(Struct, frozen=True):
    """A sink of the Supervisor that leads, as operators see it."""

    name: str
    description: str
    """What it delivers to, and which alerts it gets."""
    reported_at: float = 0.0


class AlertRoute(Struct, frozen=True):
    """Which alerts a sink gets."""

    severity: Severity = Severity.INFO
    """The least severity."""
    workflows: tuple[str, ...] | None = None
    """Patterns of the names of workflows; None: alerts of every kind, those of no workflow included."""

    def __str__(self) -> str:
        of = "" if self.workflows is None else f" of {', '.join(self.workflows)}"
        return f"{'all alerts' if self.severity.rank == 0 else f'alerts of {self.severity} and above'}{of}"

    def takes(self, alert: Alert) -> bool:
        """Whether the alert goes this way."""
        if severity_of(alert.kind).rank < self.severity.rank:
            return False
        workflow = alert.workflow or named_workflow(alert)
        return self.workflows is None or (
            workflow is not None and any(fnmatchcase(workflow, pattern) for pattern in self.workflows)
        )


EVERY_ALERT = AlertRoute()


def route_of(settings: SinkSettings) -> AlertRoute:
    """The route that the settings of a sink describe."""
    return AlertRoute(settings.severity, settings.workflows)


def is_for(alert: Alert, sink: str, route: AlertRoute) -> bool:
    """Whether the sink of that name gets the alert; a test goes to the sink that it names alone."""
    if alert.kind == TEST_KIND:
        return _detail(alert, "sink") == sink
    return route.takes(alert)


def named_workflow(alert: Alert) -> str | None:
    """The workflow that the details of an alert name, where it is about no single task."""
    return _detail(alert, "workflow")


def _detail(alert: Alert, name: str) -> str | None:
    details = readable(alert.details)
    found = details.get(name) if isinstance(details, dict) else None
    return found if isinstance(found, str) else None
