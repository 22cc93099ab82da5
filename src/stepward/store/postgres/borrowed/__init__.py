"""Submission through an application's own open transaction, on its own connection."""

from stepward.store.postgres.borrowed.borrowed import PostgresBorrowed
from stepward.store.postgres.borrowed.home import Home

__all__ = ["Home", "PostgresBorrowed"]
