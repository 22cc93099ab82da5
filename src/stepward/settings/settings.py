"""Settings: one frozen object, read from arguments, the environment and files, and validated whole.

Each field has its reader (``readers.py``, ``thresholds.py``). The first of these sources that names a setting decides:
arguments, ``STEPWARD_*`` variables, ``stepward.toml``, ``[tool.stepward]`` in ``pyproject.toml``, default.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from stepward.encryption import Encryption, read_encryption, shown_encryption
from stepward.errors import SettingsError
from stepward.large_payloads.address import OVER_BYTES, LargePayloads, read_address, shown_address
from stepward.settings import readers, thresholds
from stepward.settings.display import (
    show_count,
    show_duration,
    show_hosts,
    show_rules,
    show_secret,
    show_store,
    show_traceback,
    show_transport,
    show_url,
)
from stepward.settings.hook_settings import HookSettings, read_hooks, show_hooks
from stepward.settings.readers import DAY, GIB, HOUR, KIB, MIB, MINUTE, Reader, RetentionRule
from stepward.settings.settings_files import table_of
from stepward.settings.sink_settings import SinkSettings, read_sinks, resolved_tables, show_sinks
from stepward.settings.store_list import read_stores
from stepward.settings.webhook_settings import WebhookSettings, read_webhooks, show_webhooks

PREFIX = "STEPWARD_"
NOT_SETTINGS = frozenset({"STEPWARD_DEBUG", "STEPWARD_FAILPOINT", "STEPWARD_OPENID_SECRET", "STEPWARD_TOKEN"})
"""Variables with that prefix that are not settings."""
# Kubernetes sets such variables in every container for a service named "stepward".
OF_KUBERNETES = re.compile(r"STEPWARD_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_[A-Z]+(_\w+)?)?)")
SECRETS = frozenset({"webhook_secret", "encryption"})
"""Settings that may name a file or a variable in place of the secret."""
TABLES = {"alert_sinks": "sinks", "hooks": "hooks", "webhooks": "webhooks"}  # by name; their URLs and secrets may too


class Described(NamedTuple):
    """A setting as ``stepward check`` shows it, secrets redacted."""

    name: str
    value: str
    source: str


def _setting(default: object, read: Reader, *, show: Callable[[Any], str] | None = None) -> Any:
    return field(default=default, metadata={"read": read, "show": show or str})


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """Every setting of a process; durations are kept in seconds, sizes in bytes. Raises SettingsError."""

    store: str = _setting("sqlite:///stepward.db", readers.store, show=show_store)
    """The address of the state store: ``sqlite:///FILE.db`` or ``postgresql://…``; of several stores the first."""
    transport: str = _setting("local", readers.transport, show=show_transport)
    """``local`` (queues in this process), ``store`` (queues in the state store), or the URL of a broker:
    ``nats://HOST``, ``amqp://HOST``, ``amqp10://HOST``; ``?prefix=NAME`` goes before every name there."""
    lease: float = _setting(10.0, readers.duration(1, 10 * MINUTE), show=show_duration)
    """How long an instance lives without renewing its lease; it renews each third."""
    supervisor_every: float = _setting(1.0, readers.duration(0.01, HOUR), show=show_duration)
    """Pause between two passes of the Supervisor."""
    poll: float = _setting(1.0, readers.duration(0.01, HOUR), show=show_duration)
    """Longest time for which an actor does not read the store when nothing wakes it."""
    payload_bytes: int = _setting(MIB, readers.size(KIB, 64 * MIB), show=thresholds.show_size)
    """Most bytes of arguments, a result or a signal."""
    traceback_bytes: int = _setting(4 * KIB, readers.size(0, 64 * KIB), show=show_traceback)
    """Bytes kept of the traceback of a failed attempt; 0 keeps none."""
    history_steps: int = _setting(50_000, readers.count(1, 10_000_000), show=show_count)
    """Most steps of one run; a longer workflow begins another by ``continue_as_new``."""
    history_bytes: int = _setting(64 * MIB, readers.size(KIB, 16 * GIB), show=thresholds.show_size)
    """Most bytes of payloads of one run."""
    child_depth: int = _setting(100, readers.count(1, 10_000), show=show_count)
    """Most levels of child tasks."""
    commit_rows: int = _setting(5_000, readers.count(1, 1_000_000), show=show_count)
    tasks_in_flight: int = _setting(1_000, readers.count(1, 1_000_000), show=show_count)
    """Most tasks that a Scheduler holds and advances at once."""
    tasks_in_memory: int = _setting(100_000, readers.count(1, 10_000_000), show=show_count)
    """Most waiting tasks that a Scheduler keeps in memory."""
    evict_after: float | None = _setting(60.0, readers.duration(0, 365 * DAY, never=True), show=show_duration)
    """How long a waiting task stays in memory; ``never``: until memory is needed."""
    retention: float | None = _setting(30 * DAY, readers.duration(1, 3650 * DAY, never=True), show=show_duration)
    """How long ended tasks are kept; tasks in error are kept for ever."""
    retention_rules: tuple[RetentionRule, ...] | None = _setting(None, readers.retention_rules, show=show_rules)
    """How long tasks of some workflows or states are kept instead: ``fulfil=7d,fulfil/cancelled=1d,*/undone=90d``."""
    archive: str | None = _setting(None, readers.folder, show=lambda folder: folder or "none")
    """The folder into which ended tasks are written before they are deleted."""
    recovery_limit: int = _setting(5, readers.count(1, 10_000), show=show_count)
    """Takeovers of a task without any outcome in between, after which an alert is raised."""
    hang_limit: float | None = _setting(30.0, readers.duration(1, HOUR, never=True), show=show_duration)
    """How long code may block the event loop before the process ends itself; at least a lease.

    ``never`` switches that off, for debugging; code that blocks for a lease still counts against its task.
    """
    drain: float = _setting(10.0, readers.duration(0, HOUR), show=show_duration)
    """Grace period for running work when the process is asked to end."""
    two_person: bool = _setting(False, readers.flag)
    """Whether the API and the console have undo, cancel and mark-done of a task confirmed by a second person."""
    replay_check: bool = _setting(False, readers.flag)
    """Whether each finished task is replayed at once, to find workflows that are not deterministic."""
    synchronous_standbys: int = _setting(0, readers.count(0, 100), show=show_count)
    """How many standbys of a PostgreSQL server must confirm each commit; with fewer an alert is raised."""
    webhook_url: str | None = _setting(None, readers.webhook_url, show=show_url)
    """Where alerts are posted."""
    webhook_secret: str | None = _setting(None, readers.secret, show=show_secret)
    """The secret that signs them, as ``env:NAME``, ``file:PATH`` or itself."""
    webhook_private_hosts: tuple[str, ...] | None = _setting(None, readers.hosts, show=show_hosts)
    """Hosts that ``webhook_url`` may name although their addresses are private."""
    alert_sinks: tuple[SinkSettings, ...] | None = _setting(None, read_sinks, show=show_sinks)
    """More sinks of alerts, as a table by their names: ``{"ops": {"type": "webhook", "url": …, "secret": …}}``."""
    hooks: tuple[HookSettings, ...] | None = _setting(None, read_hooks, show=show_hooks)
    """Where signed webhooks come in, by their names: ``{"orders": {"queue": "orders", "secret": …}}``."""
    webhooks: tuple[WebhookSettings, ...] | None = _setting(None, read_webhooks, show=show_webhooks)
    """Where ``App.webhook`` posts status events, by their names: ``{"crm": {"url": …, "secret": …}}``."""
    warn_task_at: float | None = _setting(0.8, thresholds.share, show=thresholds.show_share)
    """The share of the time until its deadline from which a task raises a warning."""
    warn_lease_at: float | None = _setting(0.8, thresholds.share, show=thresholds.show_share)
    """The share of a lease after which an instance that has not renewed it raises a warning."""
    warn_queue_age: float | None = _setting(5 * MINUTE, readers.duration(10, 30 * DAY, never=True), show=show_duration)
    """How old the first message of a queue, or the first task that waits for a Scheduler, may be."""
    warn_schedule_late: float | None = _setting(MINUTE, readers.duration(1, 30 * DAY, never=True), show=show_duration)
    """How long after its nominal time a schedule may start a task."""
    warn_disk_free: float | None = _setting(0.05, thresholds.share, show=thresholds.show_share)
    """The share of the disk of a SQLite store, or of the archive, that is to be free."""
    warn_standby_behind: int | None = _setting(
        64 * MIB, thresholds.optional_size(KIB, 1024 * GIB), show=thresholds.show_optional_size
    )
    """Bytes of WAL that a standby of PostgreSQL may not have flushed."""
    console_url: str | None = _setting(None, readers.page_url, show=lambda url: url or "none")
    """The address at which browsers reach the console, for the links of alerts."""
    large_payloads: str | None = _setting(None, read_address, show=shown_address)
    """Where payloads of more than ``large_payload_bytes`` are kept, with references in the store and the queues:
    ``file:///FOLDER``, ``s3://BUCKET/PREFIX`` or ``az://ACCOUNT/CONTAINER/PREFIX``; without it all are in the store."""
    large_payload_bytes: int = _setting(OVER_BYTES, readers.size(KIB, 64 * MIB), show=thresholds.show_size)
    """Payloads up to this size stay in the store and the queues."""
    large_payload_orphans: float = _setting(DAY, readers.duration(HOUR, 365 * DAY), show=show_duration)
    """Age from which objects that belong to no task are deleted."""
    encryption: Encryption | None = _setting(None, read_encryption, show=shown_encryption)  # noqa: RUF009  a field's
    """The keys that encrypt payloads: an ``Encryption``, or text of the form ``ID:KEY ID:KEY``, ``file:PATH``,
    ``env:NAME``; without keys payloads are stored and sent as they are."""
    log_level: str = _setting("INFO", readers.log_level)
    """Of ``stepward run`` and the other commands with actors."""
    log_format: str = _setting("text", readers.one_of("text", "json"))
    """``text``, or ``json``: an object a line, with the same fields."""
    metrics: str | None = _setting(None, readers.listen_address, show=lambda address: address or "none")
    """Where a process with actors serves ``/metrics``, ``/livez`` and ``/readyz``: a port of 127.0.0.1, or
    ``HOST:PORT``."""
    traces: str | None = _setting(None, readers.collector_url, show=lambda url: url or "none")
    """The collector to which a process with actors exports spans over OTLP/HTTP: ``http://HOST:4318``."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The source of each setting that is not the default."""
    stores: tuple[str, ...] = ()
    """The addresses of all stores, in order: several are the partitions of the application."""

    def __post_init__(self) -> None:
        if not self.stores:
            object.__setattr__(self, "stores", read_stores(self.store, self._named("store")))
            object.__setattr__(self, "store", self.stores[0])
        for name in names():
            value = _read(name, getattr(self, name), self._named(name))
            object.__setattr__(self, name, value)
        self._check_together()

    @classmethod
    def load(cls, overrides: Mapping[str, object], environ: Mapping[str, str], folder: Path) -> Settings:
        """The settings of a process that was given ``overrides`` and started in ``folder``."""
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for name, value, source in _given(overrides, environ, folder):
            _refuse_unknown(name, source)
            if name not in values:
                sources[name] = source
                values[name] = _resolve(value, name, source, environ, folder)
        return cls(**values, sources=sources)

    @property
    def outside(self) -> LargePayloads | None:
        """Where large payloads are kept; None where all stay in the store."""
        if self.large_payloads is None:
            return None
        return LargePayloads(self.large_payloads, over_bytes=self.large_payload_bytes)

    @property
    def stores_text(self) -> str:
        """The addresses of all stores in one text, as the setting takes it."""
        return " ".join(self.stores)

    def replaced(self, overrides: Mapping[str, object]) -> Settings:
        """These settings with some replaced, checked like the others."""
        for name in overrides:
            _refuse_unknown(name, "argument")
        kept = {name: getattr(self, name) for name in names()} | {"store": self.stores}
        sources = {**self.sources, **dict.fromkeys(overrides, "argument")}
        return Settings(**(kept | dict(overrides)), sources=sources)

    def source_of(self, name: str) -> str:
        """The source of the setting; ``default`` unless one names it."""
        return self.sources.get(name, "default")

    def describe(self) -> list[Described]:
        """Each setting with its source, secrets redacted."""
        shown = {f.name: f.metadata["show"](getattr(self, f.name)) for f in _fields()}
        shown["store"] = ", ".join(map(show_store, self.stores))
        return [Described(name, value, self.source_of(name)) for name, value in shown.items()]

    def shown(self, name: str) -> str:
        """The value of one setting as messages may show it."""
        return next(each.value for each in self.describe() if each.name == name)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value}' for name, value, _ in self.describe())})"

    def _named(self, name: str) -> str:
        """The setting with its source, for messages."""
        source = self.source_of(name)
        return name if source == "default" else f"{name} ({source})"

    def _check_together(self) -> None:
        if self.webhook_url is not None and self.webhook_secret is None:
            raise SettingsError(
                "webhook_secret: expected one beside webhook_url, found none; give the secret to sign with"
            )
        if self.webhook_url is not None and any(each.name == "webhook" for each in self.alert_sinks or ()):
            raise SettingsError(
                "alert_sinks: expected another name than webhook beside webhook_url, found it twice; rename the sink"
            )
        if self.payload_bytes > self.history_bytes:
            raise SettingsError(
                f"history_bytes: expected at least payload_bytes ({self.payload_bytes:,}), "
                f"found {self.history_bytes:,}; raise it or lower payload_bytes"
            )


