"""The OpenAPI document against the application: what it allows, what it forbids, and what comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.python.asgi import shutdown_lifespans
from schemathesis.specs.openapi import checks

from stepward import App

from .conftest import approval, greet, order
from .test_access_matrix import ENDLESS

HOST = {"Host": "127.0.0.1"}
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]


@pytest.mark.parametrize("examples", [2, pytest.param(25, marks=[pytest.mark.faults, pytest.mark.timeout(900)])])
def test_what_the_document_says_holds_for_whatever_is_sent(tmp_path: Path, examples: int) -> None:
    app = App("shop", workflows=[greet, order, approval], store=f"sqlite:///{tmp_path}/shop.db")
    asyncio.run(_submit_some(app))
    asgi: Any = app.asgi(local_admin=True)
    document = schemathesis.openapi.from_asgi("/api/v1/openapi.json", asgi, headers=HOST)
    operations = [each.ok() for each in document.get_all_operations() if isinstance(each, Ok)]
    assert len(operations) > 25
    try:
        for operation in operations:
            if operation.path not in ENDLESS:
                _sent(operation, examples)
    finally:
        # It leaves the application started, with streams that are not closed.
        shutdown_lifespans()


def _sent(operation: Any, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        case.call_and_validate(headers=HOST, checks=CHECKS)

    send()


async def _submit_some(app: App) -> None:
    async with app.client() as client:
        for number in range(3):
            await client.submit(greet, "Ada", id=f"{number}")
