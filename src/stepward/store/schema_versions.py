"""Versions of a store's schema: its numbered migrations, and who may open a store of which version."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from stepward.errors import StoreUnusable
from stepward.store.store_errors import OtherApplication

MIGRATION = re.compile(r"(\d{4})_\w+\.sql")


@cache
def read_migrations(engine: str) -> list[tuple[int, str]]:
    """The numbered migrations of an engine, by its folder below ``migrations``, in order; read once."""
    folder = files("stepward.store") / "migrations" / engine
    found = ((MIGRATION.fullmatch(file.name), file) for file in folder.iterdir())
    return sorted((int(match[1]), file.read_text(encoding="utf-8")) for match, file in found if match)


def check_app(found: object, app: str, place: str, other: str) -> None:
    """Raises StoreUnusable for the store of another application; ``other`` is what to name instead."""
    if found != app:
        raise OtherApplication(
            f"store {place}: expected the app {app!r}, found the store of {found!r}; name another {other}"
        )


def check_version(found: object, newest: int, place: str) -> int:
    """The schema version that a store says it has. Raises StoreUnusable for that of a newer program."""
    text = str(found)
    if not text.isdecimal() or int(text) > newest:
        raise StoreUnusable(
            f"store {place}: expected schema version {newest} or older, found {found}; upgrade this program"
        )
    return int(text)
