"""Payloads: typed JSON in and out, with limits; secrets, encrypted payloads and pydantic models among them."""

from stepward.payload.encoding import (
    DEPTH,
    NULL,
    PAYLOAD_BYTES,
    Signature,
    cause,
    check_size,
    decode,
    displayed,
    encode,
    is_json,
    readable,
)

__all__ = [
    "DEPTH",
    "NULL",
    "PAYLOAD_BYTES",
    "Signature",
    "cause",
    "check_size",
    "decode",
    "displayed",
    "encode",
    "is_json",
    "readable",
]
