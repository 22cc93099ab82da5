"""The readiness of a process: whether its actors can do their work now."""

from __future__ import annotations

from collections.abc import Iterator

from stepward.host.actors.agent_actors import AgentActors
from stepward.host.actors.scheduler_actor import SchedulerActor
from stepward.host.actors.supervisor_actor import SupervisorActor
from stepward.host.assembly import Parts, Roles
from stepward.host.leases import InstanceLeases
from stepward.model.records import Role


class Readiness:
    """Reads leases and the Scheduler's last commits from memory: nothing is asked of the store."""

    def __init__(
        self,
        parts: Parts,
        roles: Roles,
        leases: InstanceLeases,
        agents: AgentActors,
        schedulers: SchedulerActor,
        supervisors: SupervisorActor,
    ) -> None:
        self._parts = parts
        self._roles = roles
        self._leases = leases
        self._agents = agents
        self._schedulers = schedulers
        self._supervisors = supervisors
        self.submission_instance: str | None = None
        """The instance of the submissions, once they are registered."""
        self.is_ending = False
        """Whether the process was asked to end."""

    def reasons(self) -> list[str]:
        """Why the process is not ready, a line for each reason; empty if it is."""
        return ["draining"] if self.is_ending else [*self._lapsed(), *self._stalled()]

    def _lapsed(self) -> Iterator[str]:
        now = self._parts.store.now()
        for role, instance in self._instances():
            if instance is None:
                yield f"{role}: expected an instance, found none"
            elif (ends_at := self._leases.ends.get(instance)) is None or ends_at <= now:
                yield f"{role}: expected the lease of {instance} to run, found it over"

    def _instances(self) -> Iterator[tuple[Role, str | None]]:
        if self._roles.scheduler:
            yield Role.SCHEDULER, self._schedulers.instance
        if self._agents.names:
            yield Role.AGENT, self._agents.instance
        if self._roles.supervisor:
            yield Role.SUPERVISOR, self._supervisors.instance
        if self.submission_instance is not None:
            yield Role.SUBMISSION, self.submission_instance

    def _stalled(self) -> Iterator[str]:
        scheduler = self._schedulers.current
        if scheduler is None or scheduler.failed_at is None:
            return
        # A renewal is a write too: one that was sent since then shows that the store is back.
        renewed_at = self._leases.ends.get(scheduler.instance, 0.0) - self._parts.settings.lease
        if renewed_at <= scheduler.failed_at:
            yield f"{Role.SCHEDULER}: expected its commits to succeed, found the store not available"
