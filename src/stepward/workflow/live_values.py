"""Values that workflow code and steps write for readers outside, committed with them."""

from __future__ import annotations

from stepward.errors import Refused
from stepward.model.current_step import CURRENT
from stepward.model.live_values import WriteKind, WrittenValue, checked_value_name
from stepward.payload import encode
from stepward.workflow import recorded_values
from stepward.workflow.functions import current_run


def publish(name: str, value: object) -> None:
    """Set the value ``name`` of the task, which ``TaskHandle.value`` reads; the last one written counts.

    In workflow code it is recorded, and committed with the turn. In a step or an operation it is committed with the
    outcome; an attempt that fails publishes nothing. ``value`` is JSON. Raises PayloadTooLarge.
    """
    _write(WriteKind.PUBLISH, name, value)


def stream(name: str) -> ValueStream:
    """The stream ``name`` of the task, for ``write``; ``TaskHandle.stream`` reads it."""
    return ValueStream(checked_value_name(name, "stream"))


class ValueStream:
    """A stream of the task that runs."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, value: object) -> None:
        """Append a value, any JSON: once, however often the step is tried or the workflow replayed.

        It is committed, and readable, like the values of ``publish``. Raises PayloadTooLarge.
        """
        _write(WriteKind.STREAM, self.name, value)


def _write(kind: WriteKind, name: str, value: object) -> None:
    checked_value_name(name, kind)
    run = current_run()
    if run is not None:
        recorded_values.write(run, kind, name, value)
        return
    step = CURRENT.get()
    if step is None:
        raise Refused(
            f"{kind} {name}: expected to be called in workflow code, a step or an operation, found none running; "
            "call it inside one"
        )
    step.write(WrittenValue(kind, name, encode(value, f"{kind} {name}")))