def names() -> list[str]:
    """The names of all settings."""
    return [f.name for f in _fields()]


def _fields() -> list[Any]:
    return [f for f in fields(Settings) if f.metadata]


def _read(name: str, value: object, what: str) -> object:
    read: Reader = next(f.metadata["read"] for f in _fields() if f.name == name)
    return read(value, what)


def _given(
    overrides: Mapping[str, object], environ: Mapping[str, str], folder: Path
) -> Iterator[tuple[str, object, str]]:
    """What each source gives, the strongest source first."""
    for name, value in overrides.items():
        yield name, value, "argument"
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS and not OF_KUBERNETES.fullmatch(variable):
            yield variable.removeprefix(PREFIX).lower(), text, variable
    for name, value in table_of(folder / "stepward.toml").items():
        yield name, value, "stepward.toml"
    table = table_of(folder / "pyproject.toml").get("tool", {}).get("stepward", {})
    if not isinstance(table, dict):
        raise SettingsError("pyproject.toml: expected the table [tool.stepward], found a value; write a table")
    for name, value in table.items():
        yield name, value, "pyproject.toml"


def _refuse_unknown(name: str, source: str) -> None:
    if name not in names():
        nearest = difflib.get_close_matches(name, names(), n=1, cutoff=0.0)
        raise SettingsError(f"{source}: expected a known setting, found {name!r:.100}; did you mean {nearest[0]!r}?")


def _resolve(value: object, name: str, source: str, environ: Mapping[str, str], folder: Path) -> object:
    """The secret itself if ``file:PATH`` or ``env:NAME`` refers to it."""
    if name in TABLES:
        what, kind = f"{name} ({source})", TABLES[name]
        return resolved_tables(value, what, kind, lambda text: _referred(text, name, source, environ, folder))
    return _referred(value, name, source, environ, folder) if name in SECRETS else value


def _referred(value: Any, name: str, source: str, environ: Mapping[str, str], folder: Path) -> Any:
    if not isinstance(value, str):
        return value
    kind, _, reference = value.partition(":")
    if kind == "env":
        if reference not in environ:
            raise SettingsError(f"{name} ({source}): expected the variable {reference}, found none; set it")
        return environ[reference]
    if kind != "file":
        return value
    return readers.secret_file(folder / reference, f"{name} ({source})", private=name == "encryption")
