"""What the parts of the client have in common: each sends requests, and the client knows how."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import quote

from windlass.core.task import Json

API: Final = "/api/v1"
Method = Literal["GET", "POST", "PUT", "DELETE"]


class Sending(ABC):
    """Mixed into `Client`, part by part."""

    __slots__ = ()

    @abstractmethod
    def _send(
        self,
        method: Method,
        path: str,
        body: bytes | None = None,
        *,
        query: Mapping[str, object] | None = None,
        key: str | None = None,  # by which asking again is asking once; "": there is no need of any
        wait_s: float = 0.0,  # that the server was asked to take its time
    ) -> Json:
        """The answer of the server, or a WindlassError."""


def path_to(*parts: str) -> str:
    return "/".join([API, *(quote(part, safe="") for part in parts)])


def encoded(value: Json) -> bytes:
    return json.dumps(value).encode()
