"""The blocking facade has a twin for all that applications call."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from stepward import Client, SyncClient, TaskHandle
from stepward.sync import SyncTaskHandle

INNER = {"direct", "handles", "plan", "prepared", "prepared_many", "signal", "submit_blocking", "wait_for_end"}
"""What handles, the command line and the facade itself call."""


def methods(kind: type) -> set[str]:
    return {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}


def parameters(kind: type, name: str) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(getattr(kind, name)).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


def test_each_method_has_a_twin() -> None:
    assert methods(SyncClient) - {"call"} == methods(Client) - INNER
    assert methods(SyncTaskHandle) == methods(TaskHandle)


@pytest.mark.parametrize("name", sorted(methods(Client) - INNER - {"tasks"}))
def test_a_twin_takes_the_same(name: str) -> None:
    assert parameters(SyncClient, name) == parameters(Client, name)
