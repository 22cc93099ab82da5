from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.processes import asked


@pytest.mark.parametrize(
    ("url", "token", "found"),
    [
        ("http://ops.example", "stw_x_y", "--url: expected https, or http on this host"),
        ("ftp://127.0.0.1", "stw_x_y", "--url: expected https, or http on this host"),
        ("https://ops.example", "", "STEPWARD_TOKEN: expected an API token for https://ops.example"),
    ],
)
def test_a_token_is_sent_over_tls_or_within_this_host_only(tmp_path: Path, url: str, token: str, found: str) -> None:
    given = {"STEPWARD_TOKEN": token} if token else {}
    result = asked(tmp_path, "mcp", "--url", url, **given)
    assert result.returncode == 2
    assert found in result.stderr and "Traceback" not in result.stderr


def test_a_console_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    result = asked(tmp_path, "mcp", "--url", "http://127.0.0.1:9", STEPWARD_TOKEN="stw_x_y")
    assert result.returncode == 3
    assert "http://127.0.0.1:9: expected the API to answer, found ConnectError" in result.stderr
