"""What every object of the chart keeps to, beyond what Kubernetes knows. Pure: manifests in, complaints out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stepward.settings import Settings
from tests.deploy.files import misuse_of_stepward
from tests.deploy.kubernetes.chart import Manifest
from tests.deploy.test_monitoring import NAME, samples

SECRET = re.compile(r"secret|password|token|key|store$", re.IGNORECASE)
LEAST_END_SECONDS = 15
CODE_SECONDS = 5
"""What a process may take at its end beyond its drain and lease, and code that still runs then."""
RESTRICTED_POD = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def complaints(manifests: list[Manifest]) -> list[str]:
    """The errors of a rendered chart, one line each."""
    found = []
    for each in manifests:
        pod = pod_of(each)
        if pod is not None:
            rules = [_restricted, _secrets, _command, _end, *([_probes] if each["kind"] == "Deployment" else [])]
            found += [f"{each['metadata']['name']}: {line}" for rule in rules for line in rule(pod["spec"])]
            found += [f"{each['metadata']['name']}: {line}" for line in _company(each, pod, manifests)]
        if each["kind"] == "ScaledObject":
            found += list(_scaled(each, manifests))
    return found


def pod_of(manifest: Manifest) -> Manifest | None:
    """The pods' template of a Deployment, Job or CronJob; None of other objects."""
    spec = manifest.get("spec", {})
    if manifest["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    found: Manifest | None = spec.get("template")
    return found


def variables(pod: Manifest) -> dict[str, Any]:
    """The variables of the container by name: their text, or None for a reference."""
    return {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}


def _restricted(pod: Manifest) -> Iterator[str]:
    given = pod.get("securityContext", {})
    yield from (
        f"expected {name} of the pod restricted" for name in RESTRICTED_POD if given.get(name) != RESTRICTED_POD[name]
    )
    for container in pod["containers"]:
        given = container.get("securityContext", {})
        yield from (f"expected {name} restricted" for name in RESTRICTED if given.get(name) != RESTRICTED[name])
        if "memory" not in container.get("resources", {}).get("limits", {"memory": 1}):
            yield "expected a limit of memory among the limits"
    if pod.get("automountServiceAccountToken") is not False:
        yield "expected no token of the cluster's API"


def _secrets(pod: Manifest) -> Iterator[str]:
    for name, value in variables(pod).items():
        if value is not None and SECRET.search(name):
            yield f"expected {name} as a reference to a Secret, found its text"
        setting = name.removeprefix("STEPWARD_").lower()
        if (
            name.startswith("STEPWARD_")
            and value is not None
            and setting not in {n for n, _, _ in Settings().describe()}
        ):
            yield f"expected a setting, found {name}"
    if "STEPWARD_STORE" not in variables(pod):
        yield "expected the address of the store"


def _command(pod: Manifest) -> Iterator[str]:
    arguments = pod["containers"][0]["args"]
    given = [each for each in arguments if not each.startswith("/etc/stepward-console/")]
    misuse = misuse_of_stepward([each for each in given if each not in ("--tls-cert", "--tls-key")])
    if misuse is not None:
        yield misuse


def _end(pod: Manifest) -> Iterator[str]:
    given = {name: float((value or "0").removesuffix("s")) for name, value in variables(pod).items() if name in ENDING}
    least = max(LEAST_END_SECONDS, sum(given.values())) + CODE_SECONDS
    actor = any(each == "--metrics" for each in pod["containers"][0]["args"])
    if actor and pod.get("terminationGracePeriodSeconds", 30) <= least:
        yield f"expected a grace of more than {least:g} s, which drain and lease need"


ENDING = ("STEPWARD_DRAIN", "STEPWARD_LEASE")


def _probes(pod: Manifest) -> Iterator[str]:
    [container] = pod["containers"]
    ports = {each["name"] for each in container.get("ports", [])}
    for name, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        asked = container.get(name, {}).get("httpGet", {})
        if asked.get("path") != path or asked.get("port") not in ports:
            yield f"expected a {name} of {path} at a port of the container"
    secured = "--tls-cert" in container["args"]
    if (container.get("livenessProbe", {}).get("httpGet", {}).get("scheme") == "HTTPS") is not secured:
        yield "expected the probes to speak what the port speaks"


def _company(owner: Manifest, pod: Manifest, manifests: list[Manifest]) -> Iterator[str]:
    labels = pod["metadata"]["labels"].items()
    kinds = ["NetworkPolicy", *(["PodDisruptionBudget"] if owner["kind"] == "Deployment" else [])]
    for kind in kinds:
        selectors = [
            each["spec"].get("podSelector", each["spec"].get("selector", {}))["matchLabels"]
            for each in manifests
            if each["kind"] == kind
        ]
        if sum(selector.items() <= labels for selector in selectors) != 1:
            yield f"expected one {kind}"
    if owner["kind"] == "Deployment" and not owner["spec"]["selector"]["matchLabels"].items() <= labels:
        yield "expected the selector to fit the pods"


def _scaled(scaled: Manifest, manifests: list[Manifest]) -> Iterator[str]:
    target = scaled["spec"]["scaleTargetRef"]["name"]
    owners = [each for each in manifests if each["kind"] == "Deployment" and each["metadata"]["name"] == target]
    if len(owners) != 1 or "replicas" in owners[0]["spec"]:
        yield f"{target}: expected a Deployment without replicas of its own"
    for trigger in scaled["spec"]["triggers"]:
        unknown = set(NAME.findall(trigger["metadata"]["query"])) - samples()
        yield from (f"{target}: expected a metric that exists, found {name}" for name in sorted(unknown))
