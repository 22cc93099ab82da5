"""The receivers of webhooks that settings declare: where an application's status events are posted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from stepward.durations import shown
from stepward.errors import SettingsError
from stepward.settings import readers
from stepward.settings.sink_settings import NAME, named_tables

MOST_WEBHOOKS = 50
NEEDED, OPTIONAL = ("url", "secret"), ("previous_secret", "private_hosts")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class WebhookSettings:
    """One receiver: the webhook's name, the URL, and the secret that signs; beside it the one before, while receivers
    change."""

    name: str
    url: str
    secret: str
    previous_secret: str | None = None
    private_hosts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name} ({urlsplit(self.url).scheme}://{urlsplit(self.url).hostname}/…)"


def read_webhooks(value: object, what: str) -> tuple[WebhookSettings, ...] | None:
    """The receivers of a table ``{name: {"url": …, "secret": …}}``, or of its JSON. Raises SettingsError."""
    if value is None:
        return None
    if isinstance(value, tuple) and all(isinstance(each, WebhookSettings) for each in value):
        return value
    table = named_tables(value, what, "webhooks")
    if len(table) > MOST_WEBHOOKS:
        raise SettingsError(f"{what}: expected at most {MOST_WEBHOOKS} webhooks, found {len(table)}; remove some")
    return tuple(_webhook(name, given, f"{what}: webhook {shown(name)}") for name, given in table.items())


def show_webhooks(webhooks: tuple[WebhookSettings, ...] | None) -> str:
    """The receivers without their secrets."""
    return "; ".join(map(repr, webhooks or ())) or "none"


def _webhook(name: str, given: object, what: str) -> WebhookSettings:
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"{what}: expected a name of 1 to 40 of a-z 0-9 _ - that begins with a letter, found another; rename it"
        )
    if not isinstance(given, Mapping):
        raise SettingsError(f"{what}: expected a table with url and secret, found something else; write a table")
    for key in given:
        if key not in (*NEEDED, *OPTIONAL):
            raise SettingsError(f"{what}: expected {', '.join((*NEEDED, *OPTIONAL))}, found {shown(key)}; remove it")
    url = readers.webhook_url(given.get("url"), f"{what}: url")
    secret = readers.secret(given.get("secret"), f"{what}: secret")
    if url is None or secret is None:
        raise SettingsError(
            f"{what}: expected url and secret, found {'no url' if url is None else 'no secret'}; give it"
        )
    return WebhookSettings(
        name=name,
        url=url,
        secret=secret,
        previous_secret=readers.secret(given.get("previous_secret"), f"{what}: previous_secret"),
        private_hosts=readers.hosts(given.get("private_hosts"), f"{what}: private_hosts") or (),
    )
