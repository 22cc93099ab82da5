"""Settings: where they come from, what they refuse, and that secrets stay secret."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stepward.errors import SettingsError
from stepward.settings import Settings, names
from stepward.settings.sink_settings import Severity, SinkType

SECRET = "canary-0123456789"
HOOK = "https://hooks.example.com/canary-path"


def load(folder: Path, environ: Mapping[str, str] | None = None, **overrides: object) -> Settings:
    return Settings.load(overrides, environ or {}, folder)


def test_without_any_source_the_defaults_stand(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings == Settings()
    assert settings.store == "sqlite:///stepward.db"
    assert settings.transport == "local"
    assert (settings.lease, settings.supervisor_every, settings.poll, settings.drain) == (10, 1, 1, 10)
    assert (settings.payload_bytes, settings.history_bytes) == (1_048_576, 67_108_864)
    assert (settings.history_steps, settings.commit_rows) == (50_000, 5_000)
    assert (settings.tasks_in_flight, settings.tasks_in_memory, settings.evict_after) == (1_000, 100_000, 60)
    assert (settings.retention, settings.recovery_limit) == (30 * 86_400, 5)
    assert settings.replay_check is False
    assert settings.webhook_url is settings.webhook_secret is None
    assert settings.log_level == "INFO"
    assert {line.source for line in settings.describe()} == {"default"}
    assert [line.name for line in settings.describe()] == names()


def test_each_source_gives_way_to_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.stepward]\nlease = 2\npoll = 2\ndrain = 2\nretention = '2d'\n")
    (tmp_path / "stepward.toml").write_text("lease = '3s'\npoll = '3s'\ndrain = 3.0\n")
    environ = {"STEPWARD_LEASE": "4", "STEPWARD_POLL": "4s", "HOME": "/nowhere"}
    settings = load(tmp_path, environ, lease="5s")
    assert (settings.lease, settings.poll, settings.drain, settings.retention) == (5, 4, 3, 172_800)
    sources = {line.name: line.source for line in settings.describe() if line.source != "default"}
    assert sources == {
        "lease": "argument",
        "poll": "STEPWARD_POLL",
        "drain": "stepward.toml",
        "retention": "pyproject.toml",
    }


def test_a_pyproject_without_a_table_of_ours_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nlease = 'odd'\n")
    assert load(tmp_path) == Settings()


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("evict_after", "never", None),
        ("retention", "never", None),
        ("retention_rules", "", ()),
        ("retention_rules", "a=1d, */undone=never", (("a", None, 86_400.0), (None, "undone", None))),
        ("archive", None, None),
        ("archive", "var/archive of 2026", "var/archive of 2026"),
        ("evict_after", None, None),
        ("lease", "1s", 1.0),
        ("lease", "10m", 600.0),
        ("payload_bytes", "1KiB", 1024),
        ("payload_bytes", "64 MiB", 64 * 1024**2),
        ("payload_bytes", 2048, 2048),
        ("tasks_in_flight", "1_000_000", 1_000_000),
        ("tasks_in_flight", " 7 ", 7),
        ("replay_check", "yes", True),
        ("replay_check", "0", False),
        ("replay_check", True, True),
        ("log_level", "debug", "DEBUG"),
        ("transport", "store", "store"),
        ("transport", "nats://one,two:4223?replicas=3", "nats://one,two:4223?replicas=3"),
        ("store", "sqlite:////var/lib/x.db", "sqlite:////var/lib/x.db"),
    ],
)
def test_values_are_read_as_people_write_them(tmp_path: Path, name: str, written: object, read: object) -> None:
    assert getattr(load(tmp_path, None, **{name: written}), name) == read


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("lease", "0.9s"), ("lease", "10m1s"), ("lease", "never"), ("lease", None), ("lease", True),
        ("lease", "nan"),
        pytest.param("lease", 10**5000, id="huge-duration"),
        ("drain", "-1s"), ("retention", 0), ("retention_rules", "a"), ("retention_rules", "*=1d"),
        ("retention_rules", "a/error=1d"), ("retention_rules", "a=1d,a=2d"), ("retention_rules", 7),
        ("poll", []), ("poll", 0),
        ("payload_bytes", 1023), ("payload_bytes", 64 * 1024**2 + 1), ("payload_bytes", "1MB"),
        ("payload_bytes", 2048.0),
        ("payload_bytes", "999999999999999GiB"), ("tasks_in_flight", 0), ("tasks_in_flight", 1_000_001),
        ("tasks_in_flight", True), ("tasks_in_flight", "1__0"), ("tasks_in_flight", "1,000"),
        pytest.param("tasks_in_flight", 10**5000, id="huge-count"),
        ("recovery_limit", "five"), ("replay_check", "maybe"), ("replay_check", 1), ("replay_check", None),
        ("archive", ""), ("archive", " "), ("archive", "a\nb"), ("archive", "a\0b"), ("archive", 4),
        ("log_level", "LOUD"), ("log_level", 10), ("store", ""), ("store", "shop.db"), ("store", "sqlite://"),
        ("store", "sqlite:///a\nb"), ("store", 3), ("transport", "redis://localhost"), ("transport", "nats://"),
        ("transport", "nats://a b"), ("transport", None),
        ("webhook_url", "ftp://example.com/"), ("webhook_url", "https://"), ("webhook_url", "https://[::1/"),
        ("webhook_url", 4), ("webhook_secret", ""), ("webhook_secret", 4),
        ("console_url", "ftp://a"), ("console_url", "https://a/?b=1"), ("console_url", "https://u@a"),
        ("warn_task_at", 1), ("warn_task_at", "80"), ("warn_disk_free", "0%"), ("warn_queue_age", "9s"),
        ("warn_standby_behind", "1B"), ("warn_lease_at", True),
        ("alert_sinks", "{"), ("alert_sinks", [1]), ("console_url", 4),
    ],
    ids=lambda value: None if isinstance(value, int) else repr(value),
)  # fmt: skip
def test_all_else_is_refused_in_one_line_that_names_setting_and_source(
    tmp_path: Path, name: str, written: object
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, None, **{name: written})
    message = str(refused.value)
    assert message.startswith(f"{name} (argument): expected ")
    assert "; " in message
    assert "\n" not in message
    assert len(message) < 250


def test_an_error_names_the_variable_or_file_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^lease \(STEPWARD_LEASE\): expected 1s to 10m, found '11m'"):
        load(tmp_path, {"STEPWARD_LEASE": "11m"})
    (tmp_path / "stepward.toml").write_text("lease = '11m'\n")
    with pytest.raises(SettingsError, match=r"^lease \(stepward.toml\): "):
        load(tmp_path)


@pytest.mark.parametrize("in_file", ["leese = 3", "[leese]\na = 1"])
def test_an_unknown_name_is_refused_with_the_nearest_known_one(tmp_path: Path, in_file: str) -> None:
    with pytest.raises(SettingsError, match=r"^STEPWARD_LEESE: .* found 'leese'; did you mean 'lease'\?$"):
        load(tmp_path, {"STEPWARD_LEESE": "3"})
    with pytest.raises(SettingsError, match=r"^argument: .* did you mean 'tasks_in_flight'\?$"):
        load(tmp_path, None, tasks_flight=3)
    (tmp_path / "stepward.toml").write_text(in_file)
    with pytest.raises(SettingsError, match=r"^stepward.toml: .* found 'leese'; did you mean 'lease'\?$"):
        load(tmp_path)


def test_the_field_of_sources_is_no_setting(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="expected a known setting"):
        load(tmp_path, {"STEPWARD_SOURCES": "x"})


def test_variables_that_are_something_else_are_left_alone(tmp_path: Path) -> None:
    environ = {
        "STEPWARD_FAILPOINT": "supervisor.decide.before:3",
        "STEPWARD_PORT": "tcp://10.0.0.1:80",
        "STEPWARD_PORT_80_TCP_ADDR": "10.0.0.1",
        "STEPWARD_SERVICE_HOST": "10.0.0.1",
        "STEPWARD_CONSOLE_SERVICE_PORT_HTTP": "80",
        "stepward_lease": "x",
    }
    assert load(tmp_path, environ) == Settings()


@pytest.mark.parametrize("content", [b"lease = ", b"\xff", b"lease = 1\nlease = 2"])
def test_a_damaged_file_is_reported_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "stepward.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"^stepward.toml: expected a TOML file, found: "):
        load(tmp_path)


def test_a_table_of_ours_must_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nstepward = 3\n")
    with pytest.raises(SettingsError, match=r"^pyproject.toml: expected the table \[tool.stepward\]"):
        load(tmp_path)


def test_settings_that_contradict_one_another_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^webhook_secret: expected one beside webhook_url"):
        load(tmp_path, None, webhook_url=HOOK)
    with pytest.raises(SettingsError, match=r"^history_bytes: expected at least payload_bytes"):
        load(tmp_path, None, payload_bytes="2MiB", history_bytes="1MiB")


def test_a_direct_construction_is_validated_too() -> None:
    with pytest.raises(SettingsError, match=r"^lease: expected 1s to 10m"):
        Settings(lease=0.5)


def test_secrets_may_stand_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(f"{SECRET}\n")
    by_file = load(tmp_path, None, webhook_secret="file:secret.txt")
    by_variable = load(tmp_path, {"HOOK_SECRET": SECRET, "STEPWARD_WEBHOOK_SECRET": "env:HOOK_SECRET"})
    plain = load(tmp_path, None, webhook_secret=SECRET)
    assert by_file.webhook_secret == by_variable.webhook_secret == plain.webhook_secret == SECRET


def test_a_missing_secret_is_reported_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"webhook_secret \(argument\): expected a readable file at .*absent"):
        load(tmp_path, None, webhook_secret="file:absent")
    with pytest.raises(SettingsError, match=r"webhook_secret \(argument\): expected the variable ABSENT"):
        load(tmp_path, None, webhook_secret="env:ABSENT")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(SettingsError, match=r"webhook_secret .*expected a secret"):
        load(tmp_path, None, webhook_secret="file:empty")


def test_no_secret_shows_anywhere(tmp_path: Path) -> None:
    settings = load(tmp_path, None, webhook_secret=SECRET, webhook_url=HOOK)
    shown = repr(settings) + str(settings) + str(settings.describe())
    assert "canary" not in shown
    assert "webhook_secret=(redacted)" in shown
    assert "https://hooks.example.com/…" in shown


@pytest.mark.parametrize("name", ["store", "transport"])
def test_a_refused_url_does_not_show_its_password(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, None, **{name: "mysql://user:canary@host/shop"})
    assert "canary" not in str(refused.value)
    assert "mysql://…" in str(refused.value)


def test_a_store_is_described_without_its_password(tmp_path: Path) -> None:
    settings = load(tmp_path, None, store="postgresql://user:canary@one,two:5433/shop?password=canary")
    shown = {line.name: line.value for line in settings.describe()}
    assert shown["store"] == "postgresql://one,two:5433/shop"
    assert "canary" not in repr(settings)


def test_a_broker_is_described_without_its_password(tmp_path: Path) -> None:
    settings = load(tmp_path, None, transport="nats://user:canary@one,two:4223?replicas=3")
    shown = {line.name: line.value for line in settings.describe()}
    assert shown["transport"] == "nats://one,two:4223?replicas=3"
    assert "canary" not in repr(settings)


def test_documented_settings_are_readable(tmp_path: Path) -> None:
    shown = {line.name: line.value for line in load(tmp_path, None, retention="never", lease="1m30s").describe()}
    assert shown["retention"] == "never"
    assert shown["lease"] == "1m 30s"
    assert shown["payload_bytes"] == "1 MiB"
    assert shown["commit_rows"] == "5,000"
    assert shown["archive"] == "none"
    assert {line.name: line.value for line in load(tmp_path, None, archive="/mnt/old").describe()}[
        "archive"
    ] == "/mnt/old"


def test_settings_are_a_value() -> None:
    settings: Any = Settings()
    with pytest.raises(AttributeError):
        settings.lease = 4
    assert hash(settings) == hash(Settings())


def test_every_default_can_be_written_in_a_file(tmp_path: Path) -> None:
    defaults = {name: getattr(Settings(), name) for name in names()}
    lines = [
        f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
        for name, value in defaults.items()
        if value is not None
    ]
    (tmp_path / "stepward.toml").write_text("\n".join(lines))
    assert tomllib.loads("\n".join(lines))
    assert load(tmp_path) == Settings()


@pytest.mark.parametrize("given", ["Alerts.internal, 10.0.0.7", ["alerts.internal", "10.0.0.7"]])
def test_private_hosts_of_webhooks_are_a_list(tmp_path: Path, given: object) -> None:
    assert load(tmp_path, None, webhook_private_hosts=given).webhook_private_hosts == ("alerts.internal", "10.0.0.7")
    assert "webhook_private_hosts=alerts.internal, 10.0.0.7" in repr(load(tmp_path, None, webhook_private_hosts=given))


@pytest.mark.parametrize("given", ["", "a b", "https://a/", 5, [5], "a,,b"])
def test_private_hosts_that_are_no_hosts_are_refused(tmp_path: Path, given: object) -> None:
    with pytest.raises(SettingsError, match=r"webhook_private_hosts .*expected hosts such as"):
        load(tmp_path, None, webhook_private_hosts=given)


def test_a_pipe_in_place_of_settings_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "stepward.toml")
    with pytest.raises(
        SettingsError, match=r"stepward\.toml: expected a TOML file, found: a pipe or a device; repair it"
    ):
        load(tmp_path)


def test_a_pipe_in_place_of_a_secret_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret")
    with pytest.raises(
        SettingsError, match=r"webhook_secret .*expected a readable file at .*found: a pipe or a device"
    ):
        load(tmp_path, None, webhook_secret="file:secret")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a" + ".a" * 100_000 + " = 1", "#" * 2_000_000], ids=["deep", "dotted", "large"]
)
def test_settings_that_are_too_deep_or_too_large_are_refused_in_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "stepward.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"stepward\.toml: expected a TOML file") as raised:
        load(tmp_path)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    "sinks",
    [
        {"Ops": {"type": "log"}}, {"ops": 1}, {"ops": {}}, {"ops": {"type": "smoke"}},
        {"ops": {"type": "webhook", "url": HOOK}}, {"ops": {"type": "queue"}}, {"ops": {"type": "log", "colour": 1}},
        {"ops": {"type": "log", "severity": 1}}, {"ops": {"type": "log", "workflows": []}},
        {"ops": {"type": "queue", "queue": "a b"}}, {f"s{number}": {"type": "log"} for number in range(21)},
    ],
)  # fmt: skip
def test_a_wrong_sink_is_refused_in_one_line_that_names_it(tmp_path: Path, sinks: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"^alert_sinks \(argument\): .*expected .*; ") as refused:
        load(tmp_path, None, alert_sinks=sinks)
    assert len(str(refused.value)) < 250


SINKS: dict[str, dict[str, object]] = {
    "ops": {"type": "webhook", "url": "env:OPS_URL", "secret": "file:ops.txt", "severity": "error"},
    "pager": {"type": "apprise", "url": "pagerduty://canary@canary", "workflows": ["pay*"]},
    "bus": {"type": "queue", "queue": "alerts"},
}


def test_sinks_are_the_same_in_python_in_toml_and_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "ops.txt").write_text(SECRET)
    variables = {"OPS_URL": HOOK}
    given = load(tmp_path, variables, alert_sinks=SINKS)
    assert load(tmp_path, {**variables, "STEPWARD_ALERT_SINKS": json.dumps(SINKS)}) == given
    lines = [
        f"[alert_sinks.{name}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in sink.items())
        for name, sink in SINKS.items()
    ]
    (tmp_path / "stepward.toml").write_text("".join(lines))
    assert load(tmp_path, variables) == given
    ops, pager, bus = given.alert_sinks or ()
    assert (ops.url, ops.secret, ops.severity, ops.workflows) == (HOOK, SECRET, Severity.ERROR, None)
    assert (pager.type, pager.workflows, bus.queue) == (SinkType.APPRISE, ("pay*",), "alerts")


def test_what_is_shown_of_sinks_holds_no_secret(tmp_path: Path) -> None:
    (tmp_path / "ops.txt").write_text(SECRET)
    shown = repr(load(tmp_path, {"OPS_URL": HOOK}, alert_sinks=SINKS))
    assert "canary" not in shown
    assert "ops (webhook https://hooks.example.com/…, error and above); pager (apprise pagerduty://…, of pay*)" in shown


def test_a_sink_may_not_have_the_name_of_the_webhook_beside_it(tmp_path: Path) -> None:
    sinks = {"webhook": {"type": "log"}}
    with pytest.raises(SettingsError, match=r"^alert_sinks: expected another name than webhook"):
        load(tmp_path, None, webhook_url=HOOK, webhook_secret=SECRET, alert_sinks=sinks)


def test_the_address_of_the_console_ends_without_a_slash(tmp_path: Path) -> None:
    assert (
        load(tmp_path, None, console_url="https://ops.example.com/stepward/").console_url
        == "https://ops.example.com/stepward"
    )


def test_a_share_is_written_as_a_number_or_in_percent(tmp_path: Path) -> None:
    for written in (0.25, "0.25", "25%", "25 %"):
        assert load(tmp_path, None, warn_disk_free=written).warn_disk_free == 0.25
    off = load(tmp_path, None, warn_disk_free="never", warn_standby_behind="never")
    assert (off.warn_disk_free, off.warn_standby_behind) == (None, None)
