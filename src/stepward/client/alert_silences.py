"""Silences of alerts as a client asks for them: the kind, the workflow and the end, checked before they are set."""

from __future__ import annotations

import re
from datetime import datetime

from stepward import durations
from stepward.client.submitting import act_arguments, submission_checks
from stepward.durations import Duration
from stepward.error_messages import nearest
from stepward.errors import Refused
from stepward.model.alerts.alert_routing import SEVERITIES
from stepward.model.alerts.silences import AlertSilence

MOST_SILENT_SECONDS = 30 * 86_400.0
"""Most seconds of a silence."""
KIND = re.compile(r"[a-z][a-z0-9_]{0,59}")


def new_silence(
    kind: str, until: datetime | Duration, workflow: str | None, note: str | None, now: float
) -> AlertSilence:
    """A silence from ``now`` on, an instant of the store's clock. Raises Refused."""
    at = submission_checks.deadline(until, None, now, "until")
    if at is None:
        raise Refused("until: expected an instant or a duration from now, found None; give one")
    if at - now > MOST_SILENT_SECONDS:
        raise Refused(f"until: expected at most 30 days from now, found {durations.text(at - now)}; give less")
    return AlertSilence(
        kind=_raised_kind(kind),
        workflow=act_arguments.wanted_workflow(workflow),
        until=at,
        note=act_arguments.note(note),
    )


def checked_kind(kind: str) -> str:
    """The name of a kind of alerts. Raises Refused."""
    if not isinstance(kind, str) or not KIND.fullmatch(kind):
        raise Refused(f"kind: expected one of an alert, such as task_error, found {durations.shown(kind)}; name one")
    return kind


def _raised_kind(kind: str) -> str:
    """A kind of alerts that is raised: no other can be meant by a silence."""
    if checked_kind(kind) not in SEVERITIES:
        meant = nearest(kind, SEVERITIES) or "docs/operations.md lists them"
        raise Refused(f"kind: expected one of an alert that is raised, found {kind!r}; {meant}")
    return kind
