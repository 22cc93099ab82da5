"""What a submission may say beside the workflow, its arguments and its id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict

from stepward.durations import Duration


class SubmitOptions(TypedDict, total=False):
    """The options of ``submit``, ``submit_many``, ``put`` and ``Accepted``; each may be left out.

    ``submit`` and ``put`` name them one by one, since their other keywords are the workflow's.
    """

    priority: int
    """0 (last) to 9 (first); 5 unless given."""
    complete_by: datetime | Duration | None
    """By when the task is to end: an instant, or how long it may take from now on."""
    delay: Duration | None
    """How long it waits before it begins."""
    reply_to: str | None
    """The private response queue that is told of it."""
    labels: Mapping[str, str] | None
    """What tasks can be found by."""
    fairness_key: str | None
    """Tasks of one priority take turns by their keys."""
