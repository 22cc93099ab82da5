"""Encryption of payloads: keys, and the codec that seals each payload for its place."""

from stepward.encryption.keys import Encryption, read_encryption, shown_encryption
from stepward.encryption.opening import KeylessCodec, codec_of, operator_codec

__all__ = ["Encryption", "KeylessCodec", "codec_of", "operator_codec", "read_encryption", "shown_encryption"]
