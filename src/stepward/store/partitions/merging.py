"""What operators see of several stores as one: pure rules on what each store answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from stepward.model.agents import AgentStanding
from stepward.model.messages.webhook_retries import Webhook
from stepward.store.contract import (
    Batch,
    BatchState,
    FlowCount,
    FoundTasks,
    Overview,
    QueueLength,
    StateCount,
    StateSample,
    StoreGauges,
    TaskCount,
    TaskSearch,
)
from stepward.store.search.statements import TaskKey

T = TypeVar("T")
MOST_REFUSALS = 20
"""Most refusals that a batch shows."""
WORST_FIRST = ("disabled", "failing", "enabled")
"""The states of a webhook."""
BY_PROGRESS = (BatchState.RUNNING, BatchState.PAUSED, BatchState.STOPPED, BatchState.DONE)
"""Of the states of a batch in several stores, the first of these is that of the whole."""


def merged_page(pages: Sequence[FoundTasks], search: TaskSearch) -> FoundTasks:
    """One page of the pages that several stores found behind the same position.

    A page that does not reach the end of its store says nothing of what is behind it, so that the shortest of them
    bounds what can be listed. A task that moved meanwhile may be in two pages, and is listed once.
    """
    ends = [page.after for page in pages if page.after is not None]
    bound = (min(ends) if not search.newest_first else max(ends)) if ends else None
    keyed = sorted(
        {TaskKey(task.created_at, task.uid): task for page in pages for task in page.tasks}.items(),
        key=lambda each: each[0],
        reverse=search.newest_first,
    )
    within = [each for each in keyed if bound is None or not _is_behind(each[0], bound, search)]
    tasks = within[: search.limit]
    if len(tasks) < len(keyed) and tasks and len(tasks) == search.limit:
        return FoundTasks([task for _, task in tasks], tasks[-1][0])
    return FoundTasks([task for _, task in tasks], bound)


def _is_behind(key: TaskKey, bound: TaskKey, search: TaskSearch) -> bool:
    return key < bound if search.newest_first else key > bound


def merged_count(counts: Iterable[TaskCount]) -> TaskCount:
    """The number over all stores; exact where each is."""
    found = list(counts)
    return TaskCount(sum(count.number for count in found), all(count.is_exact for count in found))


def merged_overview(found: Sequence[Overview]) -> Overview:
    """The counts of all stores; a leader is that of the first store that has one."""
    states: dict[str, StateCount] = {}
    for count in (count for overview in found for count in overview.states):
        known = states.get(count.state)
        states[count.state] = count if known is None else _added(known, count)
    return Overview(
        states=list(states.values()),
        late=sum(each.late for each in found),
        open_alerts=sum(each.open_alerts for each in found),
        dead_letters=sum(each.dead_letters for each in found),
        leader=next((each.leader for each in found if each.leader is not None), None),
    )


def _added(known: StateCount, other: StateCount) -> StateCount:
    oldest = [at for at in (known.oldest_at, other.oldest_at) if at is not None]
    return replace(known, count=known.count + other.count, oldest_at=min(oldest, default=None))


def merged_flow(found: Iterable[FlowCount]) -> list[FlowCount]:
    """The counts of each bucket over all stores."""
    counts = Counter[tuple[int, str]]()
    for each in found:
        counts[each.bucket, each.what] += each.count
    return [FlowCount(bucket, what, count) for (bucket, what), count in sorted(counts.items())]


def merged_queues(found: Iterable[QueueLength]) -> list[QueueLength]:
    """The queues by name, each with the messages of all stores."""
    queues: dict[str, QueueLength] = {}
    for each in found:
        known = queues.get(each.queue)
        if known is not None:
            posted = [at for at in (known.posted_at, each.posted_at) if at is not None]
            queues[each.queue] = replace(
                known, messages=known.messages + each.messages, posted_at=min(posted, default=None)
            )
        else:
            queues[each.queue] = each
    return [queues[name] for name in sorted(queues)]


def merged_samples(found: Sequence[Sequence[StateSample]], seconds: float) -> list[StateSample]:
    """The samples of each bucket of so many seconds over all stores."""
    buckets: dict[int, StateSample] = {}
    for sample in (sample for samples in found for sample in samples):
        known = buckets.get(int(sample.at // seconds))
        counts = Counter(sample.counts) + Counter({} if known is None else known.counts)
        at = sample.at if known is None else min(known.at, sample.at)
        buckets[int(sample.at // seconds)] = StateSample(at, dict(counts))
    return [buckets[bucket] for bucket in sorted(buckets)]


def merged_standings(found: Iterable[AgentStanding]) -> list[AgentStanding]:
    """The Agents by name; one is suspended, or its breaker open, where it is so in one of the stores."""
    standings: dict[str, AgentStanding] = {}
    for each in found:
        known = standings.get(each.name)
        if known is not None:
            suspended = known if known.is_suspended else each
            opened = known if known.is_open else each
            breaker = {"opened_at": opened.opened_at, "asks_at": opened.asks_at, "probe_by": opened.probe_by}
            standings[each.name] = replace(suspended, **breaker)
        else:
            standings[each.name] = each
    return [standings[name] for name in sorted(standings)]


def merged_webhooks(found: Iterable[Webhook]) -> list[Webhook]:
    """The webhooks by name: each store sends its own events, and the one that fares worst says how the webhook does."""
    webhooks: dict[str, Webhook] = {}
    for each in found:
        known = webhooks.get(each.name, each)
        worst = min(known, each, key=lambda webhook: WORST_FIRST.index(webhook.state))
        taken = each.taken if known is each else known.taken + each.taken
        webhooks[each.name] = replace(worst, taken=taken)
    return [webhooks[name] for name in sorted(webhooks)]


def merged_batch(found: Sequence[Batch]) -> Batch:
    """A batch over all stores, of its parts in each of them."""
    states = {each.state for each in found}
    state = next(state for state in BY_PROGRESS if state in states)
    ended = [each.finished_at for each in found if each.finished_at is not None]
    return replace(
        found[0],
        state=state,
        rate=sum(each.rate for each in found),
        done=sum(each.done for each in found),
        refused=sum(each.refused for each in found),
        refusals=[refusal for each in found for refusal in each.refusals][:MOST_REFUSALS],
        cursor_at=None,
        cursor_uid=None,
        next_at=min(each.next_at for each in found),
        finished_at=max(ended) if len(ended) == len(found) else None,
    )


def merged_gauges(found: Sequence[StoreGauges]) -> StoreGauges:
    """The gauges of all stores; a Supervisor leads where each store has one."""
    return StoreGauges(
        now=found[0].now,
        tasks=_joined(found, lambda each: each.tasks, sum),
        oldest_tasks=_joined(found, lambda each: each.oldest_tasks, max),
        alerts=_joined(found, lambda each: each.alerts, sum),
        dead_letters=sum(each.dead_letters for each in found),
        expired_steps=sum(each.expired_steps for each in found),
        queues=_joined(found, lambda each: each.queues, sum),
        queue_ages=_joined(found, lambda each: each.queue_ages, max),
        oldest_requests=_joined(found, lambda each: each.oldest_requests, max),
        has_leader=all(each.has_leader for each in found),
        schema_version=min(each.schema_version for each in found),
        instances=[instance for each in found for instance in each.instances],
        standings=merged_standings(standing for each in found for standing in each.standings),
    )


def _joined(
    found: Sequence[StoreGauges],
    figures: Callable[[StoreGauges], Mapping[str, T]],
    join: Callable[[list[T]], T],
) -> dict[str, T]:
    values: dict[str, list[T]] = {}
    for each in found:
        for name, value in figures(each).items():
            values.setdefault(name, []).append(value)
    return {name: join(each) for name, each in values.items()}
