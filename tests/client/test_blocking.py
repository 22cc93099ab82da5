"""The blocking facade has a twin for all that applications call."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from stepward import Client, SyncClient, TaskHandle
from stepward.sync import SyncTaskHandle


def methods(kind: type) -> set[str]:
    return {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}


def parameters(kind: type, name: str) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(getattr(kind, name)).parameters.values()
    return [(each.name, each.kind, each.default) for each in found]


def test_each_method_has_a_twin() -> None:
    assert methods(SyncClient) == methods(Client)
    assert methods(SyncTaskHandle) == methods(TaskHandle)


@pytest.mark.parametrize("name", sorted(methods(Client)))
def test_a_twin_takes_the_same(name: str) -> None:
    assert parameters(SyncClient, name) == parameters(Client, name)
