"""When messages of other programs expire, for whatever passes them on."""

from __future__ import annotations

import pytest
from nats.js.api import Header

from stepward.transport.nats.application.streams import EXPIRES, expiry_of
from stepward.transport.queues.message_expiry import MOST_SECONDS, expiry

NOW = 1000.0


@pytest.mark.parametrize(
    ("said", "ttl", "found"),
    [
        (None, None, None),
        ("1007.5", None, 1007.5),
        (1007.5, 3.0, 1007.5),
        (None, 3.0, 1003.0),
        ("no number", 3.0, None),
        ("nan", None, None),
        ("inf", None, None),
        ("1e300", None, NOW + MOST_SECONDS),
    ],
)
def test_the_instant_that_a_message_says_is_before_its_time_to_live(
    said: object, ttl: float | None, found: float | None
) -> None:
    assert expiry(said, ttl, NOW) == found


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (None, None),
        ({EXPIRES: "1002.0", Header.MSG_TTL.value: "9"}, 1002.0),
        ({Header.MSG_TTL.value: "9"}, 1009.0),
        ({Header.MSG_TTL.value: "9s"}, 1009.0),
        ({Header.MSG_TTL.value: "never"}, None),
    ],
)
def test_a_message_at_nats_expires_as_its_headers_say(headers: dict[str, str] | None, found: float | None) -> None:
    assert expiry_of(headers, NOW) == found
