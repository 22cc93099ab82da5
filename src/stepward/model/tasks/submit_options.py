"""Options of a submission beside the workflow, its arguments and its id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from stepward.durations import Duration
from stepward.model.tasks.attributes import AttributeValue


class SubmitOptions(TypedDict, total=False):
    """The options of ``submit``, ``submit_many``, ``put`` and ``Accepted``; each is optional.

    ``submit`` and ``put`` list them one by one, since their other keywords are the workflow's.
    """

    priority: int
    """0 (last) to 9 (first); 5 unless given."""
    complete_by: datetime | Duration | None
    """The task's own deadline: an instant, or a duration from now."""
    delay: Duration | None
    """The delay before it starts."""
    reply_to: str | None
    """The private response queue for its status events."""
    labels: Mapping[str, str] | None
    """Labels by which tasks can be found."""
    attributes: Mapping[str, AttributeValue] | None
    """Typed values by which tasks can be found; workflow code may change them."""
    fairness_key: str | None
    """Tasks of one priority are started in turns between their keys."""
