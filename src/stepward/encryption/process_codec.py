"""The codec of payloads that a process composes its store and its queues with."""

from __future__ import annotations

from stepward.encryption.keyless_codec import KeylessCodec
from stepward.encryption.keys import Encryption
from stepward.payload.sealed import PayloadCodec


def operator_codec(app: str, encryption: Encryption | None) -> PayloadCodec:
    """The codec of an operator's process, which may have no key."""
    return codec_of(app, encryption) or KeylessCodec()


def codec_of(app: str, encryption: Encryption | None) -> PayloadCodec | None:
    """The codec of an application; None where its payloads are not encrypted."""
    if encryption is None:
        return None
    from stepward.encryption.cipher import PayloadCipher  # noqa: PLC0415  an extra's

    return PayloadCipher(app, encryption)
