"""Events that actors emit; observers turn them into logs, metrics and alerts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from msgspec import Struct

from stepward.model.alerts.alert_routing import AlertNews, AlertRoute
from stepward.model.messages.change_kinds import EVERYTHING, Kinds
from stepward.model.records import Alert
from stepward.runtime.interrupts import pass_interrupt

WITHHELD = "(withheld, as payloads are encrypted)"
OPERATIONAL = (
    "agent.transport_failed",
    "alert.refused",
    "archive.",
    "events.unavailable",
    "queue.look_failed",
    "relay.unavailable",
    "scheduler.adopt_failed",
    "scheduler.ask_again_failed",
    "scheduler.fenced",
    "scheduler.publish_failed",
    "scheduler.settle_failed",
    "scheduler.take_failed",
    "store.",
    "submission.queue_failed",
    "transport.broke",
    "transport.connected",
    "transport.failed",
    "transport.lost",
    "transport.refused",
    "transport.rejected",
    "transport.unopened",
)
"""Beginnings of the names of events about stores, queues and archives, whose errors quote no payload."""
QUOTES = frozenset({"difference", "error", "reason", "reasons", "start", "traceback"})
"""Fields of all other events that may quote one."""


class Event(Struct, frozen=True, gc=False):
    """An event; ``name`` is dotted (``task.processed``), ``fields`` are plain values."""

    name: str
    fields: dict[str, Any]


Observer = Callable[[Event], None]


class AlertSink(Protocol):
    """A destination of alerts, such as a log or a webhook; reports name it."""

    @property
    def name(self) -> str:
        """The sink's name, unique among the sinks of a process."""
        ...

    @property
    def description(self) -> str:
        """What it delivers to, for operators: without secrets."""
        ...

    @property
    def route(self) -> AlertRoute:
        """Which alerts it gets."""
        ...

    async def deliver(self, alert: Alert, news: AlertNews) -> None:
        """Take the news of the alert, or raise AlertRefused; it may come more than once, under the same number."""
        ...


class EventReceiver(Protocol):
    """A webhook that gets status events."""

    @property
    def name(self) -> str:
        """The webhook's name, unique in an application."""
        ...

    @property
    def queue(self) -> str:
        """The queue of its events in the store."""
        ...

    @property
    def description(self) -> str:
        """Where its events go, for operators: without secrets."""
        ...

    async def deliver(self, id: str, body: bytes) -> None:
        """Take an event, or raise AlertRefused; it may come more than once, under the same id."""
        ...


class Observers:
    """The observers of a process; an actor calls ``emit``, which never raises."""

    def __init__(self, *observers: Observer, withholds: bool = False) -> None:
        """``withholds``: observers receive nothing that may quote a payload, as payloads are encrypted."""
        self._observers = list(observers)
        self._withholds = withholds
        self._meters: list[Observer] = []
        self.measuring = False
        """Whether anything measures: a hot path takes no measurements otherwise."""

    def add(self, observer: Observer) -> None:
        """Add an observer."""
        self._observers.append(observer)

    def remove(self, observer: Observer) -> None:
        """Remove an observer."""
        self._observers.remove(observer)

    @contextlib.contextmanager
    def measured_by(self, meter: Observer) -> Iterator[None]:
        """Pass every event to ``meter`` as well within the block, and those of ``measure`` to it alone."""
        self._observers.append(meter)
        self._meters.append(meter)
        self.measuring = True
        try:
            yield
        finally:
            self._meters.remove(meter)
            self._observers.remove(meter)
            self.measuring = bool(self._meters)

    @property
    def listening(self) -> bool:
        """Whether there are observers: a hot path need not build an event otherwise."""
        return bool(self._observers)

    def emit(self, name: str, **fields: Any) -> None:
        """Pass an event to every observer; an exception of one is dropped and stops nothing."""
        if self._withholds and not QUOTES.isdisjoint(fields) and not name.startswith(OPERATIONAL):
            fields = {key: WITHHELD if key in QUOTES else value for key, value in fields.items()}
        _pass(Event(name, fields), self._observers)

    def measure(self, name: str, **fields: Any) -> None:
        """Pass a measurement of a hot path to what measures."""
        _pass(Event(name, fields), self._meters)


def _pass(event: Event, observers: Iterable[Observer]) -> None:
    for observer in tuple(observers):
        try:
            observer(event)
        except BaseException as error:  # an observer must never stop an actor
            pass_interrupt(error)


class Hints:
    """A signal within a process that the store was changed: waiting code reads again at once instead of at its next
    poll."""

    def __init__(self) -> None:
        self._listeners: list[tuple[Callable[[], None], Kinds]] = []
        self._receivers: list[Callable[[Kinds], None]] = []

    def listen(self, listener: Callable[[], None], kinds: Kinds = EVERYTHING) -> None:
        """Call ``listener`` at every hint of one of the kinds."""
        self._listeners.append((listener, kinds))

    def receive(self, receiver: Callable[[Kinds], None]) -> None:
        """Call ``receiver`` with the kinds of every hint."""
        self._receivers.append(receiver)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Remove a listener."""
        self._listeners = [each for each in self._listeners if each[0] != listener]

    def hint(self, kinds: Kinds = EVERYTHING) -> None:
        """Call the listeners of these kinds, and every receiver."""
        for listener, wanted in list(self._listeners):
            if wanted & kinds:
                listener()
        for receiver in self._receivers:
            receiver(kinds)
