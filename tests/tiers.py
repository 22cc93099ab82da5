"""Cases of one test that different commands run: a few of them for each change, all of them at night."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """All cases, of which ``make test`` runs those that are kept, and ``make faults`` the others."""
    return [case if case in kept else nightly(case) for case in cases]


def nightly(case: Any) -> Any:
    """A case that ``make faults`` runs."""
    return _marked(case, pytest.mark.faults)


def served(case: Any) -> Any:
    """A case that needs a real server: one of the second tier."""
    return _marked(case, pytest.mark.servers)


def _marked(case: Any, mark: pytest.MarkDecorator) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
