"""Secrets over HTTP: set, list, delete, seal anew. A value comes in here, and never goes out."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from aiohttp import web

from windlass.core import secret_refs
from windlass.core.errors import Fault, Invalid, NotFound
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import answers, callers, guard, views
from windlass.gateway.answers import Problem
from windlass.gateway.secret_shapes import (
    VALUE_BYTES_MAX,
    VALUE_CHARS_MIN,
    SecretDeleted,
    SecretGiven,
    SecretItem,
    SecretsRotated,
)
from windlass.gateway.shapes import Page
from windlass.registry import SecretRow

_decoder = msgspec.json.Decoder(SecretGiven)


@dataclass(frozen=True, slots=True)
class Secrets:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        rows = await in_time(self.node.registry.secrets(callers.namespace(request)))
        return answers.json(Page(items=[_item(row) for row in rows], next=None))

    async def set(self, request: web.Request) -> web.Response:
        name = request.match_info["secret"]
        if not secret_refs.is_name(name):
            advice = "use letters, digits, _ and -, at most 64, and no digit or - at its beginning"
            raise _wrong("/name", f"this cannot be the name of a secret; {advice}")
        value = _value(await request.read(), guard.kind_of(request.headers.get("Content-Type")))
        row = await self.node.secrets.set(callers.namespace(request), name, value, by=callers.of(request).who)
        return answers.json(_item(row), 201 if row.version == 1 else 200)

    async def delete(self, request: web.Request) -> web.Response:
        namespace, name = callers.namespace(request), request.match_info["secret"]
        known = secret_refs.is_name(name)
        if not known or not await in_time(self.node.registry.delete_secret(namespace, name)):
            raise NotFound(f"there is no secret {name} in the namespace {namespace}")
        return answers.json(SecretDeleted(name=name, deleted=True))

    async def rotate(self, _request: web.Request) -> web.Response:
        rotated = await self.node.secrets.rotate()
        key = self.node.secrets.keyring.key
        answer = SecretsRotated(resealed=rotated.resealed, key=key, locked=list(rotated.locked))
        return answers.json(answer)


def _item(row: SecretRow) -> SecretItem:
    return SecretItem(
        name=row.name,
        version=row.version,
        key=row.key,
        updated_at=views.iso(row.updated_at),
        updated_by=row.updated_by,
    )


def _value(body: bytes, kind: guard.Kind) -> str:
    """What is to be kept. No word of what was sent is repeated in a refusal: it may be most of the value."""
    if kind != "json":
        raise Problem(415, "Unsupported media type", "a secret comes as JSON; send application/json")
    if len(body) > 8 * VALUE_BYTES_MAX:
        raise Problem(413, "Too large", f"a secret may take {VALUE_BYTES_MAX:,} bytes")
    try:
        value = _decoder.decode(body).value
    except msgspec.ValidationError:
        bounds = f"of {VALUE_CHARS_MIN} characters or more, and at most {VALUE_BYTES_MAX:,} bytes"
        words = f'write {{"value": "…"}}, a text {bounds}'
        raise _wrong("/value", words) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Problem(400, "Malformed request", "the body is no JSON") from None
    if len(value.strip()) < VALUE_CHARS_MIN:
        words = f"shorter than {VALUE_CHARS_MIN} characters: it could not be hidden in what steps print"
        raise _wrong("/value", words)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise _wrong("/value", "it holds half a character (a lone surrogate); send whole ones") from None
    if size > VALUE_BYTES_MAX:
        raise Problem(413, "Too large", f"a secret may take {VALUE_BYTES_MAX:,} bytes, and this has {size:,}")
    if "\0" in value:
        raise _wrong("/value", "it holds NUL, which no variable can hold; encode it as base64")
    return value


def _wrong(pointer: str, message: str) -> Invalid:
    return Invalid(f"the secret cannot be set: {message}", [Fault(pointer, message)])
