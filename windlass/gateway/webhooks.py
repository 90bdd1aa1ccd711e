"""Webhooks over HTTP: make, list, delete, try one."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from windlass.core import signing
from windlass.core.errors import Fault, Invalid, NotFound, Refused
from windlass.core.moments import iso
from windlass.core.names import run_key
from windlass.core.notices import WHATS, Answer, Body
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import answers, callers, guard, parameters
from windlass.gateway.answers import Problem
from windlass.gateway.parameters import ID
from windlass.gateway.shapes import Page
from windlass.gateway.webhook_shapes import Webhook, WebhookAsked, WebhookDeleted, WebhookMade, WebhookTested
from windlass.registry import HookRow

HOOKS_MAX: Final = 100  # of a namespace
REPEAT_S: Final = 600.0  # for so long the same request under the same key is answered as the first one was

_decoder: Final = msgspec.json.Decoder(WebhookAsked)


@dataclass(frozen=True, slots=True)
class Webhooks:
    node: Node

    async def create(self, request: web.Request) -> web.Response:
        asked = _asked(await request.read(), guard.kind_of(request.headers.get("Content-Type")))
        why = self.node.herald.post.why_not(asked.url)
        if why:
            raise _wrong("/url", why)
        namespace = callers.namespace(request)
        ident = _ident(namespace, parameters.idempotency_key(request.headers))
        callers.about(request, f"webhook/{ident}")
        before = await in_time(self.node.registry.hook(ident))
        if before is not None:
            return self._repeated(before, asked)
        if len(await in_time(self.node.registry.hooks(namespace))) >= HOOKS_MAX:
            raise Refused(f"the namespace {namespace} has {HOOKS_MAX} webhooks already; delete some")
        secret = signing.secret_of(secrets.token_bytes(signing.SECRET_BYTES))
        key, sealed = self.node.herald.post.seal(ident, namespace, secret)
        row = HookRow(
            id=ident,
            namespace=namespace,
            workflow=asked.workflow or "",
            url=asked.url,
            on=tuple(what for what in WHATS if what in asked.on),
            key=key,
            sealed=sealed,
            created_at=self.node.clock.now(),
            created_by=callers.of(request).who,
        )
        await in_time(self.node.registry.put_hook(row))
        self.node.hooks.changed()
        return answers.json(_made(row, secret), 201)

    def _repeated(self, row: HookRow, asked: WebhookAsked) -> web.Response:
        same = (row.url, set(row.on), row.workflow) == (asked.url, set(asked.on), asked.workflow or "")
        if not same or self.node.clock.now() > row.created_at + REPEAT_S:
            raise Refused(f"the webhook {row.id} was made under this Idempotency-Key before")
        return answers.json(_made(row, self.node.herald.post.unseal(row)), 201)

    async def index(self, request: web.Request) -> web.Response:
        found = await in_time(self.node.registry.hooks(callers.namespace(request)))
        return answers.json(Page(items=[_shown(row) for row in found], next=None))

    async def delete(self, request: web.Request) -> web.Response:
        row = await self._find(request)
        await in_time(self.node.registry.delete_hook(row.id))
        self.node.hooks.changed()
        return answers.json(WebhookDeleted(id=row.id, deleted=True))

    async def test(self, request: web.Request) -> web.Response:
        """Send one event now, and say what came back."""
        row = await self._find(request)
        clock = asyncio.get_running_loop().time
        now, began = self.node.clock.now(), clock()
        ident = f"{row.id}.test.{secrets.token_hex(8)}"
        body = Body(
            id=ident,
            event="test",
            namespace=row.namespace,
            workflow=row.workflow,
            run_id=None,
            status="",
            error="",
            at=iso(now),
        )
        answer = await self.node.herald.post.send(row, ident, msgspec.json.encode(body), now)
        return answers.json(_tested(answer, clock() - began))

    async def _find(self, request: web.Request) -> HookRow:
        ident, namespace = request.match_info["webhook"], callers.namespace(request)
        row = await in_time(self.node.registry.hook(ident)) if ID.fullmatch(ident) else None
        if row is None or row.namespace != namespace:  # whether another namespace has it is its own matter
            raise NotFound(f"there is no webhook {ident} in the namespace {namespace}")
        return row


def _asked(body: bytes, kind: guard.Kind) -> WebhookAsked:
    if kind != "json":
        raise Problem(415, "Unsupported media type", "a webhook comes as JSON; send application/json")
    try:
        asked = _decoder.decode(body)
    except msgspec.ValidationError as error:
        known = f"write {{'url': 'https://…', 'on': {list(WHATS)}, 'workflow': …}}"
        raise _wrong("", f"{error}; {known}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Problem(400, "Malformed request", "the body is no JSON") from None
    if asked.workflow is not None and not ID.fullmatch(asked.workflow):
        raise _wrong("/workflow", "use 1 to 200 letters, digits and the characters . _ : -")
    return asked


def _wrong(pointer: str, message: str) -> Invalid:
    return Invalid(f"the webhook cannot be made: {message}", [Fault(pointer, message)])


def _ident(namespace: str, key: str | None) -> str:
    """Another one each time, but the same for the same request that is made again."""
    if key is None:
        return f"wh_{secrets.token_hex(8)}"
    return f"wh_{hashlib.sha256(run_key(key, namespace).text().encode()).hexdigest()[:16]}"


def _shown(row: HookRow) -> Webhook:
    return Webhook(
        id=row.id,
        url=row.url,
        on=[what for what in WHATS if what in row.on],
        workflow=row.workflow or None,
        namespace=row.namespace,
        created_at=iso(row.created_at),
        created_by=row.created_by,
    )


def _made(row: HookRow, secret: str) -> WebhookMade:
    return WebhookMade(secret=secret, **msgspec.structs.asdict(_shown(row)))


def _tested(answer: Answer, took_s: float) -> WebhookTested:
    return WebhookTested(
        delivered=answer.ok,
        status=answer.status or None,
        error=answer.error or None,
        took_seconds=round(took_s, 3),
    )
