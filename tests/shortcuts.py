"""What thousands of starts in tests leave out: the migrations of a new SQLite file, and the project's own settings."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from stepward.clock import Environment
from stepward.settings import settings
from stepward.settings.settings_files import table_of
from stepward.store.sqlite import store_file
from stepward.store.sqlite.engine.connection import is_memory
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.schema import migration
from stepward.store.sqlite.store import SqliteStore

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
BY_MIGRATIONS = "by_migrations"
"""The mark of tests of what makes a new store: theirs are made as users' are."""

_migrated: dict[str, bytes] = {}
"""The file of a new store, by its application."""
_is_copying = True


def copy_new_stores() -> None:
    """From now on let a store that this process opens in a new file begin as a copy, at a tenth of the costs."""
    open_store = SqliteStore.open

    async def opened(store: SqliteStore) -> None:
        path = Path(store._database.path)
        if _is_copying and not is_memory(str(path)) and not path.exists():
            content = _migrated.get(store._app) or await _migrate(store._app)
            # Without a right to write there, the store itself says so.
            with contextlib.suppress(OSError), open(path, "xb", opener=_owners) as file:
                file.write(content)
        await open_store(store)

    patch.object(SqliteStore, "open", opened).start()


def skip_own_settings() -> None:
    """From now on leave out the pyproject.toml of this project, in whose folder tests run: none of it is Stepward's."""
    read = table_of

    def table(path: Path) -> dict[str, Any]:
        return {} if path == PROJECT else read(path)

    patch.object(settings, "table_of", table).start()


def copy_for(*, by_migrations: bool) -> None:
    """Whether the test that begins has its stores copied."""
    global _is_copying  # noqa: PLW0603  tests run one after the other
    _is_copying = not by_migrations


async def _migrate(app: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"{folder}/new.db", Environment(), 5.0, "off")
        store_file.prepare_file(database.path)
        await database.open()
        while await database.write(migration.migrate, app, database.path):
            pass
        database.close()
        _migrated[app] = Path(database.path).read_bytes()
    return _migrated[app]


def _owners(path: str, flags: int) -> int:
    return os.open(path, flags, store_file.FILE_MODE)
