"""Requests as any HTTP client makes them: one link each, no second try, no patience."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from windlass.sdk.sse import Event, read_events

API = "/api/v1"
WITHIN_S = 15.0


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any  # Any: JSON, or the text of what is none

    @property
    def ok(self) -> bool:
        return self.status < 300


def ask(url: str, method: str, path: str, body: object = None, *, within_s: float = WITHIN_S) -> Answer:
    """Raises OSError or HTTPException if there is no answer."""
    with closing(_link(url, within_s)) as link:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        link.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        answer = link.getresponse()
        raw = answer.read()
    try:
        return Answer(answer.status, json.loads(raw))
    except ValueError:
        return Answer(answer.status, raw.decode())


def get(url: str, path: str, *, within_s: float = WITHIN_S) -> Answer:
    return ask(url, "GET", path, within_s=within_s)


def post(url: str, path: str, body: object = None, *, within_s: float = WITHIN_S) -> Answer:
    return ask(url, "POST", path, {} if body is None else body, within_s=within_s)


def stream(url: str, path: str, *, within_s: float = WITHIN_S) -> Iterator[Event]:
    """Server-sent events, until the server ends them."""
    with closing(_link(url, within_s)) as link:
        link.request("GET", path, None, {"Accept": "text/event-stream"})
        answer = link.getresponse()
        assert answer.status == 200, f"{answer.status}: {answer.read()!r}"
        yield from read_events(iter(answer.readline, b""))


def _link(url: str, within_s: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    assert parts.hostname is not None
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=within_s)
