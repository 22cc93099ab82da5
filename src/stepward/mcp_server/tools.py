"""The operations of the API that are tools, and who is offered which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class ToolChoice(Struct, frozen=True, kw_only=True):
    """An operation of the API that is a tool."""

    operation: str
    """The operation's id, which is the tool's name."""
    acts: bool = False
    """Whether it changes anything: it needs the role operator, and a reason."""
    whole_store: bool = False
    """Whether it needs a principal without a scope."""
    takes_back: bool = False
    """Whether it takes back or repeats what was done."""
    reason: str = "reason"
    """The field of an act that holds the reason."""


READS = (
    ToolChoice(operation="show_principal"),
    ToolChoice(operation="list_tasks"),
    ToolChoice(operation="show_task"),
    ToolChoice(operation="diagnose_task"),
    ToolChoice(operation="list_steps"),
    ToolChoice(operation="show_history"),
    ToolChoice(operation="list_acts"),
    ToolChoice(operation="preview_repair"),
    ToolChoice(operation="list_proposals"),
    ToolChoice(operation="list_alerts"),
    ToolChoice(operation="list_silences", whole_store=True),
    ToolChoice(operation="list_schedules"),
    ToolChoice(operation="list_batches"),
    ToolChoice(operation="show_batch"),
    ToolChoice(operation="list_agents", whole_store=True),
    ToolChoice(operation="list_agent_stats", whole_store=True),
    ToolChoice(operation="list_instances", whole_store=True),
    ToolChoice(operation="list_limits", whole_store=True),
    ToolChoice(operation="list_letters", whole_store=True),
    ToolChoice(operation="list_webhooks", whole_store=True),
    ToolChoice(operation="list_audit", whole_store=True),
)
ACTS = (
    ToolChoice(operation="resubmit_task", acts=True, takes_back=True),
    ToolChoice(operation="undo_task", acts=True, takes_back=True),
    ToolChoice(operation="cancel_task", acts=True, takes_back=True),
    ToolChoice(operation="suspend_task", acts=True),
    ToolChoice(operation="resume_task", acts=True),
    ToolChoice(operation="mark_step_done", acts=True, takes_back=True),
    ToolChoice(operation="signal_task", acts=True),
    ToolChoice(operation="update_task", acts=True),
    ToolChoice(operation="fork_task", acts=True, takes_back=True),
    ToolChoice(operation="acknowledge_alert", acts=True),
    ToolChoice(operation="silence_alerts", acts=True, whole_store=True, reason="note"),
    ToolChoice(operation="unsilence_alerts", acts=True, whole_store=True),
    ToolChoice(operation="preview_batch", acts=True, reason=""),
    ToolChoice(operation="start_batch", acts=True, takes_back=True),
    ToolChoice(operation="pause_batch", acts=True),
    ToolChoice(operation="resume_batch", acts=True),
    ToolChoice(operation="stop_batch", acts=True),
    ToolChoice(operation="pace_batch", acts=True),
    ToolChoice(operation="suspend_agent", acts=True, whole_store=True, reason="note"),
    ToolChoice(operation="resume_agent", acts=True, whole_store=True),
    ToolChoice(operation="drain_instance", acts=True, whole_store=True),
    ToolChoice(operation="set_limit", acts=True, whole_store=True, reason="note"),
    ToolChoice(operation="reset_limit", acts=True, whole_store=True),
    ToolChoice(operation="pause_schedule", acts=True, whole_store=True),
    ToolChoice(operation="resume_schedule", acts=True, whole_store=True),
    ToolChoice(operation="put_back_letters", acts=True, whole_store=True),
    ToolChoice(operation="enable_webhook", acts=True, whole_store=True),
    ToolChoice(operation="disable_webhook", acts=True, whole_store=True),
)
"""What deletes is not among them: discarding dead letters, removing schedules."""
ACTING_ROLES = frozenset({"operator", "admin"})


def offered(principal: Mapping[str, Any]) -> list[ToolChoice]:
    """The tools for a principal, as the API shows it; the API itself checks each request."""
    has_scope = bool(principal.get("workflows") or principal.get("labels"))
    may_act = principal.get("role") in ACTING_ROLES
    return [choice for choice in (*READS, *(ACTS if may_act else ())) if not (choice.whole_store and has_scope)]
