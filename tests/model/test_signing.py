"""The proof that a reply answers a request of this store."""

from __future__ import annotations

from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, Signer, StoreIdentity

OURS = Signer(StoreIdentity.drawn(bytes(range(KEY_BYTES + STORE_BYTES))))
OTHER = Signer(StoreIdentity.drawn(bytes(range(1, KEY_BYTES + STORE_BYTES + 1))))
ATTEMPT = ("uid-1", 1, "svc.do/1", 2, "svc")


def test_a_proof_holds_for_its_own_attempt_and_agent_alone() -> None:
    proof = OURS.proof(*ATTEMPT)
    assert OURS.is_genuine(proof, *ATTEMPT)
    for other in (
        ("uid-2", 1, "svc.do/1", 2, "svc"),
        ("uid-1", 2, "svc.do/1", 2, "svc"),
        ("uid-1", 1, "svc.do/2", 2, "svc"),
        ("uid-1", 1, "svc.do/1", 1, "svc"),
        ("uid-1", 1, "svc.do/1", 2, "bank"),
    ):
        assert not OURS.is_genuine(proof, *other)


def test_a_proof_of_another_key_or_none_is_invalid() -> None:
    for proof in (OTHER.proof(*ATTEMPT), "", "0" * 32, "ä" * 32, OURS.proof(*ATTEMPT)[:-1]):
        assert not OURS.is_genuine(proof, *ATTEMPT)
