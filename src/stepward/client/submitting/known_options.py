"""The options that a submission knows, with their defaults; an unknown one is refused with the nearest name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from stepward.client.submitting.submission_checks import Id
from stepward.durations import Duration
from stepward.error_messages import nearest
from stepward.errors import Refused
from stepward.model.tasks.attributes import AttributeValue
from stepward.model.tasks.key_rules import KeyRule
from stepward.model.tasks.submit_options import SubmitOptions


class Options(Struct, frozen=True, kw_only=True):
    """``SubmitOptions`` with an id and the defaults."""

    id: Id | None = None
    priority: int = 5
    complete_by: datetime | Duration | None = None
    delay: Duration | None = None
    reply_to: str | None = None
    labels: Mapping[str, str] | None = None
    attributes: Mapping[str, AttributeValue] | None = None
    fairness_key: str | None = None
    per_key: KeyRule | None = None


def options_of(call: str, given: SubmitOptions) -> Options:
    """The options of a call that takes no id for all its tasks. Raises Refused for an unknown one."""
    for name in given:
        if name not in SubmitOptions.__annotations__:
            known = SubmitOptions.__annotations__
            advice = nearest(name, [*known, "ids", "transaction"]) or f"known: {', '.join(known)}"
            raise Refused(f"{call}: expected an option, found {name!r:.100}; {advice}")
    return Options(**given)
