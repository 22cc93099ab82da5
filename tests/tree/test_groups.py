"""That tests which need the same slow servers are run by one process: where they are not, each process starts all."""

from __future__ import annotations

import pytest

from tests.conftest import SHARED


@pytest.mark.parametrize("server", SHARED)
def test_tests_of_a_shared_server_are_in_its_group(server: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("loadgroup", default=False):
        assert request.node.nodeid.endswith(f"@{server}"), "the versions of pytest and pytest-xdist do not go together"
    assert [mark.args for mark in request.node.iter_markers("xdist_group")] == [(server,)]
