"""What every Containerfile of ours keeps to, beyond what hadolint knows. Pure but for looking at the tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tests.deploy.files import ROOT

PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?")
SECRET = re.compile(r"(secret|password|passwd|token|api_?key|credential)s?\b", re.IGNORECASE)


def complaints(text: str, ignore_file: Path) -> list[str]:
    """The errors of a Containerfile, one line each."""
    steps = list(_steps(text))
    final = steps[max(number for number, (word, _) in enumerate(steps) if word == "FROM") :]
    return [
        *_unpinned(steps),
        *_uncopied(steps, ignore_file.read_text(encoding="utf-8").splitlines()),
        *_root(final),
        *_secrets(steps),
        *_in_a_shell(steps),
        *_unlocked(steps),
    ]


def last(text: str, word: str) -> str:
    """What follows the last `WORD` of a Containerfile."""
    return [rest for each, rest in _steps(text) if each == word][-1]


def bases(text: str) -> list[str]:
    """The images that a Containerfile begins from."""
    return [rest.split()[0] for word, rest in _steps(text) if word == "FROM"]


def _steps(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), " ".join(rest.split())


def _unpinned(steps: list[tuple[str, str]]) -> Iterator[str]:
    for word, rest in steps:
        if word == "FROM" and not PINNED.fullmatch(rest.split()[0]):
            yield f"expected a version of three numbers for a base, found {rest}"


def _uncopied(steps: list[tuple[str, str]], ignored: list[str]) -> Iterator[str]:
    rules = [line for line in ignored if line and not line.startswith("#")]
    for word, rest in steps:
        if word not in ("COPY", "ADD") or rest.startswith("--from="):
            continue
        for source in rest.split()[:-1]:
            if not (ROOT / source).exists():
                yield f"expected {source} in the repository, found none"
            if _is_ignored(source, rules):
                yield f"expected {source} to reach the builder, found it ignored"


def _is_ignored(source: str, rules: list[str]) -> bool:
    verdict = False
    for rule in rules:
        pattern = rule.removeprefix("!")
        if fnmatch(source, pattern) or source.startswith(f"{pattern}/"):
            verdict = not rule.startswith("!")
    return verdict


def _root(final: list[tuple[str, str]]) -> Iterator[str]:
    users = [rest for word, rest in final if word == "USER"]
    if not users and not final[0][1].startswith("stepward:"):
        yield "expected a USER in the last stage, found none"
    for user in users[-1:]:
        if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", user):
            yield f"expected a user and a group by number and not root, found {user}"


def _secrets(steps: list[tuple[str, str]]) -> Iterator[str]:
    for word, rest in steps:
        if word in ("ARG", "ENV") and SECRET.search(rest.replace("_", " ")):
            yield f"expected no secret in an image, found {rest}"


def _in_a_shell(steps: list[tuple[str, str]]) -> Iterator[str]:
    for word, rest in steps:
        command = rest.partition("CMD ")[2] if word == "HEALTHCHECK" else rest
        if word in ("ENTRYPOINT", "CMD", "HEALTHCHECK") and not command.startswith("["):
            yield f"expected {word} as a list, which needs no shell, found {rest}"


def _unlocked(steps: list[tuple[str, str]]) -> Iterator[str]:
    for word, rest in steps:
        for install in re.findall(r"pip [^&]*install [^&]*", rest) if word == "RUN" else []:
            if "--require-hashes" not in install and "--no-index" not in install:
                yield f"expected packages by their hashes, found {install}"
