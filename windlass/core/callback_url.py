"""The address that is told of a task's end: what can be said of it without asking anybody.

Which addresses may be called is another matter: that is judged when the connection is made.
"""

from __future__ import annotations

import re
from typing import Final

CHARACTERS_MAX: Final = 2_000
PORT_MAX: Final = 65_535

_HOST: Final = r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]"
_URL: Final = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_HOST})(?::(?P<port>[0-9]{{1,5}}))?(?:[/?].*)?", re.IGNORECASE
)
_PORTS: Final = {"http": 80, "https": 443}


def fault(url: str) -> str | None:
    """Why nothing can be sent there; None if it can."""
    if len(url) > CHARACTERS_MAX:
        return f"an address has {CHARACTERS_MAX:,} characters or less"
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "it has characters that addresses cannot have"
    if "#" in url:
        return "what stands behind # is never sent; leave it out"
    if "@" in _authority(url):
        return "it holds a user or password, which everybody who sees the task would see"
    return None if _parsed(url) else "write it as https://host/path or http://host/path"


def origin(url: str) -> str:
    """Whom it leads to, in one form for all addresses of the same: https://host:443. Empty: to nobody."""
    found = _parsed(url)
    if found is None:
        return ""
    scheme, host = found["scheme"].lower(), found["host"].lower().rstrip(".")
    return f"{scheme}://{host}:{int(found['port']) if found['port'] else _PORTS[scheme]}"


def _parsed(url: str) -> re.Match[str] | None:
    found = _URL.fullmatch(url)
    if found is None or (found["port"] and not 0 < int(found["port"]) <= PORT_MAX):
        return None
    return found


def _authority(url: str) -> str:
    return re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]
