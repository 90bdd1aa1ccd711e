"""The part of the client that is about limits across runs."""

from __future__ import annotations

from typing import Final, Literal

from windlass.core.task import Json
from windlass.sdk.sending import Sending, encoded, path_to

LIMITS: Final = "limits"


class Limits(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    def limits(self, *, limit: int = 100, after: str | None = None) -> Json:
        """One page: {items: [{key, type, limit, per, held, waiting, waitingSince}], next}."""
        return self._send("GET", path_to(LIMITS), query={"limit": limit, "after": after})

    def limit(self, key: str, type: Literal["concurrency", "rate"] = "concurrency") -> Json:
        """The same of one, with {holders, queue, spent}."""
        return self._send("GET", path_to(LIMITS, type), query={"key": key})

    def release_permit(self, key: str, run: str, number: int) -> Json:
        """Take it away from a run that will not give it back."""
        body = encoded({"key": key, "run": run, "number": number})
        return self._send("POST", path_to(LIMITS, "concurrency", "release"), body, key="")
