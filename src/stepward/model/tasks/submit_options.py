"""Options of a submission beside the workflow, its arguments and its id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from stepward.durations import Duration
from stepward.model.tasks.attributes import AttributeValue
from stepward.model.tasks.key_rules import KeyRule


class AcceptedOptions(TypedDict, total=False):
    """The options of ``Accepted``: all but the id and the response queue, which its message names."""

    priority: int
    """0 (last) to 9 (first); 5 unless given."""
    complete_by: datetime | Duration | None
    """The task's own deadline: an instant, or a duration from now."""
    delay: Duration | None
    """The delay before it starts."""
    labels: Mapping[str, str] | None
    """Labels by which tasks can be found."""
    attributes: Mapping[str, AttributeValue] | None
    """Typed values by which tasks can be found; workflow code may change them."""
    fairness_key: str | None
    """Tasks of one priority are started in turns between their keys."""


class AcceptedTaskOptions(AcceptedOptions, total=False):
    """The options of ``Accepted``, with the rule that no outbox follows."""

    per_key: KeyRule | None
    """The rule for it while there is another task of the key."""


class SubmitOptions(AcceptedOptions, total=False):
    """The options of ``submit_many``, which are also those of ``submit`` and ``put``; each is optional.

    ``submit`` and ``put`` list them one by one, since their other keywords are the workflow's.
    """

    reply_to: str | None
    """The private response queue for its status events."""


class PutOptions(SubmitOptions, total=False):
    """The options of ``put``."""

    id: str | UUID | None
    """The id of the task; one that is taken gives the task that exists."""


class TaskOptions(PutOptions, total=False):
    """The options of ``submit``."""

    transaction: object
    """The open transaction within which the task is submitted."""
    per_key: KeyRule | None
    """The rule for it while there is another task of the key."""
