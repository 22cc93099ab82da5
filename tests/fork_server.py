"""Starts Python programs by forking a process that has already imported what they need (tests/forks.py asks it to).

A program started so is a process with its own id, group, files, environment and end, and costs a tenth of the
processor time: importing Stepward and its libraries takes most of a start.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import runpy
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

LIBRARIES = (
    "stepward.cli.main",
    "asyncpg",
    "httpx",
    "jinja2",
    "starlette.applications",
    "uvicorn",
    "uvicorn.lifespan.on",
)
LENGTH = struct.Struct("!I")
STREAMS = 3


def main(server: socket.socket) -> None:
    """Serve requests until the socket is closed; in each process that begins, run what was asked for instead."""
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.collect()
    gc.freeze()
    while found := _received(server):
        request, files = found
        if _is_new_process(server):
            server.close()
            _run(request, files)
            return
        for file in files:
            os.close(file)


def _received(server: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    begin, files, _, _ = socket.recv_fds(server, LENGTH.size, STREAMS)
    if not begin:
        return None
    (length,), body = LENGTH.unpack(begin), b""
    while len(body) < length:
        body += server.recv(length - len(body))
    request: dict[str, Any] = json.loads(body)
    return request, files


def _is_new_process(server: socket.socket) -> bool:
    """Fork twice: the process whose parent has ended becomes a child of the one that asked, and waits for that."""
    ready, go = os.pipe()
    if (between := os.fork()) == 0:
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(ready, 1)
            os.close(ready)
            return True
        server.sendall(LENGTH.pack(child))
        os._exit(0)
    os.close(ready)
    os.waitpid(between, 0)
    os.close(go)
    server.sendall(LENGTH.pack(0))
    return False


def _run(request: dict[str, Any], files: list[int]) -> None:
    if request["is_session"]:
        os.setsid()
    os.umask(request["mask"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    _reopen_streams()
    module, *arguments = request["words"]
    sys.argv = [module, *arguments]
    sys.path[0] = str(Path.cwd())
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _reopen_streams() -> None:
    """Make the standard streams as an interpreter does: by lines for a terminal, at once if the environment says so."""
    _set_stream("stdin", io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False))))
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in ((1, "stdout"), (2, "stderr")):
        was, raw = getattr(sys, name), io.FileIO(number, "wb", closefd=False)
        stream = io.TextIOWrapper(
            raw if is_unbuffered else io.BufferedWriter(raw),
            encoding=was.encoding,
            errors=was.errors,
            line_buffering=raw.isatty() or name == "stderr",
            write_through=is_unbuffered,
        )
        _set_stream(name, stream)


def _set_stream(name: str, stream: Any) -> None:
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
