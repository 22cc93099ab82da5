"""The code of docs/coming-from.md: every workflow on the page runs as the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stepward.testing import environment

PAGE = Path(__file__).parents[2] / "docs/coming-from.md"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the page's blocks define, one after the other."""
    module = ModuleType("coming_from")
    # Annotations are resolved through the module.
    monkeypatch.setitem(sys.modules, "coming_from", module)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    exec(compile("\n".join(blocks), "coming_from.py", "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


async def test_the_workflows_of_the_page_run(page: dict[str, Any]) -> None:
    async with environment(page["app"]) as env:
        invoices = await env.client.submit("invoice", "A-1", 2)
        assert await invoices.result() == ["invoice of A-1/0", "invoice of A-1/1"]
        assert await (await env.client.submit("bookkeeping", "A-1", 119)).result() == 100


async def test_an_order_that_is_never_delivered_is_refunded(page: dict[str, Any]) -> None:
    async with environment(page["app"]) as env:
        order = await env.client.submit("order_paid", "A-1", 4200)
        await env.skip("22d")
        assert (await order.status()).state == "undone"
        assert await env.undone(order) == ["payments.charge"]
