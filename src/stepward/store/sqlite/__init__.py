"""The state store on one SQLite file, shared by any number of processes of a host."""

from stepward.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
