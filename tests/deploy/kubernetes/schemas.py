"""Validates manifests of stdin against the schemas of Kubernetes: ``python schemas.py [VERSION…]``, a line an error.

It runs in the environment of ``build/deploy``. Without a version it takes all from the oldest that the chart allows.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import yaml
from kubernetes_validate import utils

CHART = Path(__file__).parents[3] / "deploy/helm/stepward/Chart.yaml"


def main() -> None:
    """Prints what the schemas refuse."""
    # Each object reads the definitions of its version again, which are two megabytes.
    utils.schema_contents = cache(utils.schema_contents)
    manifests = list(yaml.safe_load_all(sys.stdin))
    for version in sys.argv[1:] or supported():
        for each in manifests:
            try:
                utils.validate(each, version, strict=True)
            except (utils.ValidationError, utils.SchemaNotFoundError) as error:
                where = ".".join(map(str, getattr(error, "absolute_path", ())))
                print(f"{version} {each['kind']}/{each['metadata']['name']} {where}: {error.message[:200]}")


def supported() -> list[str]:
    """The minor versions from the oldest that the chart allows to the newest that has a schema here."""
    oldest = re.search(r"kubeVersion: .*>=1\.(\d+)\.", CHART.read_text(encoding="utf-8"))
    assert oldest is not None
    minors = {int(each.split(".")[1].split("-")[0]) for each in utils.all_versions()}
    return [f"1.{minor}" for minor in sorted(minors) if minor >= int(oldest[1])]


if __name__ == "__main__":
    main()
