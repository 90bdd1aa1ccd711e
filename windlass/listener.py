"""What the listener of a program is made of, by its config: TLS, and how many may be connected."""

from __future__ import annotations

from windlass.config import LockConfig, is_loopback
from windlass.gateway.connections import Book, Bounds
from windlass.gateway.tls import ClientTls, ServerTls


def server_tls(config: LockConfig) -> ServerTls | None:
    """Of a listener. Raises BadTls, which says what is wrong with which file."""
    if config.tls_cert is None or config.tls_key is None:
        return None
    return ServerTls(config.tls_cert, config.tls_key, config.tls_client_ca)


def client_tls(config: LockConfig) -> ClientTls | None:
    """Of a node that dials others: with TLS if it has a certificate itself."""
    if config.tls_cert is None:
        return None
    return ClientTls(config.tls_ca, config.tls_cert, config.tls_key)


def book_of(config: LockConfig, host: str) -> Book:
    """Of those who come in at this address."""
    return Book(Bounds.of(loopback=is_loopback(host), per_address=config.connections_per_address))
