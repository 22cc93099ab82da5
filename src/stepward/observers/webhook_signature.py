"""Signatures of webhooks in the form of Standard Webhooks: id, time and body under one HMAC-SHA256."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence

from stepward.errors import Refused, SettingsError

PREFIX = "whsec_"
SHORTEST_KEY = 16
TOLERANCE = 300.0
"""Most seconds by which a message may be older or newer than the receiver's clock."""
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def signed_headers(secrets: Sequence[str], id: str, at: float, body: bytes) -> dict[str, str]:
    """The three headers that sign ``body``, with a signature by each secret."""
    timestamp = str(int(at))
    signatures = [_signature(key_of(secret), id, timestamp, body) for secret in secrets]
    return {ID: id, TIMESTAMP: timestamp, SIGNATURE: " ".join(signatures)}


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float, *, tolerance: float = TOLERANCE) -> str:
    """The id of a webhook that a holder of ``secret`` sent, for receivers; raises Refused.

    ``body`` are the bytes as received, ``now`` seconds since 1970. A sender repeats a webhook under one id: to process
    it once, remember the ids of the last ten minutes.
    """
    given = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not given.get(name)]
    if missing:
        raise Refused(f"webhook: expected the header {missing[0]}, found none; refuse the request")
    _check_time(given[TIMESTAMP], now, tolerance)
    expected = _signature(key_of(secret), given[ID], given[TIMESTAMP], body).encode()
    # A sender that changes its secret sends several signatures; all are compared, in constant time.
    matches = [hmac.compare_digest(expected, found.encode("utf-8", "replace")) for found in given[SIGNATURE].split()]
    if not any(matches):
        raise Refused("webhook: expected a signature made with the secret, found another; refuse the request")
    return given[ID]


def check_secret(secret: str, setting: str) -> None:
    """Raises SettingsError, under the name of the setting, for a secret that signs nothing."""
    try:
        key_of(secret, setting)
    except Refused as error:
        raise SettingsError(str(error)) from None


def key_of(secret: str, setting: str = "webhook_secret") -> bytes:
    """The key of a secret: base64 after ``whsec_``, else the text itself; raises Refused when it is short."""
    try:
        key = (
            base64.b64decode(secret.removeprefix(PREFIX), validate=True)
            if secret.startswith(PREFIX)
            else secret.encode()
        )
    except (binascii.Error, UnicodeEncodeError):
        key = b""
    if len(key) < SHORTEST_KEY:
        raise Refused(
            f"{setting}: expected {SHORTEST_KEY} bytes or more, or {PREFIX} and base64 of such, "
            "found less; make a longer one"
        )
    return key


def _signature(key: bytes, id: str, timestamp: str, body: bytes) -> str:
    signed = f"{id}.{timestamp}.".encode("utf-8", "replace") + body
    return f"v1,{base64.b64encode(hmac.digest(key, signed, 'sha256')).decode()}"


def _check_time(timestamp: str, now: float, tolerance: float) -> None:
    try:
        age = now - int(timestamp[:20])
    except ValueError:
        raise Refused("webhook: expected webhook-timestamp in seconds, found other text; refuse the request") from None
    if abs(age) > tolerance:
        raise Refused(f"webhook: expected a time within {tolerance:.0f} s, found {age:.0f} s ago; refuse the request")
