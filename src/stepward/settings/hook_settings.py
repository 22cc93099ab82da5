"""The hooks that settings declare: where signed webhooks of others come in, and the queue that each is posted to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from stepward.durations import shown
from stepward.errors import SettingsError
from stepward.settings import readers
from stepward.settings.sink_settings import named_tables

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,100}")
MOST_HOOKS = 50
KEYS = ("queue", "secret")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class HookSettings:
    """One hook: its name in the address, the submission queue, and the secret that its sender signs with."""

    name: str
    queue: str
    secret: str

    def __repr__(self) -> str:
        return f"{self.name} (to {self.queue})"


def read_hooks(value: object, what: str) -> tuple[HookSettings, ...] | None:
    """The hooks of a table ``{name: {"queue": …, "secret": …}}``, or of its JSON. Raises SettingsError."""
    if value is None:
        return None
    if isinstance(value, tuple) and all(isinstance(each, HookSettings) for each in value):
        return value
    table = named_tables(value, what, "hooks")
    if len(table) > MOST_HOOKS:
        raise SettingsError(f"{what}: expected at most {MOST_HOOKS} hooks, found {len(table)}; remove some")
    return tuple(_hook(name, given, f"{what}: hook {shown(name)}") for name, given in table.items())


def show_hooks(hooks: tuple[HookSettings, ...] | None) -> str:
    """The hooks without their secrets."""
    return "; ".join(map(repr, hooks or ())) or "none"


def _hook(name: str, given: object, what: str) -> HookSettings:
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"{what}: expected a name of 1 to 40 of a-z 0-9 _ - that begins with a letter, found another; rename it"
        )
    if not isinstance(given, Mapping) or set(given) != set(KEYS):
        raise SettingsError(f"{what}: expected {' and '.join(KEYS)}, found other keys; give these")
    queue, secret = given["queue"], readers.secret(given["secret"], f"{what}: secret")
    if not isinstance(queue, str) or not QUEUE.fullmatch(queue):
        raise SettingsError(f"{what}: queue: expected the name of a submission queue, found {shown(queue)}; change it")
    if secret is None:
        raise SettingsError(f"{what}: secret: expected the secret that the sender signs with, found none; give it")
    return HookSettings(name=name, queue=queue, secret=secret)
