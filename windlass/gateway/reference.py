"""What this API is: for people as a page, for programs as a description."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import resources
from typing import Final

import msgspec
from aiohttp import web

from windlass.core.task import Json
from windlass.gateway import answers, document_schema

HTML_TYPE: Final = "text/html; charset=utf-8"
# The page has everything in itself; all it asks for is the description.
POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Reference:
    def __init__(self) -> None:
        self._describe: Callable[[], dict[str, Json]] = dict
        self._described = b""
        self._schema = msgspec.json.encode(document_schema.schema())
        self._page = resources.files(__package__).joinpath("page", "docs.html").read_bytes()

    def describe(self, describe: Callable[[], dict[str, Json]]) -> None:
        """How what programs are told is made, of the table of paths, this one's among them.

        It takes longer than everything else that a door needs, and most doors are never asked for it.
        """
        self._describe, self._described = describe, b""

    async def description(self, _request: web.Request) -> web.Response:
        if not self._described:
            self._described = await asyncio.to_thread(lambda: msgspec.json.encode(self._describe()))
        return _answer(self._described, answers.JSON_TYPE)

    async def workflow_schema(self, _request: web.Request) -> web.Response:
        return _answer(self._schema, answers.JSON_TYPE)

    async def page(self, _request: web.Request) -> web.Response:
        answer = _answer(self._page, HTML_TYPE)
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer


def _answer(content: bytes, content_type: str) -> web.Response:
    return web.Response(body=content, headers={"Content-Type": content_type})
