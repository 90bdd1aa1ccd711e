"""TLS from files: what is wrong with them is said in one line, and when they change they are read again.

A changed file is read once it has stayed the same for a second look, so that nobody has to replace
certificate and key at the same instant. If the new ones are of no use, that is logged once, and the old ones
stay in use. New connections see the new certificate; those that are open stay as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import stat
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from windlass.core.errors import WindlassError

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
HTTP: Final = ["http/1.1"]

Look = tuple[tuple[int, int, int] | None, ...]


class BadTls(WindlassError):
    """A file is missing, or holds something else; the message says which, and what."""


class Tls(ABC):
    """A context that is made of files, and made again when they change."""

    def __init__(self, *files: Path | None) -> None:
        """Raises BadTls."""
        self._files = [file for file in files if file is not None]
        self._seen = self._used = self._look()
        self.context = self._make()  # the newest one; for each new connection

    @abstractmethod
    def _make(self) -> ssl.SSLContext:
        """Raises BadTls."""

    async def watch(self) -> None:
        """Look at the files for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        """Use what the files hold now, if they have changed before the last look and not since."""
        before, self._seen = self._seen, self._look()
        if self._seen != before or self._seen == self._used:
            return
        self._used = self._seen
        try:
            self.context = self._make()
        except BadTls as error:
            log.warning("the new TLS files are of no use: the old ones stay", extra={"reason": str(error)})
        else:
            log.info("TLS files read again", extra={"files": ", ".join(map(str, self._files))})

    def _look(self) -> Look:
        return tuple(map(_traits, self._files))


class ServerTls(Tls):
    """For a listener. With `client_ca`, clients may show a certificate of that CA; who needs one is up to
    the handlers (`peercert` of the transport): no other certificate gets in.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        super().__init__(certificate, key, client_ca)

    def _make(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_alpn_protocols(HTTP)
        _load_chain(context, self._certificate, self._key)
        if self._client_ca is not None:
            context.verify_mode = ssl.CERT_OPTIONAL
            _load_ca(context, self._client_ca)
        return context


class ClientTls(Tls):
    """For those who dial: whom to trust (`ca`; None: whom this machine trusts), and what to show."""

    def __init__(
        self, ca: Path | None = None, certificate: Path | None = None, key: Path | None = None
    ) -> None:
        self._ca, self._certificate, self._key = ca, certificate, key
        super().__init__(ca, certificate, key)

    def _make(self) -> ssl.SSLContext:
        context = (
            ssl.create_default_context() if self._ca is None else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._ca is not None:
            _load_ca(context, self._ca)
        if self._certificate is not None and self._key is not None:
            _load_chain(context, self._certificate, self._key)
        return context


def client_context(
    ca: Path | None = None, certificate: Path | None = None, key: Path | None = None
) -> ssl.SSLContext:
    """As it is now, for those who do not stay long. Raises BadTls."""
    return ClientTls(ca, certificate, key).context


@contextlib.asynccontextmanager
async def watched(*all_tls: Tls | None) -> AsyncIterator[None]:
    """Inside, changes of the files are noticed."""
    tasks = [asyncio.create_task(tls.watch()) for tls in all_tls if tls is not None]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _load_chain(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    _check_certificate(certificate)
    _check_key(key)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise BadTls(f"the TLS key {key} does not belong to the certificate {certificate}") from None
        reason = error.reason or str(error)
        raise BadTls(
            f"the TLS certificate {certificate} with the key {key} cannot be used: {reason}"
        ) from None
    except OSError as error:
        raise BadTls(f"the TLS certificate {certificate} cannot be read: {error.strerror}") from None


def _load_ca(context: ssl.SSLContext, ca: Path) -> None:
    _certificates("the TLS authority", ca)
    try:
        context.load_verify_locations(ca)
    except (ssl.SSLError, OSError) as error:
        raise BadTls(f"the TLS authority {ca} cannot be used: {error}") from None


def _check_certificate(path: Path) -> None:
    first = _certificates("the TLS certificate", path)[0]
    if first.not_valid_after_utc < datetime.now(UTC):
        until = first.not_valid_after_utc.isoformat()
        log.warning("the TLS certificate has expired", extra={"file": str(path), "until": until})


def _certificates(what: str, path: Path) -> list[x509.Certificate]:
    content = _read(what, path)
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        raise BadTls(f"{what} {path} holds no certificate: expected -----BEGIN CERTIFICATE-----") from None


def _check_key(path: Path) -> None:
    content = _read("the TLS key", path)
    try:
        serialization.load_pem_private_key(content, password=None)
    except TypeError:
        raise BadTls(f"the TLS key {path} needs a passphrase: give a key without one") from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadTls(f"the TLS key {path} holds no key: expected -----BEGIN PRIVATE KEY-----") from None
    if path.stat().st_mode & stat.S_IROTH:
        log.warning("the TLS key can be read by every user of this machine", extra={"file": str(path)})


def _read(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadTls(f"{what} {path} cannot be read: {error.strerror}") from None


def _no_password() -> str:
    return ""  # else OpenSSL would ask at the terminal


def _traits(path: Path) -> tuple[int, int, int] | None:
    """What changes when the file does; it may also be on its way to be replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
