"""The rules for Prometheus and the dashboard for Grafana: they use metrics that exist, and Prometheus loads them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml

from stepward.store.contract import StoreGauges
from stepward.telemetry.process_metrics import ProcessMetrics
from stepward.telemetry.store_metrics import StoreCollector
from tests.programs import program

ROOT = Path(__file__).parent.parent.parent
RULES = ROOT / "deploy" / "prometheus" / "stepward.rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "stepward.json"
NAME = re.compile(r"stepward_[a-z_]+")
SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}


def exported() -> dict[str, str]:
    """Every metric that is exported, with its type."""
    collectors = (StoreCollector(StoreGauges(now=0.0)), ProcessMetrics())
    return {family.name: family.type for collector in collectors for family in collector.collect()}


def samples() -> set[str]:
    return {name + suffix for name, kind in exported().items() for suffix in SUFFIXES[kind]}


def expressions() -> Iterator[str]:
    for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def test_rules_and_dashboard_use_metrics_that_exist() -> None:
    used = {name for expression in expressions() for name in NAME.findall(expression)}
    assert len(used) > 15
    assert used - samples() == set()


def test_the_page_lists_every_metric() -> None:
    page = (ROOT / "docs" / "telemetry.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `(stepward_[a-z_]+)`", page, re.MULTILINE))
    assert listed == {name + ("_total" if kind == "counter" else "") for name, kind in exported().items()}


def test_promtool_accepts_the_rules() -> None:
    result = subprocess.run(
        [program("promtool", "prometheus"), "check", "rules", str(RULES)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]]
    taken = {(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])}
    assert len(taken) == sum(place["w"] * place["h"] for place in places)
