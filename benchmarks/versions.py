"""Which versions of what were measured."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version

import apsw

from benchmarks.peers import DBOS
from servers.postgres import newest

ASK = "import importlib.metadata as m; print(m.version('dbos'))"


def versions(store: str, *, is_compared: bool) -> dict[str, str]:
    """By the name of each."""
    found = {"stepward": version("stepward"), "Python": platform.python_version()}
    if store == "sqlite":
        return found | {"apsw": version("apsw"), "SQLite": apsw.sqlite_lib_version()}
    server = _said(str(newest() / "postgres"), "--version").split()[-1]
    return (
        found
        | {"asyncpg": version("asyncpg"), "PostgreSQL": server}
        | ({"DBOS": _said(DBOS[0], "-c", ASK)} if is_compared else {})
    )


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
