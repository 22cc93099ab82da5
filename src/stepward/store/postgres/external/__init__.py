"""Submission through an application's own open transaction, on its own connection."""

from stepward.store.postgres.external.borrowed import PostgresBorrowed
from stepward.store.postgres.external.home import Home

__all__ = ["Home", "PostgresBorrowed"]
