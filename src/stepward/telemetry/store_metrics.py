"""The gauges of a store as Prometheus metrics.

They are read from the store alone, so that one scrape of one process shows the whole application.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from stepward.client.agent_status import AgentState, AgentStatus, is_silent, statuses
from stepward.model.records import Role
from stepward.store.contract import StoreGauges

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class StoreCollector:
    """A collector of prometheus_client over one read of the gauges."""

    def __init__(self, gauges: StoreGauges) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """Every metric of the store."""
        found = self._gauges
        yield by_label("stepward_tasks", "Tasks that have not ended, and tasks in error.", "state", found.tasks)
        yield by_label(
            "stepward_task_oldest_age_seconds",
            "Seconds since the oldest task of the state was created.",
            "state",
            found.oldest_tasks,
        )
        yield by_label("stepward_alerts_open", "Alerts that were not acknowledged.", "kind", found.alerts)
        yield single("stepward_dead_letters", "Messages set aside for an operator.", found.dead_letters)
        yield single(
            "stepward_steps_expired",
            "Running steps past their complete-by that wait for the Supervisor.",
            found.expired_steps,
        )
        yield by_label("stepward_queue_messages", "Messages in the queues of the store.", "queue", found.queues)
        yield by_label(
            "stepward_queue_age_seconds",
            "Seconds since the next message of a queue of applications was posted.",
            "queue",
            found.queue_ages,
        )
        yield by_label(
            "stepward_agent_oldest_request_seconds",
            "Seconds since the start of the Agent's oldest attempt without an outcome.",
            "agent",
            found.oldest_requests,
        )
        yield single("stepward_supervisor_leads", "1 if a Supervisor leads.", int(found.has_leader))
        yield single("stepward_schema_version", "The version of the store's tables.", found.schema_version)
        yield from _of_instances(found)
        yield from _of_agents(statuses(found.instances, found.standings, found.now))


def exposition(gauges: StoreGauges) -> bytes:
    """The gauges in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(StoreCollector(gauges))
    return generate_latest(registry)


def single(name: str, says: str, value: float) -> Metric:
    """A gauge without labels."""
    return GaugeMetricFamily(name, says, value=value)


def by_label(name: str, says: str, label: str, values: Mapping[str, float]) -> Metric:
    """A gauge with one label."""
    family = GaugeMetricFamily(name, says, labels=[label])
    for label_value, value in sorted(values.items()):
        family.add_metric([label_value], value)
    return family


def _of_instances(found: StoreGauges) -> Iterator[Metric]:
    alive = [instance for instance in found.instances if instance.alive]
    live = {str(role): 0.0 for role in Role}
    silent = dict(live)
    for instance in alive:
        (silent if is_silent(instance, found.now) else live)[instance.role] += 1
    yield by_label("stepward_instances", "Instances whose lease runs.", "role", live)
    yield by_label(
        "stepward_instances_silent",
        "Instances whose lease is over and that were not declared dead.",
        "role",
        silent,
    )


def _of_agents(agents: Iterable[AgentStatus]) -> Iterator[Metric]:
    found = {agent.name: agent for agent in agents}

    def family(name: str, says: str, value: Mapping[str, float]) -> Metric:
        return by_label(f"stepward_agent_{name}", says, "agent", value)

    yield family("instances", "Live instances of the Agent.", {n: a.instances for n, a in found.items()})
    yield family("capacity", "Requests that they take at once.", {n: a.capacity for n, a in found.items()})
    yield family("in_flight", "Requests that they work on.", {n: a.in_flight for n, a in found.items()})
    yield family(
        "waiting_steps",
        "Steps that wait for the Agent: asked for by Schedulers and not worked on.",
        {n: max(0, a.asked - a.in_flight) for n, a in found.items()},
    )
    yield family("stuck_calls", "Calls past their deadline that do not stop.", {n: a.stuck for n, a in found.items()})
    yield family("breaker_open", "1 if the breaker is open.", {n: a.opened_at is not None for n, a in found.items()})
    yield family(
        "suspended",
        "1 if an operator suspended the Agent.",
        {n: a.state is AgentState.SUSPENDED for n, a in found.items()},
    )
