"""The end of the demo: the pages of the console that it names exist in the store that it kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from showcase import aftermath
from stepward import Agent, App, Supervision, Unrecoverable, workflow
from stepward.model.alerts.console_links import task_href

bank = Agent("bank")


@bank.operation
async def reserve() -> None: ...


@reserve.undo
async def release(result: None) -> None: ...


@bank.operation
async def charge() -> None:
    raise Unrecoverable("no")


@workflow(supervision=Supervision(threshold=0, then="undo"))
async def order() -> None:
    await reserve()
    await charge()


async def test_pages_of_tasks_that_show_something_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App("shop", workflows=[order], agents=[bank], store=f"sqlite:///{tmp_path}/orders.db")
    async with app.running(), app.client() as client:
        task = await client.submit(order, id="order-1")
        with pytest.raises(Exception, match="no"):
            await task.result(timeout=30)
    monkeypatch.setattr(aftermath, "ROOT", tmp_path / "kept")
    assert aftermath.keep(tmp_path) == f"sqlite:///{aftermath.KEPT}"
    named = dict(aftermath.pages(tmp_path / "kept" / aftermath.KEPT))
    assert [url.removeprefix(aftermath.CONSOLE) for url in named] == ["/", task_href("order-1"), "/audit"]


def test_a_run_without_a_file_keeps_nothing(tmp_path: Path) -> None:
    assert aftermath.keep(tmp_path) is None
