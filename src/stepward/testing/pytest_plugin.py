"""A plugin of pytest: fixtures that run an application inside a test.

``pytest_plugins = ["stepward.testing.pytest_plugin"]`` in the topmost conftest.py loads it. A test that asks for
``stepward_env`` is an ``async def``; the environment runs as long as the test does. It runs on the event loop of
pytest-asyncio or anyio where one of them runs the test, else on one of its own.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from stepward.app import App
from stepward.testing.app_environment import environment

FIXTURE = "stepward_env"
RUNNERS = ("asyncio", "anyio", "trio")
"""Markers of plugins that run coroutines themselves."""


@dataclass(frozen=True)
class AskedEnvironment:
    """Stands for the environment until the test begins: only inside the test's event loop can it run."""

    app: App
    fakes: Mapping[Any, Any]
    seed: int

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{FIXTURE}: expected an `async def` test to use it, found {name!r} asked for outside of one; "
            "use stepward.testing.environment in fixtures"
        )


@pytest.fixture
def stepward_app() -> App:
    """The application under test; override it in conftest.py."""
    raise pytest.UsageError(
        "stepward_app: expected a fixture of yours that returns the App, found none; "
        "write in conftest.py: @pytest.fixture def stepward_app(): return app"
    )


@pytest.fixture
def stepward_fakes() -> dict[Any, Any]:
    """The fakes of operations, undos and local steps; none unless overridden."""
    return {}


@pytest.fixture
def stepward_seed() -> int:
    """The seed of all that is drawn; 0 unless overridden or parametrized."""
    return 0


@pytest.fixture
def stepward_env(stepward_app: App, stepward_fakes: Mapping[Any, Any], stepward_seed: int) -> Any:
    """The running application, an AppEnvironment; see ``stepward.testing.environment``."""
    return AskedEnvironment(stepward_app, stepward_fakes, stepward_seed)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have each test that asks for the environment run inside it."""
    if isinstance(item, pytest.Function) and FIXTURE in item.fixturenames:
        test = item.obj
        if inspect.iscoroutinefunction(test) and FIXTURE in inspect.signature(test).parameters:
            item.obj = _inside(test)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Run the test where no other plugin runs coroutines."""
    test = pyfuncitem.obj
    is_ours = inspect.iscoroutinefunction(test) and getattr(test, "is_inside_environment", False)
    if not is_ours or any(map(pyfuncitem.get_closest_marker, RUNNERS)):
        return None
    arguments = inspect.signature(test).parameters
    asyncio.run(test(**{name: pyfuncitem.funcargs[name] for name in arguments if name in pyfuncitem.funcargs}))
    return True


def _inside(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Coroutine[Any, Any, None]]:
    @functools.wraps(test)
    async def run(*args: Any, **kwargs: Any) -> None:
        asked: AskedEnvironment = kwargs.pop(FIXTURE)
        async with environment(asked.app, fakes=asked.fakes, seed=asked.seed) as env:
            await test(*args, **kwargs, **{FIXTURE: env})

    run.is_inside_environment = True  # type: ignore[attr-defined]
    return run
