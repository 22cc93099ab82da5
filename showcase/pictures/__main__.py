"""`python -m showcase.pictures`: take the pictures of the console's pages in docs/images/console again."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from playwright.async_api import Page

from showcase.pictures.application import Outside, application
from showcase.pictures.camera import browser, photograph
from showcase.pictures.past import make_past
from showcase.pictures.story import WORST, play_past, play_present
from stepward import App

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "console"
PAGES = {
    "now": "/",
    "tasks": "/tasks",
    "task-error": f"/tasks/{WORST}",
    "task-children": "/tasks/outfit-12",
    "task-plan": "/tasks/order-2304",
    "task-many-steps": "/tasks/import-5",
    "batches": "/batches",
    "agents": "/agents",
    "alerts": "/alerts",
    "schedules": "/schedules",
    "dead-letters": "/dead-letters",
    "instances": "/instances",
    "audit": "/audit",
    "settings": "/settings",
}


def main() -> None:
    """Read the command line, and take the pictures."""
    parser = argparse.ArgumentParser(prog="python -m showcase.pictures", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pictures are written")
    parser.add_argument("--only", action="append", help=f"a page: {', '.join((*PAGES, 'batch', 'batch-preview'))}")
    given = parser.parse_args()
    asyncio.run(_take(given.folder, set(given.only or ())))


async def _take(folder: Path, only: set[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="stepward-pictures-") as work:
        path = Path(work) / "shop.db"
        store = f"sqlite:///{path}"
        await play_past(application(store))
        make_past(path)
        app = application(store)
        async with app.running(), app.client() as client, _served(app) as address, browser() as chromium:
            try:
                await play_present(client, store)
                page = await (await chromium.new_context()).new_page()
                for name, at in PAGES.items():
                    if not only or name in only:
                        await page.goto(address + at)
                        await _shot(page, folder, name)
                await _batch_pages(page, address, folder, only)
            finally:
                if Outside.held is not None:
                    Outside.held.set()


async def _batch_pages(page: Page, address: str, folder: Path, only: set[str]) -> None:
    """The page of one batch, and the preview of another, which is the answer to a form."""
    if not only or "batch" in only:
        await page.goto(f"{address}/batches")
        await page.locator("#batches tbody a").first.click()
        await _shot(page, folder, "batch")
    if not only or "batch-preview" in only:
        await page.set_viewport_size({"width": 1280, "height": 800})
        await page.goto(f"{address}/tasks?where=state = 'error'")
        await page.get_by_role("button", name="Resubmit all…").click()
        await page.locator("h1", has_text="Resubmit").wait_for()
        await _shot(page, folder, "batch-preview")


async def _shot(page: Page, folder: Path, name: str) -> None:
    for path in await photograph(page, folder, name):
        print(path)


@asynccontextmanager
async def _served(app: App) -> AsyncIterator[str]:
    application: Any = app.asgi(local_admin=True)
    config = uvicorn.Config(application, port=0, ws="none", log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


if __name__ == "__main__":
    main()
