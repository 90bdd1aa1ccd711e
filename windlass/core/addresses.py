"""Which addresses may be called from here on somebody's word: those of the public internet.

Whoever can make this program call an address of its choice could reach what is meant for machines in here
only: a database, another node, the service that hands out the credentials of a cloud machine. So everything
else is refused, unless a network was allowed by name. An address is judged by its number, in whatever form it
is written, and so is one that carries another inside.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from typing import Final

from windlass.core.faults import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Networks = Sequence[Network]

# The first that fits says why.
_NOT_PUBLIC: Final[tuple[tuple[Network, str], ...]] = tuple(
    (ipaddress.ip_network(network), why)
    for network, why in (
        ("0.0.0.0/8", "unspecified"),
        ("127.0.0.0/8", "loopback"),
        ("10.0.0.0/8", "private"),
        ("172.16.0.0/12", "private"),
        ("192.168.0.0/16", "private"),
        ("169.254.0.0/16", "link-local"),
        ("100.64.0.0/10", "shared by customers of a provider"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation only"),
        ("192.88.99.0/24", "reserved"),
        ("198.18.0.0/15", "for benchmarks only"),
        ("198.51.100.0/24", "for documentation only"),
        ("203.0.113.0/24", "for documentation only"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("fc00::/7", "unique local"),
        ("ff00::/8", "multicast"),
        ("64:ff9b:1::/48", "a private form of an IPv4 address"),
        ("100::/64", "reserved"),
        ("2001::/32", "Teredo, which nobody uses any more"),  # it carries an address, veiled
        ("2002::/16", "6to4, which nobody uses any more"),  # it carries one, too
        ("2001:2::/48", "for benchmarks only"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "for documentation only"),
        ("3fff::/20", "for documentation only"),
    )
)
# Where clouds tell a machine its credentials. A network around one of these does not allow it: it has to be
# named itself.
METADATA: Final[frozenset[Address]] = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
    )
)
_PUBLIC_IPV6: Final = ipaddress.IPv6Network("2000::/3")  # all that was ever given out
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
# Networks whose addresses end with an IPv4 address.
_CARRIERS: Final = tuple(
    (ipaddress.IPv6Network(network), name)
    for network, name in (
        ("::/96", "IPv4-compatible"),
        ("::ffff:0:0:0/96", "IPv4-translated"),
        ("64:ff9b::/96", "NAT64"),
    )
)
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
_PART: Final = re.compile(r"0[xX][0-9a-fA-F]*|0[0-7]*|[1-9][0-9]*")
_LOCAL_NAME: Final = re.compile(r"(?:.*\.)?localhost\.?|ip6-(?:localhost|loopback)", re.IGNORECASE)


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """As written: 10.1.0.0/16, fd12::/48, or one address. ValueError, with advice, for anything else."""
    return tuple(map(network, texts))


def network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise ValueError(
            f"{quote(text)} is no network ({error}); write e.g. 10.1.0.0/16, fd12:3456::/48 or 127.0.0.1"
        ) from None


def why_not(address: str, allowed: Networks = ()) -> str:
    """Why this address may not be called; "" if it may. What is no address may not."""
    try:
        number = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return f"{quote(address)} is no address"
    why = _judge(number, allowed)
    return f"{address} is {why}" if why else ""


def why_not_host(host: str, allowed: Networks = ()) -> str:
    """The same for the host of a URL, as far as it can be said without asking anybody: "" for most names."""
    number = _number(host)
    if number is not None:
        why = _judge(number, allowed)
        return f"{host} is {why}" if why else ""
    if _LOCAL_NAME.fullmatch(host) and (why_not("127.0.0.1", allowed) or why_not("::1", allowed)):
        return f"{host} is loopback"
    return ""


def _judge(number: Address, allowed: Networks) -> str:
    if isinstance(number, ipaddress.IPv6Address) and number in _MAPPED:
        number = ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)  # the same place, written another way
    around = [network for network in allowed if number in network]
    if number in METADATA:
        alone = any(network.num_addresses == 1 for network in around)
        return "" if alone else "where a cloud hands out credentials"
    if around:
        return ""
    for network, why in _NOT_PUBLIC:
        if number in network:
            return why
    if isinstance(number, ipaddress.IPv4Address):
        return ""
    return _carried(number)


def _carried(number: ipaddress.IPv6Address) -> str:
    """Of an IPv6 address that is none of the known ones: what it carries, and whether anybody has it."""
    for network, name in _CARRIERS:
        if number in network:
            why = _judge(ipaddress.IPv4Address(int(number) & 0xFFFFFFFF), ())
            return f"{name} for an address that is {why}" if why else ""
    if number not in _PUBLIC_IPV6:
        return "reserved"
    if int(number) >> 32 & 0xFFFFFFFF in _ISATAP:
        why = _judge(ipaddress.IPv4Address(int(number) & 0xFFFFFFFF), ())
        return f"ISATAP for an address that is {why}" if why else ""
    return ""


def _number(host: str) -> Address | None:
    """The address that a host is, also in the old forms of IPv4: 2130706433, 0x7f.1, 0177.0.0.1."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4 or not all(_PART.fullmatch(part) for part in parts):
        return None
    *leading, last = (_part(part) for part in parts)
    rest_bytes = 4 - len(leading)
    if any(part > 255 for part in leading) or last >= 256**rest_bytes:
        return None
    high = sum(part << 8 * (3 - i) for i, part in enumerate(leading))
    return ipaddress.IPv4Address(high + last)


def _part(text: str) -> int:
    if text[:2] in ("0x", "0X"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") else int(text)
