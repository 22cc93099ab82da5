"""Encryption of payloads: keys, and the codec that seals each payload for its place."""

from stepward.encryption.keyless_codec import KeylessCodec
from stepward.encryption.keys import Encryption, read_encryption, shown_encryption
from stepward.encryption.process_codec import codec_of, operator_codec

__all__ = ["Encryption", "KeylessCodec", "codec_of", "operator_codec", "read_encryption", "shown_encryption"]
