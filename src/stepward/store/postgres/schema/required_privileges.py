"""The privileges on tables that each kind of process and of login needs.

``docs/deployment.md`` has them as SQL; a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from stepward.model.records import Role

PRIVILEGES = {"s": "select", "i": "insert", "u": "update", "d": "delete"}
QUEUES = {"message": "siud", "dead_letter": "si"}
"""Where the queues are a broker's these are needed all the same: dead letters and events are rows of the store."""

PROCESS_PRIVILEGES: Mapping[Role, Mapping[str, str]] = {
    Role.SCHEDULER: {
        **QUEUES,
        "flow_limit": "siud",
        "task_permit": "siud",
        "rate_bucket": "siud",
        "submission_key": "siud",
        "joined_submission": "si",
        "meta": "si",
        "task": "siu",
        "step": "siud",
        "inbox": "sid",
        "signal_seen": "sid",
        "live_value": "siu",
        "stream_value": "si",
        "update_request": "siud",
        "workflow": "siu",
        "schedule": "siu",
        "instance": "siu",
        "agent": "siu",
        "leadership": "su",
        "alert": "siu",
        "audit": "si",
    },
    Role.AGENT: {
        **QUEUES,
        "flow_limit": "siud",
        "agent_slot": "siud",
        "meta": "si",
        "instance": "siu",
        "agent": "siu",
        "alert": "siu",
        "audit": "si",
    },
    Role.SUBMISSION: {
        **QUEUES,
        "meta": "si",
        "submission_key": "siud",
        "joined_submission": "si",
        "task": "si",
        "step": "i",
        "workflow": "siu",
        "schedule": "siu",
        "instance": "siu",
        "alert": "siu",
        "audit": "si",
    },
    Role.SUPERVISOR: {
        "meta": "siud",
        "task": "siud",
        "step": "siud",
        "inbox": "sid",
        "signal_seen": "sd",
        "live_value": "sd",
        "stream_value": "sd",
        "update_request": "sd",
        "submission_key": "sd",
        "joined_submission": "sd",
        "message": "sid",
        "dead_letter": "sid",
        "workflow": "s",
        "schedule": "su",
        "instance": "siud",
        "agent": "s",
        "leadership": "su",
        "alert": "siud",
        "alert_receipt": "siud",
        "alert_sink": "id",
        "alert_silence": "s",
        "webhook": "siud",
        "webhook_refusal": "siud",
        "audit": "siud",
        "batch": "su",
        "state_sample": "sid",
        "search": "s",
        "agent_slot": "sud",
    },
}


class LoginKind(StrEnum):
    """What a login is for."""

    SCHEDULER = "scheduler"
    AGENT = "agent"
    SUBMISSION = "submission"
    SUPERVISOR = "supervisor"
    CLIENT = "client"
    """An application: it submits, reads, waits and signals, and reads its response queues."""
    OPERATOR = "operator"
    """The command line, the HTTP API and the console."""
    READ_ONLY = "read-only"
    """Looks at everything but the hashes of tokens."""


_CLIENT = {
    **dict.fromkeys(("meta", "workflow", "instance", "search", "live_value", "stream_value"), "s"),
    **dict.fromkeys(("inbox", "signal_seen", "audit", "update_request", "joined_submission"), "si"),
    **dict.fromkeys(("task", "step", "alert", "task_permit"), "siu"),
    **dict.fromkeys(("message", "submission_key"), "siud"),
}
_ALL = (
    *PROCESS_PRIVILEGES[Role.SCHEDULER],
    "alert_receipt",
    "alert_sink",
    "alert_silence",
    "webhook",
    "webhook_refusal",
    "state_sample",
    "agent_slot",
)
LOGIN_PRIVILEGES: Mapping[LoginKind, Mapping[str, str]] = {
    **{LoginKind(role.value): rights for role, rights in PROCESS_PRIVILEGES.items()},
    LoginKind.CLIENT: _CLIENT,
    LoginKind.OPERATOR: {**dict.fromkeys((*_ALL, "batch", "credential"), "siud"), "search": "s"},
    LoginKind.READ_ONLY: dict.fromkeys((*_ALL, "batch", "search"), "s"),
}
"""The privileges on each table, by kind of login."""
