"""Where a webhook may go: no metadata service, no plain http off the host, no second look at a name."""

from __future__ import annotations

import pytest

from stepward.errors import AlertRefused, SettingsError
from stepward.observers.webhook_address import addresses_of, resolve, target_of


def allowed(url: str, *found: str, allow_http: bool = False, private: tuple[str, ...] = ()) -> list[str]:
    return addresses_of(target_of(url), lambda host, port: list(found), allow_http=allow_http, private_hosts=private)


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("https://hooks.example.com", "hooks.example.com", "/"),
        ("https://hooks.example.com/a/b?c=d", "hooks.example.com", "/a/b?c=d"),
        ("https://hooks.example.com:8443/", "hooks.example.com:8443", "/"),
        ("https://hooks.example.com:443/", "hooks.example.com", "/"),
        ("http://127.0.0.1:9/x", "127.0.0.1:9", "/x"),
        ("https://[2001:db8::1]:8443/x", "[2001:db8::1]:8443", "/x"),
    ],
)
def test_urls_are_taken_apart(url: str, authority: str, path: str) -> None:
    target = target_of(url)
    assert (target.authority, target.path) == (authority, path)


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example.com", "ftp://example.com/canary", "file:///etc/canary", "https://", "https:///canary",
        "https://user:canary@example.com/", "https://user@example.com/", "https://example.com/#canary",
        "https://example.com:99999/canary", "https://example.com:port/canary", "https://[::1/canary",
        "https://exa mple.com/canary", "https://example.com/canary\r\nX: y", "https://ex\u00e4mple.com/canary",
        "gopher://example.com/canary",
    ],
)  # fmt: skip
def test_other_urls_are_refused_without_repeating_them(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^webhook_url: expected .*; correct the URL$") as refused:
        target_of(url)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("address", ["93.184.216.34", "2001:db8::1", "::ffff:93.184.216.34", "2002:5db8:d822::1"])
def test_receivers_anywhere_are_reached_by_https(address: str) -> None:
    assert allowed("https://hooks.example.com/", address) == [address]


PRIVATE = [
    "10.0.0.7", "172.16.0.1", "172.31.255.254", "192.168.1.1", "100.64.0.1", "127.0.0.1", "127.9.9.9", "0.1.2.3",
    "192.0.0.8", "198.18.0.1", "240.0.0.1", "255.255.255.255", "::1", "fd12::1", "fec0::1", "64:ff9b:1::1",
    "::ffff:10.0.0.7", "::10.0.0.7", "::ffff:0:10.0.0.7", "64:ff9b::10.0.0.7", "2002:a00:7::1",
    "2001:0:a00:7::1", "2001:0:4136:e378:8000:63bf:f5ff:fff8", "::ffff:127.0.0.1", "::127.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_for_hosts_that_are_allowed_by_name(address: str) -> None:
    with pytest.raises(AlertRefused, match=r"which is private; name hooks\.example\.com in its private_hosts"):
        allowed("https://hooks.example.com/", "93.184.216.34", address)
    with pytest.raises(AlertRefused, match="which is private"):
        allowed("https://hooks.example.com/", address, allow_http=True, private=("other.example.com",))
    assert allowed("https://Hooks.example.com/", address, private=("hooks.example.com",)) == [address]


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://[::1]/", "https://localhost/"])
def test_a_url_that_names_this_host_reaches_it(url: str) -> None:
    assert allowed(url, "127.0.0.1", "::1") == ["127.0.0.1", "::1"]
    with pytest.raises(AlertRefused, match="which is private"):
        allowed(url, "10.0.0.7")


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "100.100.100.200", "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "0.0.0.0", "::",
        "224.0.0.1", "ff02::1", "::169.254.169.254", "::ffff:0:169.254.169.254", "2001:0:a9fe:a9fe::1",
        "2001:0:4136:e378:8000:63bf:5601:5601", "64:ff9b::100.100.100.200",
    ],
)  # fmt: skip
def test_addresses_that_no_receiver_has_are_refused(address: str) -> None:
    with pytest.raises(AlertRefused, match="which no webhook may reach"):
        allowed("https://hooks.example.com/", address, allow_http=True, private=("hooks.example.com",))


def test_one_forbidden_address_among_several_is_enough() -> None:
    with pytest.raises(AlertRefused):
        allowed("https://hooks.example.com/", "93.184.216.34", "169.254.169.254")


def test_plain_http_stays_on_this_host() -> None:
    assert allowed("http://localhost:8000/", "127.0.0.1", "::1") == ["127.0.0.1", "::1"]
    assert allowed("http://localhost:8000/", "::ffff:127.0.0.1")
    # A name that says localhost proves nothing: its address does.
    with pytest.raises(AlertRefused, match=r"found http to 10.0.0.7; use https"):
        allowed("http://localhost:8000/", "10.0.0.7", private=("localhost",))
    with pytest.raises(AlertRefused, match=r"found http to 93.184.216.34; use https"):
        allowed("http://hooks.example.com/", "93.184.216.34")
    assert allowed("http://hooks.example.com/", "93.184.216.34", allow_http=True) == ["93.184.216.34"]


def test_a_name_without_an_address_is_refused() -> None:
    with pytest.raises(AlertRefused, match="found no address"):
        allowed("https://hooks.example.com/")


@pytest.mark.parametrize("problem", [OSError("name unknown"), UnicodeError("label too long")])
def test_a_name_that_does_not_resolve_is_refused(problem: Exception) -> None:
    def failing(host: str, port: int) -> list[str]:
        raise problem

    with pytest.raises(AlertRefused, match="expected a host name that resolves"):
        addresses_of(target_of("https://hooks.example.com/"), failing, allow_http=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1"])
def test_every_spelling_of_an_address_is_that_address(host: str) -> None:
    assert resolve(host, 80) == ["127.0.0.1"]
