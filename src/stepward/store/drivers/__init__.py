"""The connections of applications: which kinds there are, and how each is asked.

What is said on them is a dialogue, written once for all drivers; nothing here imports a driver that the
application has not imported itself.
"""

from stepward.store.drivers.connection_kinds import name_of, recognised
from stepward.store.drivers.dialogue import (
    Ask,
    Awaited,
    Blocking,
    Dialogue,
    ExternalConnection,
    ExternalRows,
    converse,
    converse_blocking,
)
from stepward.store.drivers.errors import said, state_of
from stepward.store.drivers.savepoint import within_savepoint

__all__ = [
    "Ask",
    "Awaited",
    "Blocking",
    "Dialogue",
    "ExternalConnection",
    "ExternalRows",
    "converse",
    "converse_blocking",
    "name_of",
    "recognised",
    "said",
    "state_of",
    "within_savepoint",
]
