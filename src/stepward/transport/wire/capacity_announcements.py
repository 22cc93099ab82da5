"""Announcements of Agents in other languages: they report capacity and load over the broker, as they reach no store."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from stepward.model.agents import AgentHealth
from stepward.model.messages.requests import request_queue
from stepward.transport.wire.wire_events import FOREIGN, Text

OF_AGENT = request_queue("")
MOST_CAPACITY = 100_000


class Capacity(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", tag="stepward.capacity"):
    """Announcement of an Agent process in another language: it is alive and has room for that many requests.

    It is never batched, and is sent every third of a lease, which is 10 s unless set otherwise. A process that is
    silent for longer than a lease counts as dead.
    """

    specversion: Literal["1.0"]
    """The version of CloudEvents."""
    id: Text
    """A random id for each announcement."""
    source: Annotated[str, Meta(pattern=r"^/stepward/[A-Za-z0-9_-]{1,100}(\.p[0-9]{1,2})?/[A-Za-z0-9._:@-]{1,100}$")]
    """The process: ``/stepward/orders/`` and a suffix that no other process ever has."""
    subject: Annotated[str, Meta(pattern=r"^agents\.[A-Za-z0-9_-]{1,100}$")]
    """The queue of its Agent: ``agents.mail``."""
    capacity: Annotated[int, Meta(ge=0, le=MOST_CAPACITY)]
    """How many requests it processes at once; 0 while its service is down, and when it ends."""
    inflight: Annotated[int, Meta(ge=0, le=MOST_CAPACITY)] = 0
    """How many it is processing now."""


def decode_capacity(body: bytes) -> tuple[str, AgentHealth] | None:
    """The announcing process and its health; None for anything else."""
    try:
        announced = msgspec.json.decode(body, type=Capacity)
    except FOREIGN:
        return None
    agent = announced.subject.removeprefix(OF_AGENT)
    return announced.source, AgentHealth(agent=agent, capacity=announced.capacity, in_flight=announced.inflight)
