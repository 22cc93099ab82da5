"""A sealed payload opens in its own place alone, with any key that is there."""

from __future__ import annotations

import base64

import pytest

from stepward import Encryption
from stepward.encryption import KeylessCodec, codec_of, read_encryption
from stepward.errors import Refused, SettingsError
from stepward.payload import readable
from stepward.payload.sealed import PayloadCodec, why_unopened

OLD, NEW = bytes(32), bytes(range(32))
PAYLOAD = b'{"card":"4111"}'


def codec(app: str = "shop", current: str = "new", **keys: bytes) -> PayloadCodec:
    found = codec_of(app, Encryption(current, keys or {"old": OLD, "new": NEW}))
    assert found is not None
    return found


def test_a_payload_is_opened_where_it_was_sealed() -> None:
    sealed = codec().seal(PAYLOAD, "uid", "step.input\0pay/1")
    assert b"4111" not in sealed
    assert codec().open(sealed, "uid", "step.input\0pay/1") == PAYLOAD


def test_the_same_payload_is_sealed_differently_each_time() -> None:
    assert codec().seal(PAYLOAD, "uid", "step.input") != codec().seal(PAYLOAD, "uid", "step.input")


@pytest.mark.parametrize(
    ("app", "owner", "place"),
    [
        ("other", "uid", "step.input\0pay/1"),
        ("shop", "other", "step.input\0pay/1"),
        ("shop", "uid", "step.input\0pay/2"),
    ],
    ids=["another application", "another task", "another step"],
)
def test_moved_to_another_place_it_is_not_opened_and_says_so(app: str, owner: str, place: str) -> None:
    sealed = codec().seal(PAYLOAD, "uid", "step.input\0pay/1")
    moved = codec(app).open(sealed, owner, place)
    assert "moved from another place" in (why_unopened(moved) or "")
    assert codec().seal(moved, owner, place) == sealed


def test_a_changed_payload_is_not_opened() -> None:
    sealed = codec().seal(PAYLOAD, "uid", "step.input")
    at = sealed.index(b'"data":"') + 20
    other = b"A" if sealed[at : at + 1] != b"A" else b"B"
    changed = codec().open(sealed[:at] + other + sealed[at + 1 :], "uid", "step.input")
    assert "it was changed" in (why_unopened(changed) or "")
    assert "not whole" in (why_unopened(codec().open(sealed[:-9], "uid", "step.input")) or "")
    assert why_unopened(codec().open(b'{"stepward.encrypted":"new","data":"AAAA"}', "uid", "step.input"))


def test_a_rotated_key_seals_and_the_old_one_still_opens() -> None:
    before = codec(current="old", old=OLD).seal(PAYLOAD, "uid", "step.input")
    after = codec().seal(PAYLOAD, "uid", "step.input")
    assert (codec().open(before, "uid", "step.input"), b'"new"' in after) == (PAYLOAD, True)


def test_a_key_that_is_missing_is_named() -> None:
    sealed = codec().seal(PAYLOAD, "uid", "step.input")
    assert "no key new" in (why_unopened(codec(current="old", old=OLD).open(sealed, "uid", "step.input")) or "")
    assert "another key" in (why_unopened(codec(current="new", new=OLD).open(sealed, "uid", "step.input")) or "")


def test_a_payload_that_was_never_sealed_stays_as_it_is() -> None:
    assert codec().open(PAYLOAD, "uid", "step.input") == PAYLOAD


def test_without_a_key_an_operator_sees_which_key_and_writes_nothing() -> None:
    sealed = codec().seal(PAYLOAD, "uid", "step.error", b',"type":"ValueError"')
    shown = readable(KeylessCodec().open(sealed, "uid", "step.error"))
    assert (shown["encrypted_with_key"], shown["type"]) == ("new", "ValueError")
    with pytest.raises(Refused, match="expected a key, as this store's payloads are encrypted"):
        KeylessCodec().seal(PAYLOAD, "uid", "inbox.body")


def test_keys_are_read_from_text_the_current_one_first() -> None:
    text = " ".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in (("new", NEW), ("old", OLD)))
    found = read_encryption(text, "encryption")
    assert found is not None
    assert (found.current, dict(found.keys)) == ("new", {"new": NEW, "old": OLD})
    assert base64.b64encode(NEW).decode() not in repr(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected ID:KEY"),
        ("c2VjcmV0", "a part without a colon"),
        ("k1:§§", "expected the key 'k1' in base64"),
        ("k1:c2VjcmV0", "expected 32 bytes as the key k1, found 6 bytes"),
        (f"k1:{base64.b64encode(NEW).decode()} k1:{base64.b64encode(OLD).decode()}", "the id 'k1' twice"),
        (f"k 1:{base64.b64encode(NEW).decode()}", "a part without a colon"),
    ],
)
def test_keys_that_cannot_be_read_are_refused_and_not_shown(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read_encryption(text, "encryption (STEPWARD_ENCRYPTION)")
    assert message in str(raised.value)
    assert "c2VjcmV0" not in str(raised.value)
