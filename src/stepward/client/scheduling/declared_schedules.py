"""The part of an application that declares recurring tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVarTuple, Unpack, overload

from stepward.client.scheduling.schedule_declaration import Recurring
from stepward.durations import Duration
from stepward.errors import DeclarationError
from stepward.schedules import CatchUp, OverlapPolicy
from stepward.schedules.options import DeclaredScheduleOptions
from stepward.workflow.definition import ChildCall
from stepward.workflow.registry import Registry

Ts = TypeVarTuple("Ts")


class ScheduleDeclarations:
    """What ``App`` inherits to declare recurring tasks."""

    registry: Registry
    _recurring: dict[str, Recurring]

    @overload
    def schedule(
        self,
        name: str,
        workflow: Callable[[], ChildCall[object]],
        cron: str,
        timezone: str = "UTC",
        **options: Unpack[DeclaredScheduleOptions],
    ) -> None: ...
    @overload
    def schedule(
        self,
        name: str,
        workflow: Callable[[*Ts], ChildCall[object]],
        cron: str,
        timezone: str = "UTC",
        *,
        args: tuple[*Ts],
        **options: Unpack[DeclaredScheduleOptions],
    ) -> None: ...
    def schedule(
        self,
        name: str,
        workflow: Any,
        cron: str,
        timezone: str = "UTC",
        *,
        args: Sequence[Any] = (),
        priority: int = 5,
        fairness_key: str | None = None,
        catch_up: CatchUp = "one",
        overlap: OverlapPolicy = "allow",
        jitter: Duration = 0,
    ) -> None:
        """Run a workflow at every nominal time of a cron expression in a time zone, exactly once each.

        The task's id is the name and the nominal time in UTC: ``nightly@2026-11-22T01:00:00Z``. ``catch_up`` decides
        about nominal times missed in an outage: fire the last ``one``, ``all``, or ``none``. ``overlap`` decides about
        times at which the task before is still at work; ``jitter`` delays each start by chance. See docs/schedules.md.
        """
        self._refuse_running(f"schedule {name}")
        if name in self._recurring:
            raise DeclarationError(f"schedule {name}: expected one declaration, found two; rename one")
        self._recurring[name] = Recurring(
            name,
            workflow,
            cron,
            timezone,
            args=args,
            priority=priority,
            fairness_key=fairness_key,
            catch_up=catch_up,
            overlap=overlap,
            jitter=jitter,
            registry=self.registry,
        )

    @property
    def schedules(self) -> Sequence[Recurring]:
        """The recurring tasks."""
        return tuple(self._recurring.values())

    def _refuse_running(self, what: str) -> None:
        """Raise DeclarationError while the application runs."""
        raise NotImplementedError
