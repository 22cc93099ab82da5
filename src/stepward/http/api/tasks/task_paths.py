"""Task ids in paths: the ``/`` within the id of a child task is written ``~``, which no id has."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from litestar.params import PathParameter

API = "/api/v1"
PathId = Annotated[str, PathParameter(description="The task's id; a child's `/` is written `~`.", max_length=2000)]


def task_id_of(part: str) -> str:
    """The task id that a part of a path stands for."""
    return part.replace("~", "/")


def task_path(id: str) -> str:
    """The path of a task, below the path at which the application is mounted."""
    return f"{API}/tasks/{quote(id.replace('/', '~'), safe='~@:')}"
