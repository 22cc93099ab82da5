"""The plugin of pytest: a test asks for ``stepward_env`` and runs inside the application."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

CONFTEST = """
import pytest
from shop import app, charge

pytest_plugins = ["stepward.testing.pytest_plugin"]

@pytest.fixture
def stepward_app():
    return app

@pytest.fixture
def stepward_fakes():
    return {charge: lambda order: f"charge-{order}"}
"""
SHOP = """
import asyncio
from stepward import Agent, App, workflow

payments = Agent("payments")

@payments.operation
async def charge(order: str) -> str:
    raise AssertionError("the real service was called")

@workflow
async def fulfil(order: str) -> str:
    await asyncio.sleep(7 * 86_400)
    return await charge(order)

app = App("shop", workflows=[fulfil], agents=[payments])
"""
TESTS = """
import pytest
from shop import charge, fulfil

async def test_a_week_passes(stepward_env):
    task = await stepward_env.client.submit(fulfil, "A-1")
    assert await task.result() == "charge-A-1"
    assert len(stepward_env.calls(charge)) == 1

class TestInAClass:
    @pytest.mark.parametrize("stepward_seed", [1, 2])
    async def test_with_seeds(self, stepward_env, stepward_seed):
        task = await stepward_env.client.submit(fulfil, "A-2")
        await stepward_env.skip("8d")
        assert (await task.status()).state == "processed"

async def test_that_fails(stepward_env):
    assert stepward_env.calls(charge)

def test_that_is_no_coroutine(stepward_env):
    with pytest.raises(AttributeError, match="expected an `async def` test to use it, found 'client' asked for"):
        stepward_env.client
"""


async def run_pytest(folder: Path, *options: str) -> str:
    """What pytest prints about the files in ``folder``, in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options),
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return output.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("conftest.py", CONFTEST), ("shop.py", SHOP), ("test_shop.py", TESTS)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [("-p", "no:asyncio", "-p", "no:anyio"), ("-o", "asyncio_mode=auto")],
    ids=["no other plugin", "pytest-asyncio"],
)
async def test_tests_run_inside_the_application(folder: Path, options: tuple[str, ...]) -> None:
    found = await run_pytest(folder, *options)
    assert "1 failed, 4 passed" in found, found
    assert "FAILED test_shop.py::test_that_fails - assert []" in found, found


async def test_a_missing_application_is_reported(folder: Path) -> None:
    (folder / "conftest.py").write_text('pytest_plugins = ["stepward.testing.pytest_plugin"]')
    found = await run_pytest(folder, "-p", "no:asyncio", "-k", "week")
    assert "stepward_app: expected a fixture of yours that returns the App, found none" in found, found
