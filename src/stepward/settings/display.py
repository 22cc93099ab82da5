"""The display of settings to operators: without secrets."""

from __future__ import annotations

from urllib.parse import urlsplit

from stepward import durations
from stepward.settings import readers, thresholds
from stepward.settings.readers import RetentionRule


def show_store(url: str) -> str:
    """The address without a password."""
    # Passwords stand before the host or among the parameters.
    return url if url.startswith("sqlite:") else readers.without_login(url)


def show_transport(transport: str) -> str:
    """The address without a login."""
    # A login stands before the hosts; the options are no secrets.
    scheme, separator, rest = transport.partition("://")
    shown = f"{scheme}{separator}{rest.rpartition('@')[2]}"
    return readers.without_login(transport) if "@" in urlsplit(transport).query else shown


def show_url(url: str | None) -> str:
    """The scheme and the host of an address: the path may be a secret."""
    # A token in the path often identifies the receiver, so the path is a secret too.
    return "none" if url is None else f"{urlsplit(url).scheme}://{urlsplit(url).hostname}/…"


def show_rules(rules: tuple[RetentionRule, ...] | None) -> str:
    """The rules as they are written."""
    return ", ".join(map(str, rules or ())) or "none"


def show_hosts(hosts: tuple[str, ...] | None) -> str:
    """The hosts with commas between."""
    return ", ".join(hosts or ()) or "none"


def show_traceback(size: int) -> str:
    """The size, or none."""
    return thresholds.show_size(size) if size else "none"


def show_count(count: int) -> str:
    """The number with separators."""
    return f"{count:,}"


def show_secret(secret: str | None) -> str:
    """Whether there is one."""
    return "none" if secret is None else "(redacted)"


def show_duration(amount: float | None) -> str:
    """The duration, or never."""
    return "never" if amount is None else durations.text(amount)
