"""The store that owns an application's name at a broker: another store is refused."""

from __future__ import annotations

from stepward.errors import SettingsError
from stepward.transport.broker.queue_names import BrokerNames


def check_claim(broker: str, names: BrokerNames, store: str, owner: str, marker: str) -> None:
    """Raise SettingsError unless ``store`` owns the application's name according to ``marker``."""
    if owner != store:
        found = f"the store {owner!r:.60}"
        raise SettingsError(
            f"transport: expected the application {names.app!r} of the store {store!r} at {broker}, found {found}; "
            "give one of the two a prefix (?prefix=NAME in its address), or delete the "
            f"{marker} if that store is gone"
        )
