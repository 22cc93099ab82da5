"""What actors tell: things that happened, turned into logs, metrics and alerts by observers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from stepward.interrupts import pass_interrupt
from stepward.model.records import Alert


class Event(Struct, frozen=True, gc=False):
    """A thing that happened; ``name`` is dotted (``task.processed``), ``fields`` are plain values."""

    name: str
    fields: dict[str, Any]


Observer = Callable[[Event], None]


class AlertSink(Protocol):
    """Where alerts go: a log, a webhook; the name tells sinks apart in what is reported of them."""

    @property
    def name(self) -> str:
        """The sink's name, unique among the sinks of a process."""
        ...

    async def deliver(self, alert: Alert) -> None:
        """Take the alert, or raise (AlertRefused); an alert may come more than once, under one number."""
        ...


class Observers:
    """The observers of a process; an actor calls ``tell`` and never fails because of one."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = list(observers)

    def add(self, observer: Observer) -> None:
        """Tell ``observer`` too from now on."""
        self._observers.append(observer)

    def remove(self, observer: Observer) -> None:
        """Tell ``observer`` no more."""
        self._observers.remove(observer)

    @property
    def listening(self) -> bool:
        """Whether anybody listens: a hot path need not build an event nobody hears."""
        return bool(self._observers)

    def tell(self, name: str, **fields: Any) -> None:
        """Tell every observer; what one of them raises is its own affair and stops nothing."""
        event = Event(name, fields)
        for observer in tuple(self._observers):
            try:
                observer(event)
            except BaseException as error:  # an observer must never stop an actor
                pass_interrupt(error)


class Hints:
    """Word within a process that the store was changed: whoever waits looks soon, not at its next poll."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` at every hint."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Call it no more."""
        self._listeners.remove(listener)

    def hint(self) -> None:
        """Tell every listener."""
        for listener in list(self._listeners):
            listener()
