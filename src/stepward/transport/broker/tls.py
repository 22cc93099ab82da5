"""TLS to a broker: the files that an address names, and the text of a failed handshake."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from stepward.errors import SettingsError

OPTIONS = ("ca", "certificate", "key")
HINTS = {
    "CERTIFICATE_REQUIRED": "the server demands a client certificate; name one with ?certificate=FILE&key=FILE",
    "BAD_CERTIFICATE": "the server refuses the client certificate, or demands one",
    "HANDSHAKE_FAILURE": "the server accepts none of our protocols, or demands a client certificate",
    "UNKNOWN_CA": "the server does not know who signed the client certificate",
    "CERTIFICATE_EXPIRED": "the server says that the client certificate is expired",
    "WRONG_VERSION_NUMBER": "the server speaks no TLS on that port",
    "RECORD_LAYER_FAILURE": "the server speaks no TLS on that port",
}
"""Explanations of TLS alerts, by the end of their OpenSSL name."""
BROKEN_OFF = "TLS: the server ended the connection in the handshake; it may demand another client certificate"
"""The text used when the server's alert is lost with the connection: TLS 1.3 sends it after the handshake."""
DEPTH = 5
LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files that an address names: the certificate authority, and this client's certificate and key."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def is_named(self) -> bool:
        """Whether the address names any file."""
        return any((self.ca, self.certificate, self.key))

    def context(self) -> ssl.SSLContext:
        """An SSL context from the files' present content, which verifies the server's name. Raises SettingsError."""
        for option in OPTIONS:
            path = getattr(self, option)
            if path is not None:
                secret_file(path, option)
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except ssl.SSLError as error:
            raise _unusable("ca", "certificates in PEM", self.ca, error) from None
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key, password="")
            except ssl.SSLError as error:
                raise _unusable(
                    "certificate", "a certificate and its key without a password, in PEM", self.certificate, error
                ) from None
        return context


def tls_files(options: dict[str, str]) -> TlsFiles:
    """Take the files out of an address's options. Raises SettingsError."""
    files = TlsFiles(**{option: options.pop(option, None) for option in OPTIONS})
    if files.key is not None and files.certificate is None:
        raise SettingsError("transport: expected certificate=FILE beside key=FILE, found none; name both")
    return files


def secret_file(path: str, option: str) -> str:
    """The text of a file that an address names. Raises SettingsError."""
    try:
        with Path(path).open("rb") as file:
            return file.read(LARGEST).decode()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise _unusable(option, "a readable file", path, error) from None


def handshake_error(error: BaseException | None, *, is_opening: bool = False) -> str | None:
    """Why TLS failed, in words; None for other errors.

    While a connection is opened with TLS, its end counts as the server's refusal.
    """
    for _ in range(DEPTH):
        if is_opening and isinstance(error, ConnectionResetError | BrokenPipeError):
            return BROKEN_OFF
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"TLS: the server's certificate is not accepted: {error.verify_message.rstrip('.')}"
        if isinstance(error, ssl.SSLError):
            name = error.reason or "handshake failed"
            hint = next((hint for end, hint in HINTS.items() if name.endswith(end)), None)
            said = name.lower().replace("_", " ")
            return f"TLS: {said}" if hint is None else f"TLS: {hint} ({said})"
        if error is None:
            return None
        error = error.__cause__ or error.__context__
    return None


def _unusable(option: str, expected: str, path: str | None, error: Exception) -> SettingsError:
    what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SettingsError(f"transport: expected {option}={path} to name {expected}, found: {what[:200]}; repair it")
