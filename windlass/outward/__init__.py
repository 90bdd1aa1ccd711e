"""Calls to the outside world on somebody's word: only to addresses that may be called.

The address is judged where the socket for it is made: whatever a name led to, whatever a redirect named,
however a number was written, nothing is connected that was not judged. No proxy of the environment stands
between.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver

from windlass.core.addresses import Networks, why_not, why_not_host

ADVICE: Final = "who runs this node can allow it with --allow-network"

AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]


class Forbidden(Exception):
    """This address may not be called; the message says why."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which addresses may be called."""

    private: bool = False  # all of them: also those of this machine and its networks
    allowed: Networks = ()  # if not: networks that may be called all the same

    def why_not(self, address: str) -> str:
        return "" if self.private else why_not(address, self.allowed)

    def why_not_host(self, host: str) -> str:
        """As far as it can be said before anybody is asked what a name means."""
        return "" if self.private else why_not_host(host, self.allowed)

    def socket(self, found: AddrInfo) -> socket.socket:
        """A socket for this address. Raises Forbidden."""
        family, kind, protocol, _, address = found
        why = self.why_not(str(address[0]))
        if why:
            raise Forbidden(f"{why}; {ADVICE}")
        return socket.socket(family=family, type=kind, proto=protocol)


ANYWHERE: Final = Rule(private=True)


def connector(
    rule: Rule, *, limit: int = 0, force_close: bool = False, resolver: AbstractResolver | None = None
) -> aiohttp.TCPConnector:
    """Connects to nothing that the rule forbids: whoever tries gets Forbidden. Needs a running loop."""
    if rule.private:
        return aiohttp.TCPConnector(limit=limit, force_close=force_close, resolver=resolver)
    return aiohttp.TCPConnector(
        limit=limit,
        force_close=force_close,
        resolver=resolver,
        socket_factory=rule.socket,
        happy_eyeballs_delay=None,  # one after the other: the first that is forbidden ends it
    )
