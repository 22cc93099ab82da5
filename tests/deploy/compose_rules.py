"""What every service of a Compose file of ours keeps to. Pure: the parsed document in, complaints out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.deploy.files import VERSION, misuse_of_stepward

Document = dict[str, Any]
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|API_?KEY|CREDENTIAL", re.IGNORECASE)
FILE = re.compile(r"(?:sqlite:///)?(/[\w./-]+\.db)")
URL = re.compile(r"http://([a-z]+):(\d+)")


def complaints(document: Document, misuse: Callable[[Document], str | None]) -> list[str]:
    """The errors, one line each; `misuse` judges the command of a service that is not Stepward's own."""
    found: list[str] = []
    for name, service in document["services"].items():
        rules = (_confined, _bounded, _known, _exposed, _stored, _secret)
        found += [f"{name}: {each}" for rule in rules for each in rule(service)]
        found += [f"{name}: {each}" for each in _related(service, document)]
        found += [f"{name}: {each}" for each in [_command(service, misuse)] if each]
    return found


def words_of(service: Document) -> list[str]:
    """The whole command line of a service."""
    return [*service.get("entrypoint", ["stepward"]), *service.get("command", [])]


def _confined(service: Document) -> Iterator[str]:
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", str(service.get("user"))):
        yield f"expected a user by number and not root, found {service.get('user')}"
    if service.get("read_only") is not True or not service.get("tmpfs"):
        yield "expected a read-only root and a tmpfs"
    if service.get("cap_drop") != ["ALL"] or service.get("cap_add") or service.get("privileged"):
        yield "expected every capability to be dropped"
    if "no-new-privileges:true" not in service.get("security_opt", []):
        yield "expected no-new-privileges"


def _bounded(service: Document) -> Iterator[str]:
    limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
    if not {"cpus", "memory", "pids"} <= set(limits):
        yield f"expected limits of cpus, memory and pids, found {sorted(limits)}"
    if service.get("restart") != "unless-stopped":
        yield f"expected restart: unless-stopped, found {service.get('restart')}"
    if not service.get("healthcheck", {}).get("test"):
        yield "expected a health check"
    if not service.get("stop_grace_period"):
        yield "expected a stop_grace_period longer than the drain"


def _known(service: Document) -> Iterator[str]:
    image = str(service.get("image"))
    if not re.fullmatch(rf"[\w./-]+:{re.escape(VERSION)}", image) or service.get("pull_policy") != "never":
        yield f"expected an image of ours of version {VERSION} that is never pulled, found {image}"


def _exposed(service: Document) -> Iterator[str]:
    for port in service.get("ports", []):
        if not re.fullmatch(r"127\.0\.0\.1:\d+:\d+", str(port)):
            yield f"expected ports on 127.0.0.1 only, found {port}"


def _stored(service: Document) -> Iterator[str]:
    mounts = [volume.split(":")[1] for volume in service.get("volumes", [])]
    for word in [*words_of(service), *map(str, service.get("environment", {}).values())]:
        for file in FILE.findall(word):
            if not any(file.startswith(f"{mount}/") for mount in mounts):
                yield f"expected {file} on a volume, found {mounts}"


def _secret(service: Document) -> Iterator[str]:
    for name in service.get("environment", {}):
        if SECRET.search(name):
            yield f"expected no secret in the file, found {name}"


def _related(service: Document, document: Document) -> Iterator[str]:
    for volume in service.get("volumes", []):
        if volume.split(":")[0] not in document["volumes"]:
            yield f"expected a named volume of this file, found {volume}"
    for name in service.get("depends_on", {}):
        if name not in document["services"]:
            yield f"expected to depend on a service of this file, found {name}"
    for word in [*words_of(service), *map(str, service.get("environment", {}).values())]:
        yield from _unreachable(word, service, document)


def _unreachable(word: str, service: Document, document: Document) -> Iterator[str]:
    for host, port in URL.findall(word):
        target = document["services"].get(host)
        if target is None or port not in words_of(target):
            yield f"expected {host} to listen on {port}"
        elif not set(target.get("networks", [])) & set(service.get("networks", [])):
            yield f"expected a network that {host} is on too"


def _command(service: Document, misuse: Callable[[Document], str | None]) -> str | None:
    words = words_of(service)
    return misuse_of_stepward(words[1:]) if words[0] == "stepward" else misuse(service)
