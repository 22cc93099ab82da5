"""The OpenAPI document against the application: requests that it allows, and such as it forbids, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from stepward import App

from .conftest import greet, order

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
