"""Signatures: the form of Standard Webhooks, and every way in which one must not be taken."""

from __future__ import annotations

import pytest

from stepward.errors import Refused
from stepward.observers import verify
from stepward.observers.webhook_signature import signed_headers

# Key, message and signature as the specification's reference implementations have them in their tests.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIME = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def headers(**changes: str) -> dict[str, str]:
    made = {"Webhook-Id": ID, "Webhook-Timestamp": str(TIME), "Webhook-Signature": SIGNATURE}
    return made | {name.replace("_", "-"): value for name, value in changes.items()}


def test_the_form_is_that_of_the_specification() -> None:
    assert signed_headers([SECRET], ID, TIME + 0.9, BODY) == {
        "webhook-id": ID,
        "webhook-timestamp": str(TIME),
        "webhook-signature": SIGNATURE,
    }
    assert verify(SECRET, headers(), BODY, TIME) == ID


def test_any_of_several_signatures_is_enough() -> None:
    assert verify(SECRET, headers(Webhook_Signature=f"v1,AAAA v2,x {SIGNATURE}"), BODY, TIME) == ID


def test_a_plain_secret_signs_too() -> None:
    made = signed_headers(["a plain secret of 16+"], "alert-1", 5.0, b"{}")
    assert verify("a plain secret of 16+", made, b"{}", 5.0) == "alert-1"


@pytest.mark.parametrize(
    "changed",
    [
        {"Webhook_Id": "msg_other"},
        {"Webhook_Timestamp": str(TIME + 1)},
        {"Webhook_Signature": "v1,AAAA"},
        {"Webhook_Signature": SIGNATURE.replace("v1", "v2")},
        {"Webhook_Signature": SIGNATURE.removeprefix("v1,")},
        {"Webhook_Signature": "\ud800"},
        {"Webhook_Id": "\ud800"},
    ],
)
def test_a_changed_webhook_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(Refused, match="expected a signature made with the secret"):
        verify(SECRET, headers(**changed), BODY, TIME)


def test_another_body_or_secret_is_refused() -> None:
    with pytest.raises(Refused, match="expected a signature"):
        verify(SECRET, headers(), BODY + b" ", TIME)
    with pytest.raises(Refused, match="expected a signature"):
        verify("another secret entirely", headers(), BODY, TIME)


@pytest.mark.parametrize("name", ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"])
def test_a_missing_or_empty_header_is_refused_by_name(name: str) -> None:
    without = {key: value for key, value in headers().items() if key != name}
    for given in (without, without | {name: ""}):
        with pytest.raises(Refused, match=f"expected the header {name.lower()}"):
            verify(SECRET, given, BODY, TIME)


def test_a_header_without_any_signature_is_refused() -> None:
    for given in (headers(Webhook_Signature=" "), headers(Webhook_Signature=" , ")):
        with pytest.raises(Refused, match="expected a signature made with the secret"):
            verify(SECRET, given, BODY, TIME)


def test_the_window_of_time_is_five_minutes_either_way() -> None:
    for now in (TIME - 300, TIME + 300):
        assert verify(SECRET, headers(), BODY, now) == ID
    for now in (TIME - 301, TIME + 301):
        with pytest.raises(Refused, match="expected a time within 300 s"):
            verify(SECRET, headers(), BODY, now)
    with pytest.raises(Refused, match="expected webhook-timestamp in seconds"):
        verify(SECRET, headers(Webhook_Timestamp="soon"), BODY, TIME)


@pytest.mark.parametrize("secret", ["", "short", "whsec_", "whsec_AAAA", "whsec_***", "\ud800" * 20])
def test_a_weak_or_malformed_secret_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(Refused, match="webhook_secret: expected 16 bytes or more") as refused:
        signed_headers([secret], ID, TIME, BODY)
    assert "***" not in str(refused.value)
