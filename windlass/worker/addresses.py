"""The addresses of nodes, as users write them."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

SCHEMES: Final = {"ws": "ws", "http": "ws", "wss": "wss", "https": "wss"}


def read_address(text: str) -> str:
    """ws://host:port or wss://host:port, from what users write. Raises ValueError, with advice."""
    text = text.strip().rstrip("/")
    parts = urlsplit(text if re.match(r"^[a-z]+://", text) else f"ws://{text}")
    try:
        port = parts.port
    except ValueError:
        raise ValueError(f"{text!r}: its port is none") from None
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise ValueError(f"{text!r} is no address of a node; write e.g. ws://10.0.0.5:8080")
    if parts.path or parts.query or parts.username is not None:
        raise ValueError(f"{text!r}: only the scheme, the host and the port, please")
    scheme = SCHEMES[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host}:{port or (443 if scheme == 'wss' else 80)}"
