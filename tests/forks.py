"""Python programs that tests begin as ``python -m MODULE``, begun as forks of a process that has their libraries.

The second tier begins hundreds of them. Runs without ``-m "servers …"``, tests with the mark ``by_interpreters``,
shells, and processes that begin others begin each with an interpreter of its own, as users do.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fork_server import LENGTH

BY_INTERPRETERS = "by_interpreters"
"""The mark of tests that look at what an interpreter makes of its command line and its start."""
PROGRAM = Path(__file__).with_name("fork_server.py")
PR_SET_CHILD_SUBREAPER = 36
AT_START = ("PYTHON", "LD_", "LC_", "LANG", "FAKETIME")
"""Variables that are read as an interpreter starts: a program with others of them gets an interpreter."""
UNLIKE_FORKS = ("executable", "preexec_fn", "pass_fds", "shell", "gid", "gids", "uid")
PATIENCE = 240.0
"""Seconds that a fork may take: the first one waits for the imports, on a busy machine."""

_begin = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_arguments = inspect.signature(_begin)


class Forks:
    """The process that is forked, begun when it is first needed."""

    def __init__(self) -> None:
        self.is_wanted = True
        self.count = 0
        self._is_installed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._at_start = _read_at_start(os.environ)

    def install(self) -> None:
        """From now on begin programs so, where a process can adopt orphans."""
        if sys.platform != "linux":
            return
        self._at_start = _read_at_start(os.environ)

        def execute_child(process: subprocess.Popen[Any], *args: Any, **more: Any) -> None:
            given = _arguments.bind(process, *args, **more).arguments
            env = os.environ if given["env"] is None else given["env"]
            if self.is_wanted and _is_plain(given) and _read_at_start(env) == self._at_start:
                self._fork(process, given, dict(env))
            else:
                _begin(process, *args, **more)

        patch.object(subprocess.Popen, "_execute_child", execute_child).start()
        self._is_installed = True

    def prepare(self) -> None:
        """Begin the process that is forked, so that its imports hold up no test that has a lease to keep."""
        if self._is_installed:
            self._socket = self._socket or self._start()

    def close(self) -> None:
        """End the process that is forked; its forks go on."""
        if self._socket is not None and self._server is not None:
            self._socket.close()
            self._server.wait(PATIENCE)

    def _fork(self, process: Any, given: Mapping[str, Any], env: dict[str, str]) -> None:
        pipes = (given["p2cread"], given["c2pwrite"], given["errwrite"])
        request = {
            "words": [str(word) for word in given["args"][2:]],
            "is_session": given["start_new_session"],
            "folder": str(Path(given["cwd"] or ".").resolve()),
            "environment": env,
            "mask": _mask(),
        }
        with self._lock:
            process.pid = self._asked(request, [number if pipe == -1 else pipe for number, pipe in enumerate(pipes)])
        self.count += 1
        process._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        process._close_pipe_fds(*(given[end] for end in ends))

    def _asked(self, request: Mapping[str, Any], files: Sequence[int]) -> int:
        """The id of the new process, a child of this one: an orphan's parent is the nearest that adopts orphans."""
        server = self._socket = self._socket or self._start()
        body = json.dumps(request).encode()
        _adopt_orphans(True)
        try:
            socket.send_fds(server, [LENGTH.pack(len(body))], files)
            server.sendall(body)
            return max(_number(server), _number(server))
        finally:
            _adopt_orphans(False)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        with theirs:
            words = [sys.executable, str(PROGRAM), str(theirs.fileno())]
            self._server = subprocess.Popen(words, pass_fds=[theirs.fileno()], start_new_session=True)
        return ours


def _is_plain(given: Mapping[str, Any]) -> bool:
    words = given["args"]
    return (
        isinstance(words, list | tuple)
        and list(words[:2]) == [sys.executable, "-m"]
        and Path(given["cwd"] or ".").is_dir()
        and not any(given[option] for option in UNLIKE_FORKS)
    )


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in env if name.startswith(AT_START) and name != "PYTHONUNBUFFERED"}


def _number(server: socket.socket) -> int:
    part = server.recv(LENGTH.size, socket.MSG_WAITALL)
    if len(part) < LENGTH.size:
        raise EOFError("expected the id of a process, found the end of the process that is forked")
    return int(LENGTH.unpack(part)[0])


def _adopt_orphans(is_wanted: bool) -> None:
    """Whether processes below this one whose parent has ended become its children."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(is_wanted), 0, 0, 0):
        raise OSError("expected prctl to let this process adopt orphans")


FORKS = Forks()
"""Those of this process."""
