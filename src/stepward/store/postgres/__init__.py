"""The state store on PostgreSQL, in a schema of the application's own, shared by any number of processes."""

from stepward.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
