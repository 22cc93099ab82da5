"""Which versions of what were measured."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version

import apsw

from servers.postgres import newest


def versions(store: str) -> dict[str, str]:
    """By the name of each."""
    found = {"stepward": version("stepward"), "Python": platform.python_version()}
    if store == "sqlite":
        return found | {"apsw": version("apsw"), "SQLite": apsw.sqlite_lib_version()}
    server = _said(str(newest() / "postgres"), "--version").split()[-1]
    return found | {"asyncpg": version("asyncpg"), "PostgreSQL": server}


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
