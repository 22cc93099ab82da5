"""The chart for Helm, by Helm, the schemas of Kubernetes, kubectl and our own rules; each finds planted errors."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from stepward.settings import Settings
from tests.deploy.files import ROOT, VERSION
from tests.deploy.kubernetes import chart, chart_rules

SECRET = {"webhook_secret", "encryption", "alert_sinks", "hooks", "webhooks"}
"""Settings that may hold a secret."""
BROKEN = {
    "a block without end": ("templates/migrate.yaml", "{{- end }}", "", "unexpected EOF"),
    "an unknown template": (
        "templates/migrate.yaml",
        'include "stepward.pod"',
        'include "stepward.pot"',
        "stepward.pot",
    ),
    "no version": ("Chart.yaml", "version: 0.1.0\nappVersion", "appVersion", "version is required"),
    "a default of the wrong kind": ("values.yaml", "leaseSeconds: 10", "leaseSeconds: ten", "leaseSeconds"),
}
UNFIT = {
    "a word for a number": ("replicas: 2", "replicas: two", True),
    "a word for a port": ("containerPort: 9464", "containerPort: metrics", True),
    "an unknown field": ("terminationGracePeriodSeconds: 30", "terminationGraceSeconds: 30", False),
    "a version that is gone": ("apiVersion: policy/v1", "apiVersion: policy/v1beta1", False),
    "a list for a map": ("policyTypes: [Ingress, Egress]", "policyTypes: Ingress", True),
}
RULED = {
    "root": ("runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot of the pod"),
    "a writable root": ("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "readOnlyRootFilesystem"),
    "privileges": ("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "allowPrivilegeEscalation"),
    "capabilities": ("drop: [ALL]", "drop: [NET_RAW]", "capabilities"),
    "no seccomp": ("type: RuntimeDefault", "type: Unconfined", "seccompProfile"),
    "a token of the cluster": ("automountServiceAccountToken: false", "automountServiceAccountToken: true", "no token"),
    "a secret in text": (
        "valueFrom:\n                secretKeyRef:\n                  name: shop-store\n                  key: address",
        "value: postgresql://shop:hunter2@db/shop",
        "as a reference to a Secret",
    ),
    "no such setting": ("- name: STEPWARD_LEASE", "- name: STEPWARD_LEASES", "expected a setting"),
    "no such command": ('args: ["scheduler"', 'args: ["schedules-all"', "no command"),
    "no such option": ('"--metrics","0.0.0.0:9464"', '"--metric","0.0.0.0:9464"', "--metric"),
    "no time to drain": (
        "terminationGracePeriodSeconds: 30",
        "terminationGracePeriodSeconds: 20",
        "grace of more than",
    ),
    "another probe": ("path: /readyz", "path: /livez", "readinessProbe"),
    "a probe of another port": ("{path: /livez, port: metrics,", "{path: /livez, port: console,", "livenessProbe"),
    "a probe without TLS": ("port: console, scheme: HTTPS", "port: console, scheme: HTTP", "what the port speaks"),
    "no budget": ("kind: PodDisruptionBudget", "kind: ConfigMap", "one PodDisruptionBudget"),
    "no policy": ("kind: NetworkPolicy", "kind: ConfigMap", "one NetworkPolicy"),
    "no such metric": ("stepward_agent_waiting_steps", "stepward_agent_waiting", "a metric that exists"),
    "scaled by two": (
        "name: shop-agent-payments\n  minReplica",
        "name: shop-scheduler\n  minReplica",
        "without replicas",
    ),
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The objects of a release with all that the page shows."""
    found = chart.rendered(*chart.everything(tmp_path_factory.mktemp("values")))
    assert found.code == 0, found.printed
    return found.printed


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the chart, to break."""
    return Path(shutil.copytree(chart.CHART, tmp_path / "stepward"))


def worse(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def lint(folder: Path, values: Path) -> chart.Ran:
    return chart.run("helm", "lint", folder, "--strict", *chart.everything(values))


def test_helm_finds_nothing(tmp_path: Path) -> None:
    found = lint(chart.CHART, tmp_path)
    assert found.code == 0, found.printed
    assert "0 chart(s) failed" in found.printed


@pytest.mark.parametrize(("file", "old", "new", "words"), BROKEN.values(), ids=BROKEN)
def test_helm_finds(copied: Path, tmp_path: Path, file: str, old: str, new: str, words: str) -> None:
    (copied / file).write_text(worse((copied / file).read_text("utf-8"), old, new), encoding="utf-8")
    found = lint(copied, tmp_path)
    assert found.code != 0
    assert words in found.printed


def test_the_schemas_of_all_supported_versions_find_nothing(everything: str) -> None:
    assert chart.misfits(everything) == []


@pytest.mark.parametrize(("old", "new", "decodes"), UNFIT.values(), ids=UNFIT)
def test_the_schemas_find(everything: str, old: str, new: str, decodes: bool) -> None:
    assert chart.misfits(worse(everything, old, new), "1.37") != []


def test_kubectl_decodes_every_object(everything: str, tmp_path: Path) -> None:
    assert chart.undecoded(everything, tmp_path) == []


def test_kubectl_finds_values_of_the_wrong_type(everything: str, tmp_path: Path) -> None:
    for old, new, found in UNFIT.values():
        if found:
            assert chart.undecoded(worse(everything, old, new), tmp_path) != []


def test_our_rules_find_nothing(everything: str) -> None:
    assert chart_rules.complaints(chart.manifests(everything)) == []


@pytest.mark.parametrize(("old", "new", "words"), RULED.values(), ids=RULED)
def test_our_rules_find(everything: str, old: str, new: str, words: str) -> None:
    found = chart_rules.complaints(chart.manifests(worse(everything, old, new)))
    assert any(words in line for line in found), found


def test_there_is_a_process_for_every_way_to_run(everything: str, tmp_path: Path) -> None:
    once = chart.rendered(*chart.everything(tmp_path), "--set", "supervisor.mode=cronjob")
    pods = [chart_rules.pod_of(each) for text in (everything, once.printed) for each in chart.manifests(text)]
    begun = {" ".join(pod["spec"]["containers"][0]["args"][:2]) for pod in pods if pod is not None}
    assert begun == {
        "agent shop:app",
        "console --host",
        "migrate shop:app",
        "scheduler shop:app",
        "submission shop:app",
        "supervisor --metrics",
        "supervisor --once",
    }


def test_the_migration_and_its_network_come_before_all_else(everything: str) -> None:
    hooks = {
        each["kind"]: int(each["metadata"]["annotations"]["helm.sh/hook-weight"])
        for each in chart.manifests(everything)
        if "helm.sh/hook" in each["metadata"].get("annotations", {})
    }
    assert hooks == {"NetworkPolicy": -1, "Job": 0}


def test_settings_that_hold_no_secret_are_values() -> None:
    schema = json.loads((chart.CHART / "values.schema.json").read_text("utf-8"))
    elsewhere = {"store", "transport", "lease", "drain", "metrics"} | SECRET
    known = {name for name, _, _ in Settings().describe()}
    assert set(schema["properties"]["settings"]["properties"]) == known - elsewhere


def test_versions_agree() -> None:
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text("utf-8"))
    assert (about["version"], about["appVersion"]) == (VERSION, VERSION)
    python = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert any(each.startswith("kubernetes-validate>=1.37") for each in python["dependency-groups"]["deploy"])
