"""Protection of forms: a token of this console, and the version of the page.

The token is bound to the principal; without it a page of another site could make a browser send an act. The version is
a digest of what the page was made from: if it has changed meanwhile, the act is refused, because it was decided on old
data.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import blake2b, sha256

from stepward.http.access.principals import Principal, SignIn
from stepward.http.exception_handlers import HttpRefusal

DIGEST_BYTES = 12


class FormGuard:
    """Makes and checks the tokens of forms."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def token(self, principal: Principal) -> str:
        """The token of that principal's forms; for a session it is the session's CSRF token, which the choke point
        checks."""
        if principal.csrf:
            return principal.csrf
        subject = f"{principal.sign_in}\0{principal.credential}\0{principal.name}"
        return hmac.new(self._key, subject.encode(), sha256).hexdigest()

    def check(self, principal: Principal, token: str) -> None:
        """Raises HttpRefusal (403) for a form whose token was not issued to that principal.

        Principals with an API token are exempt: browsers never send one by themselves.
        """
        if principal.sign_in is SignIn.TOKEN:
            return
        if not hmac.compare_digest(self.token(principal), token):
            raise HttpRefusal(403, "form: expected one of this console's pages, found another token; reload the page")


def version_of(*parts: object) -> str:
    """The digest of the values that a page shows."""
    return blake2b(repr(parts).encode(), digest_size=DIGEST_BYTES).hexdigest()


def listed_version(rows: Iterable[object]) -> str:
    """The digest of the rows that a page lists."""
    return version_of(list(rows))
