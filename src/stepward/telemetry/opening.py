"""Starts the telemetry that a process has by its settings; packages of the extra are imported only then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec

from stepward.errors import DeclarationError
from stepward.events import Observers
from stepward.settings import Settings

NEEDED = ("prometheus_client", "uvicorn")
"""Packages of the extra that metrics need."""


@asynccontextmanager
async def observed(settings: Settings, observers: Observers, readiness: Callable[[], list[str]]) -> AsyncIterator[None]:
    """Measures the actors of this process and serves the metrics until the block ends, if ``metrics`` is set.

    Raises DeclarationError where the extra is not installed, SettingsError if the address is not available.
    """
    if settings.metrics is None:
        yield
        return
    check_extra("metrics", NEEDED)
    from stepward.telemetry.process_metrics import ProcessMetrics  # noqa: PLC0415  an extra's
    from stepward.telemetry.server import serving  # noqa: PLC0415  an extra's

    metrics = ProcessMetrics()
    async with serving(settings.metrics, metrics, readiness) as url:
        with observers.measured_by(metrics):
            observers.tell("metrics.served", url=url)
            yield


def check_extra(what: str, packages: tuple[str, ...]) -> None:
    """Raises DeclarationError where one of the packages is not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise DeclarationError(
            f"{what}: expected the package {missing[0]}, found none; run: pip install stepward[telemetry]"
        )
