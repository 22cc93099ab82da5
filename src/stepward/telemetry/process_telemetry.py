"""The telemetry of a process with actors, by its settings; nothing of the extra is imported without it."""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import Protocol
from urllib.parse import unquote

from stepward.errors import DeclarationError
from stepward.events import Observers
from stepward.settings import Settings

FOR_METRICS = ("prometheus_client", "uvicorn")
"""The packages of the extra that metrics need."""
FOR_TRACES = ("opentelemetry.proto",)
"""The packages of the extra that traces need."""
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""OpenTelemetry's variable with headers for the collector, for example credentials: ``name=value,name=value``."""
LOCAL = "local"


class ProcessHealth(Protocol):
    """What telemetry asks of a process at the moment of a request."""

    def unready(self) -> list[str]:
        """Why the process is not ready, a line for each reason; empty if it is."""
        ...

    def waits(self) -> Mapping[str, float]:
        """By Agent, the seconds for which the oldest step has waited for room in the Scheduler here."""
        ...


@asynccontextmanager
async def observed(app: str, settings: Settings, observers: Observers, health: ProcessHealth) -> AsyncIterator[None]:
    """Measure and trace the actors of this process until the block ends, where ``metrics`` or ``traces`` is set.

    Raises DeclarationError where the extra is not installed, SettingsError for an address that cannot be had.
    """
    async with AsyncExitStack() as stack:
        if settings.metrics is not None:
            await stack.enter_async_context(_measured(settings.metrics, observers, health))
        if settings.traces is not None:
            is_apart = settings.transport != LOCAL
            await stack.enter_async_context(_traced(app, settings.traces, observers, agents_apart=is_apart))
        yield


@asynccontextmanager
async def _measured(address: str, observers: Observers, health: ProcessHealth) -> AsyncIterator[None]:
    check_extra("metrics", FOR_METRICS)
    from stepward.telemetry.process_endpoints import serving  # noqa: PLC0415  an extra's
    from stepward.telemetry.process_metrics import ProcessMetrics  # noqa: PLC0415  an extra's

    metrics = ProcessMetrics(health.waits)
    async with serving(address, metrics, health.unready) as url:
        with observers.measured_by(metrics):
            observers.emit("metrics.served", url=url)
            yield


@asynccontextmanager
async def _traced(app: str, url: str, observers: Observers, *, agents_apart: bool) -> AsyncIterator[None]:
    check_extra("traces", FOR_TRACES)
    from stepward.telemetry.traces.export import SpanExport  # noqa: PLC0415  an extra's
    from stepward.telemetry.traces.task_traces import TaskTraces  # noqa: PLC0415  an extra's

    resource = {"service.name": app, "service.instance.id": f"{platform.node()}:{os.getpid()}"}
    export = SpanExport(
        url,
        resource=resource,
        version=version("stepward"),
        headers=headers_of(os.environ.get(HEADERS, "")),
        observers=observers,
    )
    async with export.running() as writer:
        with observers.measured_by(TaskTraces(writer, agents_apart=agents_apart)):
            yield


def headers_of(text: str) -> Mapping[str, str]:
    """The headers in OpenTelemetry's form; what has no name or no value is left out."""
    pairs = (part.partition("=") for part in text.split(","))
    found = {unquote(name).strip().lower(): unquote(value).strip() for name, _, value in pairs}
    return {name: value for name, value in found.items() if name and value}


def check_extra(what: str, packages: tuple[str, ...]) -> None:
    """Raises DeclarationError where one of the packages is not installed."""
    missing = [package for package in packages if not _is_installed(package)]
    if missing:
        raise DeclarationError(
            f"{what}: expected the package {missing[0]}, found none; run: pip install stepward[telemetry]"
        )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package that holds it
        return False
