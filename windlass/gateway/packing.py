"""Large answers, packed for who can unpack them: gzip, as every browser and most programs take it.

The door asks here last, once for every answer. Streams pass as they are, and so does what has an ETag: a
strong tag is of these very bytes, and goes back in `If-Match`. Files of the web page lie packed on the disk.
"""

from __future__ import annotations

import asyncio
import zlib
from functools import lru_cache
from typing import Final

from aiohttp import web

from windlass.gateway import answers

LEAST_BYTES: Final = 1400  # what fits into one packet is not sent sooner
AT_ONCE_BYTES: Final = 32 * 1024  # takes less time than to ask a thread
# The fastest: what a higher one saves on the wire is less than it costs here, see docs/decisions/0040.
LEVEL: Final = 1
TYPES: Final = frozenset({answers.JSON_TYPE, "text/plain", "text/html"})
CODING: Final = "gzip"
NAMES: Final = frozenset({CODING, "x-gzip"})

_GZIP: Final = 16 + zlib.MAX_WBITS  # with gzip's own head and end


async def pack(request: web.Request, answer: web.StreamResponse) -> None:
    """Pack the body in place, if that is worth it and the client takes it; caches are told why."""
    if not isinstance(answer, web.Response):
        return
    body, headers = answer.body, answer.headers
    if not isinstance(body, bytes) or len(body) < LEAST_BYTES or answer.content_type not in TYPES:
        return
    if "Content-Encoding" in headers or "ETag" in headers:
        return
    answers.vary(answer, "Accept-Encoding")
    if not accepts(request):
        return
    packed = await asyncio.to_thread(_packed, body) if len(body) > AT_ONCE_BYTES else _packed(body)
    if len(packed) < len(body):
        answer.body = packed
        headers["Content-Encoding"] = CODING


def accepts(request: web.Request) -> bool:
    """Whether the client takes gzip, and likes it no less than what is not packed."""
    return _accepts(",".join(request.headers.getall("Accept-Encoding", ())))


@lru_cache(maxsize=256)
def _accepts(said: str) -> bool:
    weights = dict(map(_weighed, said.lower().split(",")))
    found = [weights[name] for name in NAMES if name in weights]
    weight = max(found) if found else weights.get("*", 0.0)
    return weight > 0.0 and weight >= weights.get("identity", 0.0)


def _weighed(part: str) -> tuple[str, float]:
    """A coding and how much it is liked. One that cannot be understood is not wanted."""
    name, *said = (word.strip() for word in part.split(";"))
    weight = 1.0
    for word in said:
        key, _, value = word.partition("=")
        if key.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                weight = 0.0
    return name, weight if 0.0 <= weight <= 1.0 else 0.0


def _packed(body: bytes) -> bytes:
    return zlib.compress(body, LEVEL, _GZIP)
