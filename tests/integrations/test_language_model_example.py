"""The desk with a language model, as its page says: ``kill -9`` ends its process in the middle of a tool call."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 120


@pytest.mark.servers
@pytest.mark.parametrize("library", ["pydantic_ai", "openai_agents"])
async def test_a_killed_process_costs_no_finished_turn_and_no_second_refund(library: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "examples.language_model",
        library,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert out.decode().splitlines() == [
        "Done: refunded 4200 cents for A-1.",
        "tokens: {'input_tokens': 300, 'output_tokens': 30, 'requests': 3}",
        "turns billed: 3, of which different: 3",
        "refund asked 2 times under 1 key, paid 1 time",
    ]
