"""PostgreSQL servers, alone or as a primary with a streaming standby."""

from servers.postgres.pair import Pair, paired
from servers.postgres.programs import newest, versions
from servers.postgres.server import UNSYNCED, Server, running

__all__ = ["UNSYNCED", "Pair", "Server", "newest", "paired", "running", "versions"]
