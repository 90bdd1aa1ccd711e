"""Origins of pages, as users list them and as browsers send them: scheme, host, and any unusual port."""

from __future__ import annotations

import re
from typing import Final

ANY: Final = "*"

_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_USUAL_PORTS: Final = (("http://", ":80"), ("https://", ":443"))


def read(origin: str, *, login: bool = False) -> str:
    """An origin as the user lists it, as browsers send it. ValueError, with advice."""
    if origin == ANY:
        if login:
            raise ValueError(
                "* would let every page in the world use what its visitors can reach here; "
                "list the origins of your pages, e.g. https://app.example"
            )
        return ANY
    found = origin.lower().removesuffix("/")
    if not _ORIGIN.fullmatch(found):
        raise ValueError(f"{origin!r} is no origin; write scheme, host and port, e.g. https://app.example")
    for scheme, port in _USUAL_PORTS:
        if found.startswith(scheme):
            found = found.removesuffix(port)
    return found
