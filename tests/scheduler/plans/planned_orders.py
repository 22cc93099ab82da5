"""A pipeline of three steps, and how they stand before any has begun."""

from __future__ import annotations

from typing import Any

from stepward import (
    From,
    Given,
    Pipeline,
    Stage,
)
from tests.scheduler.world import (
    Service,
)

PLANNED = {"svc.do/1": "not_started", "svc.note/1": "not_started", "svc.do/2": "not_started"}


def orders(service: Service, **more: Any) -> Pipeline:
    """``a``, then ``note``, then ``b`` with the result of ``a``."""
    stages = {
        "a": Stage(service.do, Given("what")),
        "note": Stage(service.note, "noted", after=["a"]),
        "b": Stage(service.do, From("a"), after=["note"]),
    }
    return Pipeline("order", stages, given={"what": str}, result="b", **more)
