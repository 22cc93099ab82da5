"""A schedule as an application declares it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.client.submitting import act_arguments, submission_checks
from stepward.durations import Duration, seconds
from stepward.errors import DeclarationError
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.payload import PAYLOAD_BYTES
from stepward.schedules.nominal_times import CATCH_UPS
from stepward.schedules.timetable import timetable
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

NAME_LENGTH = 150
"""A task's id has room for it beside the nominal time."""


class Recurring:
    """A workflow, its arguments and its timetable. Raises DeclarationError, or InvalidArguments for arguments."""

    def __init__(
        self,
        name: str,
        workflow: Workflow[Any, Any],
        cron: str,
        timezone: str,
        *,
        args: Sequence[Any],
        priority: int,
        fairness_key: str | None,
        catch_up: str,
        overlap: str,
        jitter: Duration,
        registry: Registry,
    ) -> None:
        check_name(name)
        if not isinstance(workflow, Workflow) or workflow not in registry.workflows.values():
            raise DeclarationError(f"schedule {name}: expected one of the app's workflows, found {workflow!r:.100}")
        check_catch_up(name, catch_up)
        if isinstance(args, str):
            raise DeclarationError(f"schedule {name}: expected args to be a sequence of arguments, found {args!r:.60}")
        self.name = name
        self._workflow = workflow
        self._input = submission_checks.by_declaration(workflow, tuple(args), {}, PAYLOAD_BYTES)
        self._cron, self._timezone = cron, timezone
        self._catch_up = catch_up
        self._priority = submission_checks.priority(priority)
        self._fairness_key = submission_checks.fairness_key(fairness_key)
        self._overlap = act_arguments.one_of(Overlap, overlap, "overlap") or Overlap.ALLOW
        self._jitter = seconds(jitter, "jitter", zero=True)
        timetable(cron, timezone)

    def record(self, now: float) -> Schedule:
        """Its record for the store; counted from now if it is new there."""
        return Schedule(
            name=self.name,
            workflow=self._workflow.name,
            version=self._workflow.version,
            input=self._input,
            cron=self._cron,
            timezone=self._timezone,
            catch_up=self._catch_up,
            priority=self._priority,
            fairness_key=self._fairness_key,
            complete_seconds=self._workflow.complete_seconds,
            next_at=timetable(self._cron, self._timezone).after(now),
            overlap=self._overlap,
            jitter=self._jitter,
        )


def check_name(name: object) -> None:
    """Raise DeclarationError unless it can be the name of a schedule."""
    if not isinstance(name, str) or not submission_checks.ID.fullmatch(name) or len(name) > NAME_LENGTH:
        raise DeclarationError(
            f"schedule: expected a name of 1 to {NAME_LENGTH} of A-Z a-z 0-9 . _ : @ -, found {name!r:.80}"
        )


def check_catch_up(name: str, catch_up: object) -> None:
    """Raise DeclarationError unless it says what happens to missed times."""
    if catch_up not in CATCH_UPS:
        raise DeclarationError(f"schedule {name}: expected catch_up one of {', '.join(CATCH_UPS)}, found {catch_up!r}")
