"""The chart for Helm as programs see it: what its page says of it, and the manifests that come out."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.deploy.files import DEPLOY, ROOT
from tests.programs import program

CHART = DEPLOY / "helm/stepward"
PAGE = (ROOT / "docs/kubernetes.md").read_text(encoding="utf-8")
PROGRAMS = ROOT / "build/deploy/bin"
ROW = re.compile(r"^\| `([\w.{},]+)` \| (?:`(.*?)` )?\| `(.*?)` \| (.+) \|$", re.MULTILINE)
BRACES = re.compile(r"\{(.*?)\}")
SCHEMAS = Path(__file__).with_name("schemas.py")
OUR_OWN = {"keda.sh/v1alpha1"}
"""Kinds of others, which neither Kubernetes nor kubectl knows."""

Manifest = dict[str, Any]


class Value(NamedTuple):
    """A value of the chart as the page's table has it."""

    path: str
    default: Any
    """None where the table leaves it to ``values.yaml``."""
    example: Any


class Ran(NamedTuple):
    """What a program did."""

    code: int
    printed: str


def tool(name: str) -> str:
    """One of the programs in ``build/deploy``."""
    return program(str(PROGRAMS / name), "them by tests/install-programs")


def run(*command: str | Path, given: str = "") -> Ran:
    """Runs one of the programs without any cluster to reach."""
    found = subprocess.run(
        [tool(str(command[0])), *command[1:]],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": "/nonexistent", "KUBECONFIG": "/dev/null", "PATH": "/usr/bin:/bin"},
    )
    return Ran(found.returncode, found.stdout + found.stderr)


def documented() -> list[Value]:
    """Every value in the page's table."""
    found = []
    for paths, default, example, _ in ROW.findall(PAGE):
        group = BRACES.search(paths)
        for name in group[1].split(",") if group else [""]:
            path = BRACES.sub(name, paths)
            found.append(Value(path, json.loads(default) if default else None, json.loads(example)))
    return found


def printed_values() -> list[str]:
    """The values files that the page prints, in their order."""
    return re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def everything(folder: Path) -> list[str]:
    """Options of Helm for a release with every part that the page shows, and an Agent that has only defaults."""
    files = [folder / f"{number}.yaml" for number in range(len(printed_values()))]
    for file, text in zip(files, printed_values(), strict=True):
        file.write_text(text, encoding="utf-8")
    return [*(word for file in files for word in ("--values", str(file))), "--set-json", "agents.parcels={}"]


def rendered(*options: str, chart: Path = CHART) -> Ran:
    """What ``helm template`` makes of the chart with these options."""
    return run("helm", "template", "shop", chart, "--namespace", "shop", *options)


def manifests(text: str) -> list[Manifest]:
    """The objects of a rendered chart."""
    return [each for each in yaml.safe_load_all(text) if each is not None]


def misfits(text: str, *versions: str) -> list[str]:
    """What the schemas of these versions of Kubernetes (all supported ones without any) refuse, a line each."""
    known = yaml.safe_dump_all(each for each in manifests(text) if each["apiVersion"] not in OUR_OWN)
    found = run("python", SCHEMAS, *versions, given=known)
    assert found.code == 0, found.printed
    return found.printed.splitlines()


def undecoded(text: str, folder: Path) -> list[str]:
    """What kubectl cannot decode into the types of the API, a line each."""
    file = folder / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(each for each in manifests(text) if each["apiVersion"] not in OUR_OWN), "utf-8")
    # It decodes whatever it is given, and then finds that policies and the like have no variables.
    printed = run("kubectl", "set", "env", "--local", "-f", file, "CHECKED=yes", "--output", "name").printed
    return [line for line in printed.splitlines() if "unable to decode" in line or "no kind" in line]


def leaves(values: Manifest, path: str = "") -> dict[str, Any]:
    """Each value of ``values.yaml`` by its path; the resources of a process are one value."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        where = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value and name != "resources":
            found |= leaves(value, where)
        else:
            found[where] = value
    return found
