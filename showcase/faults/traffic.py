"""The messages at a broker, by kind, as an observer beside the application sees them. Pure."""

from __future__ import annotations

from enum import StrEnum

import msgspec

REQUEST = "stepward.request"
REPLY = "stepward.reply"
SUBMISSION = "stepward.submission"
STATUS = ("stepward.request.", "stepward.task.", "stepward.step.")
"""How the types of status events begin."""


class Kind(StrEnum):
    """What a message is about."""

    SUBMISSION = "submission"  # an application wants something done
    REQUEST = "request"  # a Scheduler asks an Agent
    REPLY = "reply"  # an Agent answers a Scheduler
    EVENT = "event"  # An application receives status events.


EXACT = {SUBMISSION: Kind.SUBMISSION, REQUEST: Kind.REQUEST, REPLY: Kind.REPLY}


class _Event(msgspec.Struct):
    type: str
    id: str


class Traffic:
    """The ids of CloudEvents by their kind, whether each came alone or with others, once or again."""

    def __init__(self) -> None:
        self.ids: dict[Kind, set[str]] = {kind: set() for kind in Kind}

    def note(self, body: bytes) -> None:
        """Note a message; what holds no CloudEvents is none of ours."""
        try:
            found = msgspec.json.decode(body, type=list[_Event] | _Event)
        except msgspec.MsgspecError:
            return
        for event in found if isinstance(found, list) else [found]:
            kind = EXACT.get(event.type) or (Kind.EVENT if event.type.startswith(STATUS) else None)
            if kind is not None:
                self.ids[kind].add(event.id)
