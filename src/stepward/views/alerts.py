"""The subject and the message of an alert."""

from __future__ import annotations

from stepward.model.records import Alert
from stepward.payload import displayed

UNSERVED = "unserved"


def subject_of(alert: Alert) -> str | None:
    """The task, or the workflow of all tasks, that the alert is about."""
    return alert.task_id or alert.task or _served(alert)


def message_of(alert: Alert) -> str:
    """The message, without the task's name if that is shown beside it."""
    name = f"{alert.workflow} {alert.task_id}: "
    if alert.message.startswith(name):
        return alert.message.removeprefix(name)
    head, rest = f"task {alert.task_id} (", alert.message.partition("): ")[2]
    return rest if rest and alert.message.startswith(head) else alert.message


def _served(alert: Alert) -> str | None:
    """The workflow or Agent that is not served, from the details of an alert."""
    details = displayed(alert.details)
    known = alert.kind == UNSERVED and isinstance(details, dict) and "workflow" in details
    return f"{details['workflow']}@{details.get('version')}" if known else None
