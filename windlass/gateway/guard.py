"""Without a login, only this machine's own programs and pages may come in.

A page of another site can make a browser send requests here: plainly, or after its own name was rebound to
127.0.0.1 by DNS. Either way the browser says so in Host, Origin or Sec-Fetch-Site, which no page can forge;
and it never sends JSON to another origin without asking first.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal

from windlass.gateway.answers import Problem

Kind = Literal["json", "yaml"]
KINDS: Final[dict[str, Kind]] = {
    "application/json": "json",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
}


def check(headers: Mapping[str, str], *, listed: bool = False) -> None:
    """Let the request pass, or raise a Problem: 403. `listed`: this page may ask, whatever its origin."""
    host, origin = headers.get("Host"), headers.get("Origin")
    # A browser always names the host. Who does not is no browser: an old health probe, say.
    if host is not None and not is_loopback(host):
        raise _forbidden(
            f"the Host {_shown(host)} is not this machine's loopback; without a login Windlass answers only "
            "to localhost, 127.0.0.1 and [::1]"
        )
    if origin is not None:
        if not listed:
            check_origin(headers)
    elif headers.get("Sec-Fetch-Site") == "cross-site":
        raise _forbidden("a page of another site may not talk to Windlass")


def check_target(target: str, host: str | None) -> None:
    """Let a request for us pass, or raise a Problem: 400. A server named in the first line is the one that is
    meant, whatever Host says.
    """
    if not target.startswith("/") and target != "*":
        place = target.partition("://")[2].partition("/")[0]
        if host is None or place.lower() != host.lower():
            raise Problem(
                400, "Malformed request", f"{_shown(target)} is not here: this is no proxy for other servers"
            )


def check_origin(headers: Mapping[str, str]) -> None:
    """Let a page of this very server pass, or raise a Problem: 403."""
    origin = headers.get("Origin", "")
    if not _same_origin(origin, headers.get("Host")):
        raise _forbidden(f"the page at {_shown(origin)} may not talk to Windlass: it is of another origin")


@lru_cache(maxsize=256)
def kind_of(content_type: str | None) -> Kind:
    """What the body of a request is, or a Problem: 415. A page needs no permission to send other types."""
    plain = (content_type or "").partition(";")[0].strip().lower()
    kind = KINDS.get(plain)
    if kind is None:
        raise Problem(
            415,
            "Unsupported content type",
            f"the body comes as {_shown(plain) if plain else 'no type at all'}; send it with "
            "Content-Type: application/json or application/yaml",
        )
    return kind


def check_encoding(content_encoding: str | None) -> None:
    """Let a body pass that is not packed, or raise a Problem: 415."""
    if content_encoding is not None and content_encoding.strip().lower() not in ("", "identity"):
        raise Problem(
            415,
            "Unsupported content encoding",
            f"the body is packed as {_shown(content_encoding)}; send it as it is, without Content-Encoding",
        )


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine, with any port."""
    name, bracket, rest = host.partition("]")
    if bracket:
        name, port = name.removeprefix("["), rest.removeprefix(":")
    else:
        name, colon, port = host.partition(":")
        rest = colon + port
    if rest and not (rest.startswith(":") and port.isascii() and port.isdigit()):
        return False
    if name.lower() == "localhost":
        return not bracket
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback and bool(bracket) == (address.version == 6)


def _same_origin(origin: str, host: str | None) -> bool:
    scheme, separator, place = origin.partition("://")
    return (
        scheme in ("http", "https") and bool(separator) and host is not None and place.lower() == host.lower()
    )


def _forbidden(message: str) -> Problem:
    return Problem(403, "Forbidden", message)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else f"{text[:99]}…")
