"""What a sender of webhooks sends: JSON, or a form; and the headers that may be shown to a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from windlass.core import plain
from windlass.core.faults import Faults
from windlass.core.inbound import Delivery
from windlass.core.task import Json
from windlass.gateway.answers import Problem
from windlass.gateway.inbound_shapes import BODY_BYTES_MAX

FORM: Final = "application/x-www-form-urlencoded"
FORM_FIELDS_MAX: Final = 1_000
SHOWN: Final = frozenset({"content-type", "user-agent", "idempotency-key"})
SHOWN_BEGIN: Final = ("x-github-", "x-gitlab-", "x-event-", "x-request-uuid", "webhook-", "ce-")
HIDDEN: Final = ("signature", "token", "secret", "authorization", "cookie")
HEADER_CHARS_MAX: Final = 1_000


def check_length(size: int) -> None:
    """Let it pass, or raise: 413."""
    if size > BODY_BYTES_MAX:
        raise web.HTTPRequestEntityTooLarge(BODY_BYTES_MAX, size)


def delivery(request: web.Request, body: bytes) -> Delivery:
    """Raises a Problem or Invalid: what it sends cannot be kept."""
    headers = small(request.headers)
    found = Delivery(
        body=_body(body, headers.get("content-type", "")),
        headers={name: value[:HEADER_CHARS_MAX] for name, value in headers.items() if _is_shown(name)},
        query={name: value for name, value in request.query.items() if name != "namespace"},
    )
    faults = Faults()
    plain.check(found.plain(), faults)
    faults.refuse("the delivery")
    return found


def small(headers: Mapping[str, str]) -> dict[str, str]:
    """With names in small letters; of several of one name the first."""
    known: dict[str, str] = {}
    for name, value in headers.items():
        known.setdefault(name.lower(), value)
    return known


def _is_shown(name: str) -> bool:
    if any(word in name for word in HIDDEN):
        return False
    return name in SHOWN or name.startswith(SHOWN_BEGIN)


def _body(body: bytes, content_type: str) -> Json:
    kind = content_type.partition(";")[0].strip().lower()
    if not body.strip():
        return None
    if kind == FORM:
        return _form(body)
    if kind == "application/json" or kind.endswith("+json"):
        return _json(body)
    raise Problem(
        415, "Unsupported content type", f"a delivery comes as application/json or {FORM}; send one of them"
    )


def _json(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Problem(400, "Malformed request", "the body is no JSON") from None


def _form(body: bytes) -> Json:
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FORM_FIELDS_MAX
        )
    except ValueError:  # UnicodeDecodeError is one
        raise Problem(400, "Malformed request", "the body is no form") from None
    if len(pairs) == 1 and pairs[0][0] == "payload":  # JSON within a form, as GitHub can send it
        return _json(pairs[0][1].encode())
    fields: dict[str, Json] = {}
    for name, value in pairs:
        before = fields.get(name)
        fields[name] = (
            value if before is None else [*(before if isinstance(before, list) else [before]), value]
        )
    return fields
