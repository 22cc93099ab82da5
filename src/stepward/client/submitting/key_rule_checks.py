"""Checks of a rule for the key of a submission, beside the other options and the transaction it is made in."""

from __future__ import annotations

from stepward.client.submitting.known_options import Options
from stepward.client.submitting.submission_checks import check_delay
from stepward.durations import shown
from stepward.errors import Refused
from stepward.model.tasks.key_rules import CHANGING, MOST_COLLECTED, Collect, Debounce, KeyRule, Singleton, checked_rule
from stepward.store.rules.gathered_arguments import EMPTY_LIST, collected


def check_rule(options: Options, until_complete_by: float | None) -> None:
    """Raises Refused for what is no rule, or does not go with the other options."""
    rule = checked_rule(options.per_key)
    if _sets_the_start(rule) and options.delay is not None:
        raise Refused(
            f"delay: expected none with {type(rule).__name__}, which says when the task starts, found "
            f"{shown(options.delay)}; leave one of them out"
        )
    if isinstance(rule, Debounce):
        check_delay(rule.latest_seconds, until_complete_by)
    if isinstance(rule, Collect):
        check_delay(rule.within_seconds, until_complete_by)


def check_collected(rule: KeyRule, input: bytes) -> None:
    """Raises Refused unless the arguments under ``Collect`` are one list, of which another can be joined to it."""
    if isinstance(rule, Collect) and collected(input, EMPTY_LIST, MOST_COLLECTED) is None:
        raise Refused(
            f"arguments: expected one list of at most {MOST_COLLECTED:,} items with Collect, found others; give a list"
        )


def check_rule_within(rule: KeyRule | None, *, is_ours: bool) -> None:
    """Raises Refused for a rule that a transaction of the caller cannot follow.

    Others that submit under the key wait until it ends, and so would the Scheduler of a task that is replaced.
    """
    if rule is not None and not is_ours:
        raise Refused(
            "per_key: expected no transaction of the application's own, found one; submit without it, or in "
            "client.transaction()"
        )
    if isinstance(rule, Singleton) and rule.if_running == "replace":
        raise Refused("per_key: expected no transaction with if_running='replace', found one; submit without it")


def _sets_the_start(rule: KeyRule | None) -> bool:
    return isinstance(rule, CHANGING) or (isinstance(rule, Singleton) and rule.if_running == "replace")
