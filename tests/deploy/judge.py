"""Decides at RabbitMQ what the page's users may do, and notes what they ask for (rabbitmq_auth_backend_http)."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl

PLUGIN = "rabbitmq_auth_backend_http"
KINDS = ("configure", "write", "read")
SETTINGS = """
auth_backends.1.authn = internal
auth_backends.1.authz = http
auth_http.http_method = post
auth_http.user_path = http://127.0.0.1:{port}/user
auth_http.vhost_path = http://127.0.0.1:{port}/vhost
auth_http.resource_path = http://127.0.0.1:{port}/resource
auth_http.topic_path = http://127.0.0.1:{port}/topic
"""
PERMISSIONS = re.compile(r"set_permissions -p shop (\w+) '(.*?)' '(.*?)' '(.*?)'")
TOPICS = re.compile(r"set_topic_permissions -p shop (\w+) \S+ '(.*?)' '(.*?)'")


class Right(NamedTuple):
    """A pattern, and whose it is for what: a resource's name, or a routing key behind ``topic``."""

    user: str
    what: str
    pattern: str


class Judge:
    """Allows what the rights say; ``asked`` has what was allowed, by user and kind."""

    def __init__(self, rights: list[Right]) -> None:
        self._rights = rights
        self.asked: dict[tuple[str, str], set[str]] = {}
        self._lock = threading.Lock()

    def decide(self, path: str, form: Mapping[str, str]) -> bool:
        if path in ("/user", "/vhost"):
            return True
        topic = path == "/topic"
        what = f"topic {form['permission']}" if topic else form["permission"]
        name = form["routing_key"] if topic else form["name"]
        own = [right for right in self._rights if right.user == form["username"] and right.what == what]
        if topic and not [right for right in self._rights if right.user == form["username"] and "topic" in right.what]:
            return True
        if not any(re.search(right.pattern, name) for right in own):
            return False
        with self._lock:
            self.asked.setdefault((form["username"], what), set()).add(name)
        return True


def rights(typed: str) -> list[Right]:
    """The rights that the page's commands grant."""
    given = [
        Right(user, kind, pattern)
        for user, *patterns in PERMISSIONS.findall(typed)
        for kind, pattern in zip(KINDS, patterns, strict=True)
    ]
    topics = [
        Right(user, f"topic {kind}", pattern)
        for user, *patterns in TOPICS.findall(typed)
        for kind, pattern in zip(KINDS[1:], patterns, strict=True)
    ]
    return [right for right in given + topics if right.pattern != "^$"]


def narrower(pattern: str) -> Iterator[tuple[str, str]]:
    """Each alternative of the pattern, and the pattern without it; the whole of one that has none."""
    groups = _groups(pattern)
    if not groups:
        yield pattern, "(?!)"
    for start, end in groups:
        branches = _branches(pattern[start + 1 : end])
        if len(branches) == 1:
            yield pattern[start : end + 2], pattern[:start] + pattern[end + 2 :]
            continue
        for number, branch in enumerate(branches):
            rest = "|".join(branches[:number] + branches[number + 1 :])
            yield branch, f"{pattern[: start + 1]}{rest}{pattern[end:]}"


def _groups(pattern: str) -> list[tuple[int, int]]:
    """Where the parentheses stand that hold alternatives, or what may be left out."""
    found, opened = [], []
    for place, letter in enumerate(pattern):
        if letter == "(":
            opened.append(place)
        elif letter == ")":
            found.append((opened.pop(), place))
    return sorted(found)


def _branches(text: str) -> list[str]:
    branches, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and not depth:
            branches.append("")
        else:
            branches[-1] += letter
    return branches


@contextmanager
def judging(judge: Judge) -> Iterator[int]:
    """The judge behind a port on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            form = dict(parse_qsl(self.rfile.read(length).decode(), keep_blank_values=True))
            said = b"allow" if judge.decide(self.path, form) else b"deny"
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
