"""Large payloads, kept outside the store in a folder, S3 or Azure Blob: the claim check."""

from stepward.large_payloads.address import LargePayloads, read_address, shown_address
from stepward.large_payloads.claim_check import PayloadKeeper, folder_of, keeper_of, message_owner
from stepward.large_payloads.object_store import PayloadObjects, StoredObject

__all__ = [
    "LargePayloads",
    "PayloadKeeper",
    "PayloadObjects",
    "StoredObject",
    "folder_of",
    "keeper_of",
    "message_owner",
    "read_address",
    "shown_address",
]
