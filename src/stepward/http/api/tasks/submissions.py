"""``POST /api/v1/tasks``: submits a task, and waits for its end on request."""

from __future__ import annotations

import re
from typing import Annotated, Any

from litestar import Request, Response, post
from litestar.params import Body, HeaderParameter
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from stepward.errors import TaskEnded
from stepward.http.access.permissions import Permission
from stepward.http.api.instants import instant_or_duration
from stepward.http.api.resources import TaskDetail
from stepward.http.api.tasks.task_paths import task_path
from stepward.http.api.tasks.task_reads import answer_of
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.streaming.stream_limits import StreamSlots
from stepward.model.tasks.key_rules import Collect, Debounce, KeyRule, Singleton, Throttle
from stepward.model.tracing.submission_span import current_traceparent, linked

MOST_WAIT_SECONDS = 60
WAIT = re.compile(r"wait=(\d{1,6})")


class SingletonRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="singleton"):
    """At most one task of the workflow and key that has not ended."""

    key: str
    if_running: str = "refuse"
    """What another submission does meanwhile: refuse, join or replace."""


class DebounceRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="debounce"):
    """Starts once no submission of the workflow and key has come for a while, with the arguments of the last."""

    key: str
    wait: str | float
    latest: str | float
    """The most time from the first submission to the start."""


class ThrottleRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="throttle"):
    """At most one task of the workflow and key is submitted within a time."""

    key: str
    every: str | float
    if_too_soon: str = "refuse"
    """What another submission does meanwhile: refuse or join."""


class CollectRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="rule", tag="collect"):
    """Gathers submissions of the workflow and key into one task, whose argument is the list of theirs."""

    key: str
    within: str | float
    """The most time from the first submission to the start."""
    size: int = 100
    """So many submissions start it at once."""


_KeyRuleRequest = SingletonRule | DebounceRule | ThrottleRule | CollectRule
_KINDS: dict[type[Struct], type[KeyRule]] = {
    SingletonRule: Singleton,
    DebounceRule: Debounce,
    ThrottleRule: Throttle,
    CollectRule: Collect,
}


class SubmitRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The workflow to run, and its arguments."""

    workflow: str
    arguments: list[Any] = []
    keywords: dict[str, Any] = {}
    """Arguments by name."""
    id: str | UnsetType = UNSET
    """The task's id, unless Idempotency-Key gives it; a repeated submission with the same id starts nothing."""
    priority: int = 5
    complete_by: str | float | None = None
    """Seconds or a duration such as 15m from now, or an instant: 2030-01-31T12:00:00Z."""
    delay: str | float | None = None
    labels: dict[str, str] = {}
    fairness_key: str | None = None
    reply_to: str | None = None
    per_key: SingletonRule | DebounceRule | ThrottleRule | CollectRule | None = None
    """The rule for the submission while there is another of the workflow and key."""


@post("/tasks", permission=Permission.SUBMIT, status_code=202)
async def submit_task(
    request: Request[Any, Any, Any],
    client: RequestClient,
    data: Annotated[SubmitRequest, Body()],
    key: Annotated[str | None, HeaderParameter(name="Idempotency-Key")] = None,
    prefer: Annotated[str | None, HeaderParameter(name="Prefer")] = None,
    traceparent: Annotated[str | None, HeaderParameter(name="traceparent")] = None,
) -> Response[TaskDetail]:
    """Submit a task. 202 with its Location; with ``Prefer: wait=N`` 200 if it ended within N seconds."""
    id = await client.submit(
        data.workflow,
        data.arguments,
        data.keywords,
        id=_id(data.id, key),
        priority=data.priority,
        complete_by=instant_or_duration(data.complete_by),
        delay=data.delay,
        labels=data.labels,
        attributes=None if current_traceparent() else linked(None, traceparent),
        fairness_key=data.fairness_key,
        reply_to=data.reply_to,
        **_rule(data.per_key),
    )
    location = {"Location": f"{request.scope.get('stepward.base', '')}{task_path(id)}"}
    seconds = wait_seconds(prefer)
    slots: StreamSlots = request.app.state.slots
    if not seconds or not slots.is_free(client.principal):
        return await answer_of(client, id, 202, **location)
    with slots.held(client.principal):
        has_ended = await _has_ended(client, id, seconds)
    applied = {"Preference-Applied": f"wait={seconds}"}
    return await answer_of(client, id, 200 if has_ended else 202, **location, **applied)


async def _has_ended(client: RequestClient, id: str, seconds: int) -> bool:
    found = await client.find(id)
    try:
        await found.handle.result(timeout=seconds)
    except TaskEnded:
        return True
    except TimeoutError:
        return False
    return True


def _rule(asked: _KeyRuleRequest | None) -> dict[str, KeyRule]:
    return {} if asked is None else {"per_key": _KINDS[type(asked)](**asdict(asked))}


def _id(requested: str | UnsetType, key: str | None) -> str | None:
    key_id = None if key is None else key.strip().strip('"')
    if isinstance(requested, UnsetType):
        return key_id
    if key_id not in (None, requested):
        raise HttpRefusal(422, "id: expected the Idempotency-Key or none, found another; leave one out", field="id")
    return requested


def wait_seconds(prefer: str | None) -> int:
    """How long the sender of ``Prefer: wait=N`` waits for an answer."""
    found = WAIT.search(prefer or "")
    return 0 if found is None else min(int(found[1]), MOST_WAIT_SECONDS)
