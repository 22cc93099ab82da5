"""`python -m examples.orders`: what a learner runs first, in one process, with nothing else there."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from pathlib import Path

from examples.orders.services import ANSWER_LOST, DOWN, Services

ROOT = Path(__file__).parents[2]
ORDERS = ROOT / "examples" / "orders"
SECONDS = 60
MOST_FILES, MOST_LINES = 11, 150
CHARGE = {"order_id": "order-1", "amount_cents": 4200}
NOWHERE = {"order_id": "order-1", "address": ""}


async def run(folder: Path) -> list[list[str]]:
    """What the command prints in an empty folder, in paragraphs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "examples.orders"),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    return [paragraph.splitlines() for paragraph in out.decode().strip().split("\n\n")]


async def test_one_command_shows_the_ends_of_four_orders_and_leaves_nothing(tmp_path: Path) -> None:
    *orders, stand = await run(tmp_path)
    assert stand == ["3 charges and 3 parcels stand at the services."]
    assert [order[0].partition(":")[0] for order in orders] == ["order-1", "order-2", "order-3", "order-4"]
    assert [order[-2].strip() for order in orders] == [
        "payment was called 1 ×, and charged 1 ×",
        "payment was called 3 ×, and charged 1 ×",
        "payment was called 2 ×, and charged 1 ×",
        "payment was called 1 ×, and charged 1 ×",
    ]
    for order in orders[:3]:
        assert [line.split()[2] for line in order[1:-2]] == ["completed"] * 7
        assert order[-1].startswith("  → completed: tracking number tracking-")
    assert orders[3][2:6] == [
        "  ↩ stock.reserve/1          undone",
        "  ↩ stock.reserve/2          undone",
        "  ↩ payment.charge/1         undone",
        "  ✘ parcel.create/1          failed",
    ]
    assert orders[3][-1].endswith("found 400 no address")
    assert list(tmp_path.iterdir()) == []


def test_the_example_is_short_and_imports_nothing_of_the_shop_or_the_showcase() -> None:
    files = [path for path in ORDERS.iterdir() if path.is_file()]
    assert len(files) <= MOST_FILES
    for path in ORDERS.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= MOST_LINES, path
        found = {node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
        ours = {name for name in found if name.split(".")[0] in ("examples", "servers", "showcase", "torture")}
        assert {name for name in ours if not f"{name}.".startswith("examples.orders.")} == set(), path


def test_a_service_acts_once_under_a_key_and_repeats_its_answer() -> None:
    services = Services({("order-1", "charge"): [DOWN, ANSWER_LOST]})
    answers = [services.answer("charge", CHARGE, "key-1", None) for _ in range(4)]
    done = (200, {"charge_id": "charge_id-1"})
    assert answers == [(503, {"title": "down for a moment"}), None, done, done]
    assert (services.calls["order-1", "charge"], services.kept("charge")) == (4, 1)


def test_a_service_does_nothing_that_was_undone_before() -> None:
    services = Services({})
    assert services.answer("refund", CHARGE, "key-1~undo", "key-1") == (200, {"undo_id": "undo_id-1"})
    assert services.answer("charge", CHARGE, "key-1", None) == (410, {"title": "undone before it was done"})
    assert services.kept("charge") == 0


def test_the_parcel_service_refuses_an_order_without_an_address() -> None:
    services = Services({})
    assert services.answer("create", NOWHERE, "key-1", None) == (400, {"title": "no address"})
    assert services.kept("create") == 0
