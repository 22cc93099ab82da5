"""The example for Terraform: read by a parser of its language, and held to what its parts refer to and run."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.files import DEPLOY, misuse_of_stepward
from tests.deploy.kubernetes.chart import tool

FILES = sorted((DEPLOY / "terraform/azure").glob("*.tf"))
REFERENCE = re.compile(r"\b(var|local|azurerm_\w+)\.(\w+)")
COMMAND = re.compile(r'\[("(?:scheduler|submission|supervisor|agent|migrate)"[^]]*)\]')
BROKEN = {
    "a block without end": ("processes.tf", 'revision_mode                = "Single"', 'revision_mode = "Single" }'),
    "a text without end": ("store.tf", 'version                       = "17"', 'version = "17'),
}
WRONG = {
    "no such variable": ("var.location", "var.place", "var.place"),
    "no such local": ("local.variables", "local.queues", "local.queues"),
    "no such resource": ("azurerm_subnet.database.id", "azurerm_subnet.store.id", "azurerm_subnet.store"),
    "no such command": ('"scheduler", var.app', '"agent", var.app, "--just", "one"', "--just"),
    "a password that is shown": ("sensitive   = true", "sensitive   = false", "database_password"),
    "no standby": ("ZoneRedundant", "Disabled", "a standby"),
    "keys for the queues": ("local_auth_enabled  = false", "local_auth_enabled  = true", "identities"),
    "an open database": ("network_access_enabled = false", "network_access_enabled = true", "private"),
}


def text() -> str:
    return "\n".join(file.read_text("utf-8") for file in FILES)


def parsed(folder: Path, given: str) -> dict[str, Any]:
    """The configuration as a parser reads it. Raises ValueError for what is none."""
    file = folder / "all.tf"
    file.write_text(given, encoding="utf-8")
    ran = subprocess.run([tool("hcl2tojson"), str(file)], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ValueError(ran.stderr)
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


def complaints(given: str, found: dict[str, Any]) -> list[str]:
    """The errors of the configuration, one line each."""
    return [*_references(given, found), *_commands(given), *_safety(found)]


def _named(found: dict[str, Any]) -> set[str]:
    kinds = {f"var.{_plain(name)}" for each in found["variable"] for name in each}
    kinds |= {f"local.{_plain(name)}" for each in found["locals"] for name in each}
    return kinds | {
        f"{_plain(kind)}.{_plain(name)}" for each in found["resource"] for kind, named in each.items() for name in named
    }


def _plain(text: str) -> str:
    return text.strip('"')


def _references(given: str, found: dict[str, Any]) -> Iterator[str]:
    known = _named(found)
    code = "\n".join(line for line in given.splitlines() if not line.strip().startswith("#"))
    used = {f"{kind}.{name}" for kind, name in REFERENCE.findall(code)}
    yield from (f"expected it declared: {each}" for each in sorted(used - known))


def _commands(given: str) -> Iterator[str]:
    for words in COMMAND.findall(given):
        arguments = [_plain(word.strip()).replace("var.app", "shop:app") for word in words.split(",")]
        misuse = misuse_of_stepward([*arguments, "--metrics", "0.0.0.0:9464"][: len(arguments)])
        yield from [misuse] if misuse else []


def _safety(found: dict[str, Any]) -> Iterator[str]:
    resources = {_plain(kind): next(iter(named.values())) for each in found["resource"] for kind, named in each.items()}
    password = next(each['"database_password"'] for each in found["variable"] if '"database_password"' in each)
    if password.get("sensitive") is not True:
        yield "expected database_password not to be shown"
    server = resources["azurerm_postgresql_flexible_server"]
    if _plain(server["high_availability"][0]["mode"]) != "ZoneRedundant":
        yield "expected a standby in another zone"
    if server["public_network_access_enabled"] is not False:
        yield "expected the database within the private network"
    if resources["azurerm_servicebus_namespace"]["local_auth_enabled"] is not False:
        yield "expected queues reached by identities alone"


def test_its_files_are_of_the_language_and_our_rules_find_nothing(tmp_path: Path) -> None:
    assert complaints(text(), parsed(tmp_path, text())) == []


@pytest.mark.parametrize(("name", "old", "new"), BROKEN.values(), ids=BROKEN)
def test_the_parser_finds(tmp_path: Path, name: str, old: str, new: str) -> None:
    [file] = [each for each in FILES if each.name == name]
    given = file.read_text("utf-8")
    assert old in given
    with pytest.raises(ValueError, match=r"\w"):
        parsed(tmp_path, given.replace(old, new))


@pytest.mark.parametrize(("old", "new", "words"), WRONG.values(), ids=WRONG)
def test_our_rules_find(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in text()
    given = text().replace(old, new)
    found = complaints(given, parsed(tmp_path, given))
    assert any(words in line for line in found), found
