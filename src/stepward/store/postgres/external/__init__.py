"""Submission through an application's own open transaction, on its own connection."""

from stepward.store.postgres.external.caller_transaction import PostgresExternalTransaction
from stepward.store.postgres.external.origin import StoreOrigin

__all__ = ["PostgresExternalTransaction", "StoreOrigin"]
