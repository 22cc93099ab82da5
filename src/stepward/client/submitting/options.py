"""The options of a submission with its id, once the defaults are in their places."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from stepward.client.submitting.validation import Id
from stepward.durations import Duration
from stepward.model.tasks.attributes import AttributeValue


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
