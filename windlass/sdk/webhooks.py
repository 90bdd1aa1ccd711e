"""For programs that receive webhooks: whether one came from Windlass, and now. See docs/webhooks.md."""

from __future__ import annotations

import time
from collections.abc import Mapping

from windlass.core import signing
from windlass.core.signing import TOLERANCE_S, BadSignature

__all__ = ["BadSignature", "verify"]


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance_s: float = TOLERANCE_S) -> str:
    """The id of the notice. Raises BadSignature if anybody else sent it, or it is older than the tolerance.

    The same notice can come more than once: its id is the same then.
    """
    return signing.verify(secret, headers, body, now=time.time(), tolerance_s=tolerance_s)
