"""HTTP steps: `with: {url, method, headers, body | json}`; the output is {status, headers, body}."""

from __future__ import annotations

import os
import re
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from windlass.core.task import VALUE_BYTES_MAX, Failure, Outcome, Success, Task
from windlass.outward import ANYWHERE, Forbidden, Rule, connector
from windlass.worker.executors import DETAIL_BYTES_MAX, BadStep, Word, bad_step, read_with, word
from windlass.worker.masking import Mask
from windlass.worker.secrets import Opened
from windlass.worker.values import first_fault

CONNECT_S = 10.0
REDIRECTS_MAX = 10
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
CONTROL = re.compile(r"[\0\r\n]")
RETRYABLE = {408, 429}  # and 5xx


class HttpWith(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    method: str = "GET"
    headers: dict[str, Word] = {}
    body: str | None = None
    json: Any = msgspec.UNSET  # null is a body too


class Http:
    """One connection pool for all steps, opened when first needed. Cookies are not kept.

    The rule says which addresses steps may call, and is asked at every connection: also for redirects.
    """

    def __init__(self, rule: Rule = ANYWHERE) -> None:
        self._rule = rule
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        try:
            wanted = read_with(secrets.filled(task), HttpWith)
            url = _url(wanted.url)
            body, headers = _body(wanted)
        except BadStep as error:
            return bad_step(str(error))
        what = f"{wanted.method.upper()} {url.with_user(None)}"
        try:
            async with self._open().request(
                wanted.method.upper(),
                url,
                headers=headers,
                data=body,
                max_redirects=REDIRECTS_MAX + 1,
            ) as response:
                return await _read(response, what, secrets.mask)
        except Forbidden as error:
            return Failure("Forbidden", f"{what} may not be called from here: {error}", retryable=False)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return _failure(error, what, url)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
                connector=connector(self._rule),  # slots limit how many run
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "Windlass"},
            )
        return self._session


def _url(text: str) -> URL:
    try:
        url = URL(text)
        if url.scheme in ("http", "https") and url.host:
            return url
    except ValueError:
        pass
    raise BadStep(f"url is {text!r}: write it as http://host/path or https://host/path")


def _body(wanted: HttpWith) -> tuple[bytes | None, dict[str, str]]:
    if not TOKEN.fullmatch(wanted.method):
        raise BadStep(f"method is {wanted.method!r}: write GET, POST, PUT …")
    headers = {name: word(value) for name, value in wanted.headers.items()}
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or CONTROL.search(value):
            raise BadStep(f"the header {name!r} has characters that headers cannot have")
    if wanted.json is msgspec.UNSET:
        return (None if wanted.body is None else wanted.body.encode(errors="replace")), headers
    if wanted.body is not None:
        raise BadStep("an http step has either body (text) or json (any value), not both")
    named = {name.lower() for name in headers}
    kind = {} if "content-type" in named else {"Content-Type": "application/json"}
    return msgspec.json.encode(wanted.json), {**headers, **kind}


async def _read(response: aiohttp.ClientResponse, what: str, mask: Mask) -> Outcome:
    ok = 200 <= response.status < 300
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > VALUE_BYTES_MAX:
            if ok:
                message = f"{what} answered with more than {VALUE_BYTES_MAX:,} bytes"
                return Failure("TooLarge", message, retryable=False)
            break
    if not ok:
        status = f"{response.status} {response.reason or ''}".strip()
        retryable = response.status in RETRYABLE or response.status >= 500
        shown = _text(response, bytes(raw[:DETAIL_BYTES_MAX]))
        more = _text(response, bytes(raw[: DETAIL_BYTES_MAX + mask.reach]))
        detail = mask.between(more, 0, len(shown))
        return Failure("HttpStatus", f"{what} answered {status}", detail=detail, retryable=retryable)
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        value = _whole(value)
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return Success({"status": response.status, "headers": headers, "body": _parse(response, bytes(raw))})


def _parse(response: aiohttp.ClientResponse, raw: bytes) -> Any:
    kind = response.content_type
    if kind == "application/json" or kind.endswith("+json"):
        try:
            parsed = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # it says it is JSON, but is not: the text is all there is
        else:
            if first_fault(parsed, "body") is None:  # nor is what nobody could hand on: it is nested too deep
                return parsed
    return _text(response, raw)


def _text(response: aiohttp.ClientResponse, raw: bytes) -> str:
    try:
        return _whole(raw.decode(response.charset or "utf-8", errors="replace"))
    except (LookupError, ValueError):  # no such encoding, or one that is not for texts like this
        return raw.decode(errors="replace")


def _whole(text: str) -> str:
    """Without half characters, which no journal can keep."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _failure(error: Exception, what: str, url: URL) -> Failure:
    match error:
        case aiohttp.TooManyRedirects():
            message, retryable = f"{what} was redirected more than {REDIRECTS_MAX} times", False
        case aiohttp.RedirectClientError():
            message, retryable = f"{what} was redirected to what is no http address: {error}", False
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            message, retryable = f"{what}: no trusted connection: {error}", False
        case aiohttp.ClientConnectorDNSError():
            message, retryable = f"{what}: the name {url.host!r} cannot be resolved: {error.os_error}", True
        case aiohttp.ClientConnectorError():
            message, retryable = f"{what}: no connection: {_reason(error.os_error)}", True
        case aiohttp.ServerTimeoutError():
            message, retryable = f"{what}: no connection within {CONNECT_S:g}s", True
        case aiohttp.InvalidURL() | ValueError():
            message, retryable = f"{what} cannot be sent: {error}", False
        case _:
            message, retryable = f"{what}: the connection broke: {error or type(error).__name__}", True
    bases = ["ConnectionError"] if retryable else []
    return Failure(type(error).__name__, message, bases=tuple(bases), retryable=retryable)
