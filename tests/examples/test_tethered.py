"""Services and workers that end with the process that started them, even when it was killed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.tiers import nightly

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["examples.shop.services", "mail", "--ledger", "{folder}/mail.db"],
        nightly(["examples.shop.bookkeeper"]),
        nightly(["examples.shop.worker", "submission"]),
        ["examples.shop.worker", "scheduler"],
        nightly(["examples.shop.worker", "agents", "--only", "mail"]),
        nightly(["examples.shop.worker", "supervisor"]),
    ],
    ids=lambda arguments: "-".join(arguments[:2]).replace("examples.shop.", ""),
)
async def test_ends_when_its_standard_input_is_closed(tmp_path: Path, arguments: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *[argument.format(folder=tmp_path) for argument in arguments],
        "--tethered",
        cwd=ROOT,
        env={**os.environ, "STEPWARD_STORE": f"sqlite:///{tmp_path / 'orders.db'}"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    assert await process.stdout.readline(), (await process.stderr.read()).decode()
    process.stdin.write(b"whatever\n")
    await process.stdin.drain()
    process.stdin.close()
    assert (await process.stderr.read()).decode() == ""
    assert await process.wait() == 0
