"""The web page: files that `ui/` was built into, the same for everybody, without a login.

What it shows it asks the API for, with the rights of who is logged in. Pages are under /ui/, because /workers
and others are doors already; every path there that is no file leads to the one index, which finds its way
from the address. Names of assets hold a hash of their content, so browsers keep them for good.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiohttp import web

from windlass.gateway import answers, packing
from windlass.gateway.answers import Problem

BUILT: Final = Path(__file__).parent / "page" / "ui"
INDEX: Final = "index.html"
ASSETS: Final = "assets/"
BESIDE: Final = frozenset({"icon.svg"})  # files beside the index
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": answers.JSON_TYPE,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
FOR_GOOD: Final = "public, max-age=31536000, immutable"
ASK_FIRST: Final = "no-cache"
# No script that is not ours, and nothing from elsewhere. The editor and the graph make style elements.
POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
BARE_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
BARE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Windlass</title></head><body>
<h1>Windlass runs</h1>
<p>The web page is not in this install; everything else is. To have it, install Windlass from a wheel, or
from its source with Node.js 20.19 or newer at hand and without WINDLASS_NO_UI: <code>make env</code>.</p>
<p><a href="/docs">The API, as a page to read</a></p>
</body></html>
"""

_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}")


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    packed: bool  # as gzip
    tag: str


@dataclass(frozen=True, slots=True)
class Ui:
    built: Path = BUILT

    async def page(self, request: web.Request) -> web.Response:
        """A file, or the index for every address that pages have."""
        name = request.match_info.get("page", "")
        if name.startswith(ASSETS) or name in BESIDE:
            return await self._file(request, name)
        return await self.index(request)

    async def index(self, request: web.Request) -> web.Response:
        found = await asyncio.to_thread(_read, self.built, INDEX, packing.accepts(request))
        if found is None:
            bare = web.Response(text=BARE, content_type="text/html")
            bare.headers.update(
                {"Content-Security-Policy": BARE_POLICY, "Cache-Control": ASK_FIRST, "Vary": "Accept"}
            )
            return bare
        return _answer(request, found, INDEX, ASK_FIRST)

    async def _file(self, request: web.Request, name: str) -> web.Response:
        found = None
        if _NAME.fullmatch(name.removeprefix(ASSETS)):
            found = await asyncio.to_thread(_read, self.built, name, packing.accepts(request))
        if found is None:
            raise Problem(404, "Not found", "the web page has no such file; load the page again")
        return _answer(request, found, name, FOR_GOOD if name.startswith(ASSETS) else ASK_FIRST)


def wants_page(request: web.Request) -> bool:
    """Whether a browser asks: programs do not say that they take HTML."""
    return "text/html" in request.headers.get("Accept", "")


def _read(built: Path, name: str, packed: bool) -> File | None:
    # Read each time, as the system keeps it at hand: a page that was built anew is there at once.
    for path, is_packed in ((built / f"{name}.gz", True), (built / name, False)):
        if is_packed and not packed:
            continue
        try:
            content = path.read_bytes()
        except OSError:
            continue
        return File(content, is_packed, f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"')
    return None


def _answer(request: web.Request, file: File, name: str, cache: str) -> web.Response:
    kept = {
        "Cache-Control": cache,
        "ETag": file.tag,
        "Vary": "Accept, Accept-Encoding",
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    if file.tag in request.headers.get("If-None-Match", ""):
        return web.Response(status=304, headers=kept)
    kept["Content-Type"] = TYPES.get(Path(name).suffix, "application/octet-stream")
    if file.packed:
        kept["Content-Encoding"] = packing.CODING
    return web.Response(body=file.content, headers=kept)
