from __future__ import annotations

import pytest

from stepward.errors import SettingsError
from stepward.store.address import DEFAULT, PostgresPlace, is_postgres, postgres_place, rotated, shown, sqlite_path


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (DEFAULT, "stepward.db"),
        ("sqlite:///data/shop.db", "data/shop.db"),
        ("sqlite:////var/lib/shop.db", "/var/lib/shop.db"),
        ("sqlite:///file:/shop?vfs=memdb", "file:/shop?vfs=memdb"),
    ],
)
def test_an_address_names_a_file(address: str, path: str) -> None:
    assert sqlite_path(address) == path


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("shop.db", "no scheme"),
        ("mysql://host/shop", "found mysql"),
        ("sqlite://shop.db", "three slashes"),
        ("sqlite://", "three slashes"),
        ("sqlite:///", "name a file"),
        ("sqlite:///data/", "name a file"),
    ],
)
def test_another_address_is_refused_in_one_line(address: str, found: str) -> None:
    with pytest.raises(SettingsError, match=found) as caught:
        sqlite_path(address)
    assert "\n" not in str(caught.value)


def test_a_refusal_keeps_passwords_to_itself() -> None:
    with pytest.raises(SettingsError) as caught:
        sqlite_path("mysql://ada:secret@host/shop")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


POSTGRES = "postgresql://ada:secret@one,two:5433/shop"


def test_a_postgresql_address_is_handed_to_the_driver_without_our_own_parameters() -> None:
    assert is_postgres(POSTGRES)
    place = postgres_place(f"{POSTGRES}?sslmode=require&schema=till&pooler=transaction")
    expected = PostgresPlace(f"{POSTGRES}?sslmode=require", "postgresql://one,two:5433/shop", "till", True)
    assert place == expected
    assert postgres_place(POSTGRES) == PostgresPlace(POSTGRES, "postgresql://one,two:5433/shop")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("pooler=session", "found 'session'"), ("schema=", "found none"), ("schema=$1", r"found '\$1'"),
        ("schema=a%00b", r"found 'a\\x00b'"), ("schema=a%22b", "found 'a\"b'"), ("schema=a.b", "found 'a.b'"),
        ("schema=1", "found '1'"), (f"schema={'a' * 64}", "at most 63 bytes"), (f"schema={'ä' * 32}", "at most 63"),
        ("schema=a;drop", "found 'a;drop'"), ("schema=a b", "found 'a b'"), ("schema=a%0Ab", "found"),
    ],
)  # fmt: skip
def test_a_parameter_that_cannot_be_is_refused(query: str, found: str) -> None:
    with pytest.raises(SettingsError, match=found) as caught:
        postgres_place(f"{POSTGRES}?{query}")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_shown_of_an_address_holds_no_secret() -> None:
    assert shown(f"{POSTGRES}?password=secret") == "postgresql://one,two:5433/shop"
    assert shown(DEFAULT) == DEFAULT


@pytest.mark.parametrize(("by", "hosts"), [(0, "one,two:5433"), (1, "two:5433,one"), (2, "one,two:5433")])
def test_another_host_is_asked_first(by: int, hosts: str) -> None:
    assert rotated(f"{POSTGRES}?sslmode=require", by) == f"postgresql://ada:secret@{hosts}/shop?sslmode=require"


@pytest.mark.parametrize("host", ["db:0", "db:65536", "db:99999999999", "db:word", "a,b:-1", "[::1]:x", "u:p/w@db"])
def test_an_invalid_port_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="expected ports from 1 to 65535"):
        postgres_place(f"postgresql://{host}/shop")


def test_an_invalid_address_is_refused() -> None:
    with pytest.raises(SettingsError, match="found another form"):
        postgres_place("postgresql://[::1/shop")


@pytest.mark.parametrize("host", ["", "db", "db:1", "a:65535,b", "[::1]", "[::1]:5432", "user:99999@db"])
def test_any_other_port_will_do(host: str) -> None:
    assert postgres_place(f"postgresql://{host}/shop").shown.endswith("/shop")
