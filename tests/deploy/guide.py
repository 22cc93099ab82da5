"""What docs/deployment.md prints: its settings, commands and SQL, as the tests of its layouts carry them out."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from tests.deploy.files import ROOT

GUIDE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RIGHTS = "Rights on PostgreSQL, for each kind of process"
BROKER = "What to set on a broker"
TRY_IT = "Try it"


class Command(NamedTuple):
    """A command of the page, and the lines that the page shows of what it prints."""

    line: str
    shown: list[str]

    @property
    def arguments(self) -> list[str]:
        """The words after the program's name."""
        return shlex.split(self.line.rpartition("stepward ")[2].rstrip(")"))

    @property
    def words(self) -> list[str]:
        """All words, as a shell reads them."""
        return shlex.split(self.line)


def section(title: str) -> str:
    """The text under that heading, up to the next of its kind."""
    _, found, rest = GUIDE.partition(f"\n## {title}\n")
    assert found, f"expected the heading {title!r} in the page, found none"
    return rest.partition("\n## ")[0]


def blocks(language: str, text: str) -> list[str]:
    """The snippets in that language."""
    return [body for name, body in FENCE.findall(text) if name == language]


def application() -> str:
    """The module ``shop`` of the page."""
    return blocks("python", GUIDE)[0]


def files(text: str, header: str = "") -> dict[str, str]:
    """By name, the files in ``/etc/stepward`` that the section prints under ``# HEADER FILE``."""
    printed = "".join(blocks("ini", text))
    return dict(re.findall(rf"^# {header}/etc/stepward/(\S+)\n((?:[A-Z].*\n)+)", printed, re.MULTILINE))


def users() -> str:
    """The users and permissions that the page sets at NATS."""
    [found] = [block for block in blocks("", section(BROKER)) if block.startswith("authorization")]
    return found


def permitted() -> dict[str, list[str]]:
    """By login, what the page lets it publish and subscribe to."""
    users = re.findall(r"user: (\w+).*?publish: \[(.*?)\].*?subscribe: \[(.*?)\]", GUIDE, re.DOTALL)
    return {
        login: [f"PUB {each}" for each in re.findall(r'"(.*?)"', publish)]
        + [f"SUB {each}" for each in re.findall(r'"(.*?)"', subscribe)]
        for login, publish, subscribe in users
    }


def more(text: str) -> dict[str, str]:
    """By name, the lines that the section adds to such files."""
    return files(text, "more in ")


def drop_in(text: str) -> str:
    """What the section has ``systemctl edit`` add to a unit."""
    [found] = [block for block in blocks("ini", text) if block.startswith("[Service]")]
    return found


def part(text: str, beginning: str, end: str) -> str:
    """The text from one of its lines to another."""
    return text[text.index(f"\n{beginning}") :].partition(f"\n{end}")[0]


def commands(block: str) -> list[Command]:
    """The commands of a console snippet."""
    found: list[Command] = []
    for line in block.splitlines():
        if line.startswith(("$ ", "# ")):
            found.append(Command(line[2:], []))
        else:
            found[-1].shown.append(line)
    return found


def units(text: str) -> list[str]:
    """The units that the section enables."""
    return re.findall(r"stepward[\w-]*(?=@shop)", "".join(re.findall(r"^# systemctl enable.*$", text, re.MULTILINE)))
