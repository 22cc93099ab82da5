"""Error objects: what is kept of earlier attempts, and what applications are sent."""

from __future__ import annotations

import msgspec

from stepward.model.failures import EARLIER, FailureConverter, public, read, settled


def test_the_last_earlier_attempts_are_kept() -> None:
    known: bytes | None = None
    for attempt in range(1, 3 * EARLIER):
        sent = msgspec.json.encode({"message": f"failure {attempt}", "type": "HttpError"})
        known = settled(sent, attempt=attempt, maybe_done=False, before=known)
    last = 3 * EARLIER - 1
    assert [each["attempt"] for each in read(known)["earlier"]] == list(range(last - EARLIER, last))


def test_applications_are_sent_the_error_without_what_is_inside() -> None:
    kept = {"message": "no", "type": "HttpError", "data": {"status": 503}, "maybe_done": True, "attempt": 2}
    inside = {
        "at": "bank.py:8 in charge",
        "traceback": "Traceback",
        "earlier": [{"attempt": 1}],
        "failure": {"at": "x"},
    }
    assert read(public(msgspec.json.encode(kept | inside))) == kept


def test_a_text_whose_redaction_fails_is_withheld() -> None:
    def redact(text: str) -> str:
        raise ValueError(text)

    error = FailureConverter(redact=redact).convert(KeyError("card 4111"))
    assert b"4111" not in error
    assert read(error)["message"] == "(redact raised ValueError)"
