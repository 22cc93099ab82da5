"""Whether a principal may submit under a rule for a key: tasks of a workflow share its keys, in every scope."""

from __future__ import annotations

from stepward.http.access.principals import Principal
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.tasks.key_rules import KeyRule, Singleton


def check_key_rule(principal: Principal, rule: KeyRule | None, *, has_two_persons: bool) -> None:
    """Raises HttpRefusal (403) where the rule could reach tasks out of scope, or cancel one without a second person."""
    if rule is not None and principal.scope.labels:
        raise HttpRefusal(403, "per_key: expected a principal whose scope names no labels, found one that does")
    if isinstance(rule, Singleton) and rule.if_running == "replace" and has_two_persons:
        raise HttpRefusal(403, "if_running: expected the two-person rule to be off to replace a task, found it on")
