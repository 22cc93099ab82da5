"""The Compose file of the worked example, as far as it can be checked where no container engine runs."""

from __future__ import annotations

import copy
import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from stepward.settings import Settings
from tests.deploy import compose_rules, image_rules
from tests.deploy.files import COMPOSE, DEPLOY, ROOT
from tests.programs import program

Change = tuple[tuple[str, ...], object]
# An image that is built here and never pulled has no digest that could be known beforehand.
NOT_FOR_OURS = "CL-0019"
MALFORMED: dict[str, Change] = {
    "an unknown word": (("services", "stock", "restarts"), "always"),
    "an unknown condition": (("services", "agents", "depends_on", "stock", "condition"), "service_well"),
    "a network that is not there": (("services", "stock", "networks"), ["inside"]),
    "no port": (("services", "control", "ports"), ["127.0.0.1:http:8000"]),
    "no size": (("services", "stock", "deploy", "resources", "limits", "memory"), "much"),
}
RULED: dict[str, tuple[Change, str]] = {
    "latest": ((("services", "stock", "image"), "stepward-orders:latest"), "image of ours"),
    "an old version": ((("services", "stock", "image"), "stepward-orders:0.0.9"), "image of ours"),
    "root": ((("services", "stock", "user"), "0:0"), "not root"),
    "no user": ((("services", "stock", "user"), None), "not root"),
    "a writable root": ((("services", "stock", "read_only"), False), "read-only"),
    "capabilities": ((("services", "stock", "cap_drop"), ["NET_RAW"]), "capability"),
    "a capability": ((("services", "stock", "cap_add"), ["NET_RAW"]), "capability"),
    "privileges": ((("services", "stock", "security_opt"), []), "no-new-privileges"),
    "no limits": ((("services", "stock", "deploy"), {}), "limits of cpus"),
    "no restart": ((("services", "stock", "restart"), "no"), "unless-stopped"),
    "no health": ((("services", "stock", "healthcheck"), {}), "health check"),
    "no grace": ((("services", "stock", "stop_grace_period"), None), "stop_grace_period"),
    "an open port": ((("services", "control", "ports"), ["8100:8000"]), "127.0.0.1 only"),
    "a lost file": ((("services", "scheduler", "volumes"), ["orders:/elsewhere"]), "on a volume"),
    "a folder of the host": ((("services", "stock", "volumes"), ["./data:/data"]), "a named volume"),
    "a secret": ((("services", "supervisor", "environment", "STEPWARD_WEBHOOK_SECRET"), "x"), "no secret"),
    "a service that is not there": (
        (("services", "agents", "depends_on", "bank"), {"condition": "service_started"}),
        "found bank",
    ),
    "another port": ((("services", "agents", "environment", "ORDERS_MAIL_URL"), "http://mail:80"), "listen on 80"),
    "another network": ((("services", "agents", "networks"), ["outside"]), "that stock is on too"),
    "no such command": ((("services", "agents", "command"), ["work", "shop:app"]), "no command"),
    "no such option": ((("services", "agents", "command"), ["agent", "shop:app", "--all"]), "--all"),
    "no such module": ((("services", "stock", "entrypoint"), ["python", "-m", "examples.bank"]), "examples.bank"),
    "no such option of the example": ((("services", "stock", "command"), ["stock", "--hots", "0"]), "--hots"),
    "no such service": ((("services", "stock", "command"), ["bank", "--port", "8000"]), "bank"),
}


@pytest.fixture
def document() -> dict[str, Any]:
    """The file as Compose reads it: with its anchors resolved."""
    return read(COMPOSE.read_text(encoding="utf-8"))


def read(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(text)
    return {name: value for name, value in parsed.items() if not name.startswith("x-")}


def changed(document: dict[str, Any], change: Change) -> dict[str, Any]:
    """A copy that was made worse in one place."""
    worse = copy.deepcopy(document)
    (*path, last), value = change
    functools.reduce(lambda inner, name: inner[name], path, worse)[last] = value
    return worse


def validate(document: dict[str, Any]) -> None:
    """Against the Compose specification; raises ValueError."""
    PyCompose.from_json(json.dumps(document)).validate()


def misuse(service: dict[str, Any]) -> str | None:
    """The error of `python -m MODULE ARGUMENTS…`, by the module's own help."""
    python, option, module, *arguments = compose_rules.words_of(service)
    assert (python, option) == ("python", "-m")
    code, told = help_of(module)
    if code != 0:
        return f"{module} cannot be run: {told}"
    # Options, and the first word where it is none: what the module is to be, one of those that its help lists.
    named = [word.partition("=")[0] for place, word in enumerate(arguments) if place == 0 or word.startswith("--")]
    unknown = [word for word in named if not re.search(rf"(?<![\w-]){word}(?![\w-])", told)]
    return f"{module} does not know {unknown}" if unknown else None


@functools.cache
def help_of(module: str) -> tuple[int, str]:
    found = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout or found.stderr


def test_it_is_valid(document: dict[str, Any]) -> None:
    validate(document)


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED)
def test_an_invalid_compose_file_is_found(document: dict[str, Any], change: Change) -> None:
    with pytest.raises(ValueError):
        validate(changed(document, change))


def test_our_rules_find_nothing(document: dict[str, Any]) -> None:
    assert compose_rules.complaints(document, misuse) == []


@pytest.mark.parametrize(("change", "words"), RULED.values(), ids=RULED)
def test_our_rules_find(document: dict[str, Any], change: Change, words: str) -> None:
    complaints = compose_rules.complaints(changed(document, change), misuse)
    assert any(words in complaint for complaint in complaints), complaints


def test_the_linter_finds_nothing() -> None:
    assert findings(COMPOSE) == []


def test_the_linter_finds_what_is_open(tmp_path: Path) -> None:
    text = COMPOSE.read_text(encoding="utf-8").replace("cap_drop: [ALL]", "privileged: true")
    (tmp_path / "compose.yaml").write_text(text, encoding="utf-8")
    assert {"CL-0002", "CL-0006"} <= set(findings(tmp_path / "compose.yaml"))


def findings(file: Path) -> list[str]:
    """The rules that compose-lint finds broken."""
    found = subprocess.run(
        [program("compose-lint", "the package compose-lint"), "check", "--format", "json", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode in (0, 1), found.stderr
    rules = {finding["rule_id"] for finding in json.loads(found.stdout)["findings"]}
    assert NOT_FOR_OURS in rules, "expected the rule that is not for ours among those that ran, found it nowhere"
    return sorted(rules - {NOT_FOR_OURS})


def test_services_with_the_store_share_its_volume(document: dict[str, Any]) -> None:
    sharing = {name for name, each in document["services"].items() if "orders:/data" in each.get("volumes", [])}
    assert sharing == {"storefront", "submission", "scheduler", "supervisor", "bookkeeper", "agents"}


def test_the_users_are_the_image_s(document: dict[str, Any]) -> None:
    user = image_rules.last((DEPLOY / "Containerfile").read_text(encoding="utf-8"), "USER")
    assert {service["user"] for service in document["services"].values()} == {user}


def test_processes_have_time_to_drain(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        seconds = int(service["stop_grace_period"].removesuffix("s"))
        assert seconds >= Settings().drain + 10


def test_their_settings_are_settings(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        Settings.load({}, service.get("environment", {}), Path("/"))
