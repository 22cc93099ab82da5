"""Submission through an application's own open transaction, on its own connection."""

from stepward.store.postgres.external.origin import StoreOrigin
from stepward.store.postgres.external.transaction import PostgresExternalTransaction

__all__ = ["PostgresExternalTransaction", "StoreOrigin"]
