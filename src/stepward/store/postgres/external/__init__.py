"""Submission through an application's own open transaction, on its own connection."""

from stepward.store.postgres.external.origin import Home
from stepward.store.postgres.external.transaction import PostgresBorrowed

__all__ = ["Home", "PostgresBorrowed"]
