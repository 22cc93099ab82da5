"""The issuer of users of a NATS server, as ``nsc`` is: operator, account, and users with credentials files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import nkeys

ALL = (">",)


def pair(prefix: int) -> tuple[str, Any]:
    """A new seed, and the keys that it gives."""
    seed: bytes = nkeys.encode_seed(os.urandom(32), prefix)
    return seed.decode(), nkeys.from_seed(bytearray(seed))


def public(keys: Any) -> str:
    return str(keys.public_key.decode())


def signed(by: Any, subject: str, name: str, claims: dict[str, Any]) -> str:
    """A JWT as NATS has them."""

    def text(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    body = {"iss": public(by), "sub": subject, "name": name, "iat": 1, "nats": {"version": 2, **claims}}
    jti = base64.b32encode(hashlib.sha256(json.dumps(body).encode()).digest()).rstrip(b"=").decode()
    head = text(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
    rest = f"{head}.{text(json.dumps({**body, 'jti': jti}).encode())}"
    return f"{rest}.{text(by.sign(rest.encode()))}"


class Issuer:
    """An operator with one account, ``shop``, beside that of the system."""

    def __init__(self) -> None:
        self._operator, self._system, self._account = (
            pair(prefix)[1]
            for prefix in (nkeys.PREFIX_BYTE_OPERATOR, nkeys.PREFIX_BYTE_ACCOUNT, nkeys.PREFIX_BYTE_ACCOUNT)
        )

    def settings(self) -> str:
        """The server's settings for them; it knows no user."""
        every = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
        of_system = every | {"wildcards": True}
        of_shop = of_system | dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
        system, account = public(self._system), public(self._account)
        known = {
            system: signed(self._operator, system, "system", {"type": "account", "limits": of_system}),
            account: signed(self._operator, account, "shop", {"type": "account", "limits": of_shop}),
        }
        claims = {"type": "operator", "system_account": system}
        operator = signed(self._operator, public(self._operator), "operator", claims)
        preloaded = ", ".join(f"{name}: {token}" for name, token in known.items())
        return (
            f"operator: {operator}\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{ {preloaded} }}\n"
        )

    def credentials(self, name: str, publish: Sequence[str] = ALL, subscribe: Sequence[str] = ALL) -> str:
        """The text of a file for a new user, who may publish and subscribe to those subjects."""
        seed, user = pair(nkeys.PREFIX_BYTE_USER)
        claims = {"type": "user", "pub": {"allow": list(publish)}, "sub": {"allow": list(subscribe)}}
        token = signed(self._account, public(user), name, claims | dict.fromkeys(("subs", "data", "payload"), -1))
        return (
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
