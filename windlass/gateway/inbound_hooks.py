"""Webhooks that come in: make, list, delete them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec
from aiohttp import web

from windlass.core import inbound, inbound_proof, signing
from windlass.core.errors import Fault, Invalid, NotFound, Refused
from windlass.core.faults import Faults, found
from windlass.core.inbound import NAME, InboundRule
from windlass.core.names import DEFAULT_NAMESPACE
from windlass.core.task import Json
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.engine.secrets import inbound_context
from windlass.gateway import answers, bodies, callers, guard, views
from windlass.gateway.inbound_shapes import InboundDeleted, InboundHook, InboundMade
from windlass.gateway.routes import API
from windlass.gateway.shapes import Page
from windlass.registry import InboundRow

HOOKS_MAX: Final = 1_000  # of a namespace

_rule: Final = msgspec.json.Decoder(InboundRule)


class _Asked(NamedTuple):
    rule: InboundRule
    secret: str | None
    rotate: bool


@dataclass(frozen=True, slots=True)
class InboundHooks:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        rows = await in_time(self.node.registry.inbounds(callers.namespace(request)))
        return answers.json(Page(items=[InboundHook(**_shown(row)) for row in rows], next=None))

    async def read(self, request: web.Request) -> web.Response:
        return answers.json(InboundHook(**_shown(await self._find(request))))

    async def put(self, request: web.Request) -> web.Response:
        """Make it, or change it; then its secret stays, unless another is asked for."""
        name, namespace = request.match_info["hook"], callers.namespace(request)
        if not NAME.fullmatch(name):
            raise _wrong("/name", "use 1 to 100 letters, digits and . _ -, beginning with a letter or digit")
        body, kind = await request.read(), guard.kind_of(request.headers.get("Content-Type"))
        asked = _asked(bodies.shaped(body, kind, dict[str, Json]))
        rule = asked.rule
        registry = self.node.registry
        before = await in_time(registry.inbound(namespace, name))
        if before is None and len(await in_time(registry.inbounds(namespace))) >= HOOKS_MAX:
            raise Refused(f"the namespace {namespace} has {HOOKS_MAX} hooks already; delete some")
        secret = self._secret(asked, before)
        row = self._row(before, namespace, name, rule, secret, by=callers.of(request).who)
        await in_time(registry.put_inbound(row))
        made = InboundMade(**_shown(row), secret=None if asked.secret else secret)
        return answers.json(made, 201 if before is None else 200)

    async def delete(self, request: web.Request) -> web.Response:
        row = await self._find(request)
        await in_time(self.node.registry.delete_inbound(row.namespace, row.name))
        return answers.json(InboundDeleted(name=row.name, deleted=True))

    def _secret(self, asked: _Asked, before: InboundRow | None) -> str | None:
        """The new one, if there is to be a new one."""
        if asked.secret is not None:
            if asked.rotate:
                raise _wrong("/rotateSecret", "with `secret` there is nothing to make; leave one of them out")
            why = inbound_proof.why_not(asked.secret, asked.rule.check)
            if why:
                raise _wrong("/secret", why)
            return asked.secret
        if before is None or asked.rotate:
            return signing.secret_of(secrets.token_bytes(signing.SECRET_BYTES))
        why = inbound_proof.why_not(unsealed(self.node, before), asked.rule.check)
        if why:
            raise _wrong("/check", f"the secret that is kept does not fit: {why}; send `secret` with it")
        return None

    def _row(
        self,
        before: InboundRow | None,
        namespace: str,
        name: str,
        rule: InboundRule,
        secret: str | None,
        *,
        by: str,
    ) -> InboundRow:
        now = self.node.clock.now()
        if secret is None:
            assert before is not None
            key, sealed = before.key, before.sealed
        else:
            key, sealed = self.node.secrets.keyring.seal(inbound_context(namespace, name), secret)
        return InboundRow(
            namespace=namespace,
            name=name,
            rule=msgspec.json.encode(rule),
            key=key,
            sealed=sealed,
            created_at=now if before is None else before.created_at,
            updated_at=now,
            updated_by=by,
        )

    async def _find(self, request: web.Request) -> InboundRow:
        name, namespace = request.match_info["hook"], callers.namespace(request)
        row = await in_time(self.node.registry.inbound(namespace, name)) if NAME.fullmatch(name) else None
        if row is None:
            raise NotFound(f"there is no hook {name} in the namespace {namespace}")
        return row


def rule_of(row: InboundRow) -> InboundRule:
    return _rule.decode(row.rule)


def unsealed(node: Node, row: InboundRow) -> str:
    """Its secret. Raises Locked."""
    return node.secrets.keyring.open(inbound_context(row.namespace, row.name), row.key, row.sealed)


def _asked(given: dict[str, Json]) -> _Asked:
    """Null is as good as leaving it out."""
    faults = Faults()
    said = {name: value for name, value in given.items() if value is not None}
    secret, rotate = said.pop("secret", None), said.pop("rotateSecret", False)
    if not isinstance(secret, str | None):
        faults.add("/secret", "expected a text")
    if not isinstance(rotate, bool):
        faults.add("/rotateSecret", f"expected true or false, found {found(rotate)}")
    rule = inbound.read(said, faults)
    faults.refuse("the hook")
    return _Asked(rule, secret, rotate)


def _shown(row: InboundRow) -> dict[str, Json]:
    rule = rule_of(row)
    where = "" if row.namespace == DEFAULT_NAMESPACE else f"?namespace={quote(row.namespace)}"
    return {
        "name": row.name,
        "namespace": row.namespace,
        "path": f"{API}/hooks/{row.name}{where}",
        "action": rule.action,
        "workflow": rule.workflow or None,
        "version": rule.version,
        "input": rule.input or None,
        "run": rule.run or None,
        "signal": (rule.signal or row.name) if rule.action == "signal" else None,
        "check": rule.check,
        "events": list(rule.events),
        "delivery": rule.delivery or None,
        "labels": rule.labels,
        "created_at": views.iso(row.created_at),
        "updated_at": views.iso(row.updated_at),
        "updated_by": row.updated_by,
    }


def _wrong(pointer: str, message: str) -> Invalid:
    return Invalid(f"the hook cannot be kept: {message}", [Fault(pointer, message)])
