"""Sends notices to webhooks: signed, to public addresses only, and to no other place than was asked for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from windlass import __version__
from windlass.core import signing
from windlass.core.errors import Refused
from windlass.core.notices import Answer
from windlass.outward import Forbidden, Rule, connector
from windlass.registry import HookRow
from windlass.vault import Keyring, context_of

ANSWER_S: Final = 10.0
CONNECT_S: Final = 5.0
URL_CHARACTERS_MAX: Final = 2_000
KIND: Final = "hook"  # of what is sealed


class WebhookPost:
    """Implements engine.post.Post. One session, opened when first needed; cookies are not kept."""

    def __init__(self, keyring: Keyring, rule: Rule, *, resolver: AbstractResolver | None = None) -> None:
        self.keyring = keyring
        self._rule = rule
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def why_not(self, url: str) -> str:
        if len(url) > URL_CHARACTERS_MAX:
            return f"an address has {URL_CHARACTERS_MAX} characters or less"
        try:
            parsed = URL(url)
            host, port = parsed.host, parsed.port
        except ValueError:
            return "write it as https://host/path"
        if parsed.scheme not in ("http", "https") or not host or not port:
            return "write it as https://host/path or http://host/path"
        if not url.isascii() or not url.isprintable() or " " in url:
            return "it has characters that addresses cannot have"
        if parsed.raw_user is not None or parsed.raw_password is not None:
            return "it holds a user or password, which would be shown to everybody who lists webhooks"
        if parsed.raw_fragment:
            return "what stands behind # is never sent; leave it out"
        why = self._rule.why_not_host(host)
        return f"{why}, and may not be called; who runs the node can --allow-network it" if why else ""

    def seal(self, hook: str, namespace: str, secret: str) -> tuple[str, bytes]:
        kept = self.keyring.seal(context_of(KIND, namespace, hook), secret)
        return kept.key, kept.sealed

    def unseal(self, hook: HookRow) -> str:
        return self.keyring.open(context_of(KIND, hook.namespace, hook.id), hook.key, hook.sealed)

    async def send(self, hook: HookRow, ident: str, body: bytes, at: float) -> Answer:
        why = self.why_not(hook.url)  # the rule may be another one than when it was made
        if why:
            return Answer(0, f"{hook.url}: {why}")
        try:
            headers = signing.sign(self.unseal(hook), id=ident, at=at, body=body)
        except (Refused, ValueError) as error:
            return Answer(0, str(error))
        return await self._send(hook.url, headers, body)

    async def call(
        self, url: str, ident: str, body: bytes, at: float, *, secret: str, headers: Mapping[str, str]
    ) -> Answer:
        why = self.why_not(url)
        if why:
            return Answer(0, why)  # without the address: what is told is logged, and it may hold a password
        try:
            proof = (
                signing.sign(secret, id=ident, at=at, body=body)
                if secret
                else signing.unsigned(id=ident, at=at)
            )
        except ValueError as error:
            return Answer(0, str(error))
        return await self._send(url, {**headers, **proof}, body)

    async def _send(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        headers |= {"Content-Type": "application/json", "User-Agent": f"Windlass/{__version__}"}
        try:
            async with (
                asyncio.timeout(ANSWER_S),
                self._open().post(URL(url), data=body, headers=headers, allow_redirects=False) as response,
            ):
                return _answer(response)
        except Forbidden as error:
            return Answer(0, f"it leads to an address that may not be called: {error}")
        except TimeoutError:
            return Answer(0, f"no answer within {ANSWER_S:g}s")
        except aiohttp.ClientConnectorDNSError as error:
            return Answer(0, f"its name cannot be resolved: {error.os_error}")
        except aiohttp.ClientConnectorError as error:
            number = error.os_error.errno
            return Answer(0, f"no connection: {os.strerror(number) if number else error.os_error}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Answer(0, f"the connection broke: {error or type(error).__name__}")

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S),
                # A connection for each: so each is judged by what its name means now.
                connector=connector(self._rule, force_close=True, resolver=self._resolver),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


def _answer(response: aiohttp.ClientResponse) -> Answer:
    """What it sends back beside its status is not even read."""
    if 300 <= response.status < 400:
        return Answer(response.status, "it redirects, and redirects are not followed: name the place itself")
    if 200 <= response.status < 300:
        return Answer(response.status)
    return Answer(response.status, f"it answered {response.status} {_printable(response.reason)}".strip())


def _printable(reason: str | None) -> str:
    return "".join(c for c in (reason or "")[:100] if c.isascii() and c.isprintable())
