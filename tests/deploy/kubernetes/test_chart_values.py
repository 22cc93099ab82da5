"""The values of the chart: each is documented, changes what comes out, and is refused where it is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.deploy.kubernetes import chart, chart_rules

VALUES = {value.path: value for value in chart.documented()}
BESIDE = {
    "agentDefaults.autoscaling": ["agentDefaults.autoscaling.enabled=true"],
    "console.proxy": ['console.tlsSecret=""'],
    "console.openid": ['console.openid={"issuer":"https://login.test","clientId":"one"}'],
    "supervisor.schedule": ['supervisor.mode="cronjob"'],
}
"""What other values a value needs to take effect."""
REFUSED = {
    "an unknown value": ('replica="3"', "Additional property replica is not allowed"),
    "an unknown value of an Agent": ("agents.payments.replica=3", "Additional property replica is not allowed"),
    "an unknown setting": ('settings.leese="1s"', "settings: Additional property leese is not allowed"),
    "a setting that may hold a secret": (
        'settings.store="postgresql://a:b@c/d"',
        "settings: Additional property store",
    ),
    "a password": (
        'secrets.STEPWARD_STORE="postgresql://a:b@c/d"',
        "secrets.STEPWARD_STORE: Invalid type. Expected: object",
    ),
    "a word for a number": ('scheduler.replicas="two"', "scheduler.replicas: Invalid type. Expected: integer"),
    "a number for a text": ("settings.poll=1", "settings.poll: Invalid type. Expected: string"),
    "too few": ("leaseSeconds=0", "leaseSeconds: Must be greater than or equal to 1"),
    "no such mode": ('supervisor.mode="sometimes"', 'must be one of the following: "deployment", "cronjob"'),
    "no App": ('app=""', "app: expected the App as module:attribute, found none; give --set app=MODULE:ATTRIBUTE"),
    "no image": ('image.tag=""', "image.tag: expected that of your application's image, found none"),
    "a tag that moves": ('image.tag="latest"', "image.tag: expected a tag that stays, found latest"),
    "no store": ("secrets={}", "secrets: expected STEPWARD_STORE for"),
    "no address": ('console.url=""', "console.url: expected the https address"),
    "plain http": ('console.url="http://shop.example"', "console.url: Does not match pattern"),
    "two ends of TLS": ('console.proxy="10.0.0.0/8"', "console: expected tlsSecret or proxy, and not both"),
    "no end of TLS": ('console.tlsSecret=""', "console: expected tlsSecret or proxy, and not both"),
    "half a provider": ('console.openid.issuer="https://login.test"', "expected issuer and clientId together"),
    "no Prometheus": ('prometheus.serverAddress=""', "prometheus.serverAddress: expected the address of a Prometheus"),
    "more than the most": ("agents.payments.autoscaling.minReplicas=30", "expected minReplicas up to maxReplicas"),
}


def given(*values: str) -> list[str]:
    return [word for value in values for word in ("--set-json", value)]


def test_the_page_has_every_value_and_its_default() -> None:
    inside = chart.leaves(yaml.safe_load((chart.CHART / "values.yaml").read_text("utf-8")))
    assert set(inside) == set(VALUES)
    differing = {
        path: value
        for path, value in inside.items()
        if VALUES[path].default != value and not path.endswith(".resources")
    }
    assert differing == {}


@pytest.mark.parametrize("path", VALUES)
def test_a_value_changes_what_comes_out_and_it_fits(path: str, tmp_path: Path) -> None:
    value = VALUES[path]
    beside = [each for start, more in BESIDE.items() if path.startswith(start) for each in more]
    options = [*chart.everything(tmp_path), *given(*beside)]
    before = chart.rendered(*options, *given(f"{path}={json.dumps(value.default)}"))
    after = chart.rendered(*options, *given(f"{path}={json.dumps(value.example)}"))
    assert after.code == 0, after.printed
    assert after.printed != before.printed
    manifests = chart.manifests(after.printed)
    if path != "networkPolicy.enabled":
        assert chart_rules.complaints(manifests) == []


@pytest.mark.faults
@pytest.mark.parametrize("path", VALUES)
def test_a_value_fits_the_newest_schema(path: str, tmp_path: Path) -> None:
    beside = [each for start, more in BESIDE.items() if path.startswith(start) for each in more]
    example = given(*beside, f"{path}={json.dumps(VALUES[path].example)}")
    assert chart.misfits(chart.rendered(*chart.everything(tmp_path), *example).printed, "1.37") == []


@pytest.mark.parametrize(("value", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_value_is_refused_in_one_line(value: str, words: str, tmp_path: Path) -> None:
    found = chart.rendered(*chart.everything(tmp_path), *given(value))
    assert found.code == 1
    about = [line for line in found.printed.splitlines() if words in line]
    assert len(about) == 1, found.printed
    assert "{{" not in found.printed


def test_the_defaults_alone_are_refused_by_name() -> None:
    found = chart.rendered()
    assert found.code == 1
    assert "app: expected the App as module:attribute" in found.printed
