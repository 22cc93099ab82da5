"""Checks of the arguments of ``App``."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from stepward.agent.declaration import Agent
from stepward.errors import DeclarationError, SettingsError
from stepward.events import EventReceiver
from stepward.model.action import Action
from stepward.model.failures import Redact
from stepward.model.messages.event_queues import CODES, webhook_route
from stepward.model.messages.requests import submission_queue
from stepward.model.messages.status_events import StatusEventType
from stepward.observers.event_webhooks import webhooks_of
from stepward.settings import Settings
from stepward.settings.sink_settings import NAME as WEBHOOK
from stepward.submission import SubmissionQueue
from stepward.transport.open_broker import is_broker
from stepward.transport.queues.partition_queues import part_of
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def checked_name(name: str) -> str:
    """``name``, if an application can be called so. Raises DeclarationError."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DeclarationError(f"App: expected a name of 1 to 100 of A-Z a-z 0-9 _ -, found {name!r}")
    return name


def checked_queue(settings: Settings, declared: SubmissionQueue) -> SubmissionQueue:
    """The queue. Raises DeclarationError for one whose name is that of a partition's part of another."""
    is_part = part_of(submission_queue("", declared.queue)) is not None
    if is_part and len(settings.stores) > 1 and is_broker(settings.transport):
        raise DeclarationError(
            f"submission {declared.queue}: expected a name that does not begin as p1. or p2., which beside several "
            "stores are queues of partitions at the broker, found one; rename it"
        )
    return declared


def several(given: Iterable[T], what: str) -> Iterable[T]:
    """``given``, if it is iterable. Raises DeclarationError."""
    if not isinstance(given, Iterable):
        raise DeclarationError(f"{what}: expected a list, found {reprlib.repr(given)}; write [ ] around it")
    return given


def checked_redact(redact: Redact | None) -> Redact | None:
    """``redact``, if it can be called. Raises DeclarationError."""
    if redact is not None and not callable(redact):
        raise DeclarationError(
            f"App.redact: expected a function of a text that returns a text, found {reprlib.repr(redact)}"
        )
    return redact


def routes_of(
    app: str, name: str, workflows: Iterable[Workflow[Any, Any]] | None, events: Iterable[str] | None, known: Registry
) -> tuple[list[str], str]:
    """The workflows whose tasks a webhook gets the events of, and what is recorded with these. Raises
    DeclarationError."""
    what = f"webhook {reprlib.repr(name)}"
    if not isinstance(name, str) or not WEBHOOK.fullmatch(name):
        raise DeclarationError(f"{what}: expected a name of 1 to 40 of a-z 0-9 _ - that begins with a letter")
    chosen = known.newest.values() if workflows is None else list(several(workflows, f"{what}: workflows"))
    for each in chosen:
        if not isinstance(each, Workflow) or each.name not in known.newest:
            raise DeclarationError(
                f"{what}: workflows: expected workflows of this application, found {reprlib.repr(each)}; declare it"
            )
    kinds = None if events is None else [_kind(each, what) for each in several(events, f"{what}: events")]
    if kinds == []:
        raise DeclarationError(f"{what}: events: expected one kind or more, found none; leave it out for all")
    return [each.name for each in chosen], webhook_route(app, name, kinds)


def _kind(given: object, what: str) -> StatusEventType:
    known = [kind.value for kind in CODES]
    if given not in known:
        raise DeclarationError(f"{what}: events: expected some of {', '.join(known)}, found {reprlib.repr(given)}")
    return StatusEventType(given)


def receivers_of(app: str, declared: Sequence[str], settings: Settings, known: Registry) -> Sequence[EventReceiver]:
    """The receivers of the settings, if there is one for each declared webhook and no other. Raises SettingsError.

    A Supervisor without the application's code declares none, and has all receivers of its settings.
    """
    receivers = webhooks_of(settings, app)
    given = [receiver.name for receiver in receivers]
    for name in declared:
        if name not in given:
            raise SettingsError(
                f"webhooks: expected url and secret of {name}, which App.webhook declares, found none; add the receiver"
            )
    for name in given:
        if name not in declared and known.workflows:
            raise SettingsError(f"webhooks: expected {name} to be declared by App.webhook, found it is not; declare it")
    return receivers


def chosen_agents(agents: bool | Iterable[str], declared: Sequence[Agent]) -> frozenset[str] | None:
    """The names of the chosen Agents; None: all. Raises DeclarationError."""
    if isinstance(agents, bool):
        return None if agents else frozenset()
    chosen = frozenset(agents)
    known = {agent.name for agent in declared}
    if not chosen <= known:
        unknown = ", ".join(sorted(chosen - known))
        raise DeclarationError(f"agents: expected some of {', '.join(sorted(known))}, found {unknown}")
    return chosen


def operations_of(agents: Sequence[Agent]) -> list[Action[Any, Any]]:
    """The operations of all Agents. Raises DeclarationError for what is no Agent, and for two of one name."""
    for agent in agents:
        if not isinstance(agent, Agent):
            raise DeclarationError(
                f"agents: expected Agents, found {reprlib.repr(agent)}; give the Agent that declares the operations"
            )
    names = [agent.name for agent in agents]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(f"Agent {name!r}: expected one declaration, found {names.count(name)}")
    return [operation for agent in agents for operation in agent.operations.values()]
