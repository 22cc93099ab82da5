"""Webhooks that get status events: how each fares, and when what it refused is offered again. Pure rules."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stepward.model.records import Alert

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 3_600.0
"""Seconds until an event is offered again after its first refusal, and at most."""
MOST_DOUBLINGS = 20
GIVE_UP_SECONDS = 3 * 86_400.0
"""Seconds from the first refusal of an event after which another one makes it a dead letter."""
DISABLE_SECONDS = 2 * 86_400.0
"""Seconds for which a webhook may take nothing before it is disabled; less than an event's, so that an outage of the
receiver makes no dead letters."""
LONGEST_ERROR = 1_000
"""Most characters of a refusal that are recorded."""
DISABLED_KIND = "webhook_disabled"


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook of the Supervisor that leads, and how it fares."""

    name: str
    description: str
    """Where its events go, without secrets."""
    reported_at: float = 0.0
    taken: int = 0
    """How many events its receiver has taken."""
    taken_at: float | None = None
    """When it last took one."""
    failing_since: float | None = None
    """Since when it has taken nothing that it was offered."""
    tries: int = 0
    """Refusals in succession since then."""
    next_try: float = 0.0
    error: str | None = None
    """The reason of its last refusal."""
    disabled_at: float | None = None
    """Since when nothing is offered to it, until an operator enables it."""
    disabled_by: str | None = None

    @property
    def state(self) -> str:
        """``enabled``, ``failing`` or ``disabled``."""
        if self.disabled_at is not None:
            return "disabled"
        return "enabled" if self.failing_since is None else "failing"


class WaitingEvent(Struct, frozen=True, kw_only=True):
    """A status event on its way to a webhook, and what became of it so far."""

    token: int
    body: bytes
    tries: int = 0
    """Refusals."""
    refused_at: float | None = None
    """When it was refused first."""
    next_try: float = 0.0


class RefusedEvent(Struct, frozen=True, kw_only=True):
    """A refusal of an event."""

    token: int
    tries: int
    refused_at: float
    next_try: float
    error: str


class Deliveries(Struct, frozen=True, kw_only=True):
    """What became of the events that were offered to a webhook at one time."""

    taken: Sequence[int]
    """Tokens."""
    refused: Sequence[RefusedEvent]
    dead: Sequence[tuple[int, str]]
    """Tokens of events that are given up, each with the reason."""
    webhook: Webhook
    """As it fares now."""


def refused_event(event: WaitingEvent, error: str, now: float, jitter: float) -> RefusedEvent:
    """The event after one more refusal; ``jitter`` from 0 to 1 spreads the next tries."""
    tries = event.tries + 1
    return RefusedEvent(
        token=event.token,
        tries=tries,
        refused_at=now if event.refused_at is None else event.refused_at,
        next_try=now + pause_after(tries, jitter),
        error=error[:LONGEST_ERROR],
    )


def is_given_up(refused: RefusedEvent, now: float) -> bool:
    """Whether the event becomes a dead letter."""
    return now - refused.refused_at > GIVE_UP_SECONDS


def after_taking(webhook: Webhook, count: int, error: str | None, now: float) -> Webhook:
    """The webhook after it took events; ``error`` is that of another one which it refused."""
    return replace(
        webhook, taken=webhook.taken + count, taken_at=now, failing_since=None, tries=0, next_try=0.0, error=error
    )


def after_failing(webhook: Webhook, error: str, now: float, jitter: float, *, gone: bool) -> Webhook:
    """The webhook after it took nothing; ``gone``: its receiver wants nothing more."""
    since, tries = now if webhook.failing_since is None else webhook.failing_since, webhook.tries + 1
    is_over = gone or now - since > DISABLE_SECONDS
    return replace(
        webhook,
        failing_since=since,
        tries=tries,
        next_try=now + pause_after(tries, jitter),
        error=error[:LONGEST_ERROR],
        disabled_at=now if is_over else None,
        disabled_by="supervisor" if is_over else None,
    )


def pause_after(tries: int, jitter: float) -> float:
    """Seconds after so many refusals: they double up to an hour, each between half of that and all of it."""
    return min(FIRST_PAUSE * 2.0 ** min(tries - 1, MOST_DOUBLINGS), LONGEST_PAUSE) * (0.5 + jitter / 2)


def disabled_alert(webhook: Webhook, now: float) -> Alert:
    """The alert that a webhook was disabled; it is over when an operator enables the webhook."""
    message = (
        f"webhook {webhook.name} is disabled: {webhook.error}; its events wait for seven days each; mend the receiver, "
        f"then stepward webhooks enable {webhook.name}"
    )
    return Alert(at=now, kind=DISABLED_KIND, message=message, details=disabled_details(webhook.name))


def disabled_details(name: str) -> bytes:
    """The details of that alert, the same for one webhook."""
    return msgspec.json.encode({"webhook": name})
