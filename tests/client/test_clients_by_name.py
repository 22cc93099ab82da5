"""Clients without the application's code check arguments against the schema that a Scheduler registered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stepward import App, Client, workflow
from stepward.client.submitting import registered_schemas
from stepward.errors import InvalidArguments


@workflow
async def greet(name: str, times: int = 1) -> str:
    return name * times


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    store = f"sqlite:///{tmp_path}/shop.db"
    async with App("shop", workflows=[greet], store=store).running():
        pass
    async with Client(store, app="shop") as client:
        yield client


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((5,), "5 is not of type 'string' at [0]"),
        (("Ada", 1.0), "1.0 is not of type 'integer' at [1]"),
        ((), "[] should be non-empty"),
    ],
)
async def test_arguments_that_the_schema_forbids_are_refused(
    client: Client, arguments: tuple[Any, ...], found: str
) -> None:
    with pytest.raises(InvalidArguments) as raised:
        await client.submit("greet", *arguments)
    assert str(raised.value) == f"arguments of greet: expected what its registered schema allows, found {found}"


async def test_a_schema_is_checked_once_for_all_submissions(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    monkeypatch.setattr(registered_schemas._Validator, "check_schema", checked.append)
    registered_schemas._read.cache_clear()
    for name in ("Ada", "Grace", "Joan"):
        await client.submit("greet", name)
    assert len(checked) == 1
