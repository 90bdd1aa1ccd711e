"""From a request's bytes to what was asked. The good case is one call; the bad one gets an explanation."""

from __future__ import annotations

import hashlib
import json
from typing import Final

import msgspec

from windlass.core import plain
from windlass.core.document import PRIORITY_MAX
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults, found
from windlass.core.fields import Fields
from windlass.core.task import CONTEXT_BYTES_MAX, VALUE_BYTES_MAX, Json
from windlass.gateway import storable, text
from windlass.gateway.answers import Problem
from windlass.gateway.guard import Kind
from windlass.gateway.parameters import ID

BODY_BYTES_MAX: Final = VALUE_BYTES_MAX + 1024 * 1024
LABELS_BYTES_MAX: Final = 16 * 1024


class Asked(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `execute`. All of it is optional."""

    input: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    run_id: str | None = None
    priority: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    version: int | None = None


_decoder: Final = msgspec.json.Decoder(Asked)
_canonical: Final = msgspec.json.Encoder(order="sorted")


def asked(body: bytes, kind: Kind) -> Asked:
    """What `execute` was asked for. Raises Invalid with every fault, or a Problem: 400, not even JSON."""
    if kind == "yaml":
        return _asked(text.parse(body, kind="yaml").document)
    try:
        given = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _asked(_explain(body, error))
    _check(given)
    return given


def reason(body: bytes, kind: Kind) -> str:
    """Why a run is cancelled."""
    document = _json(body) if kind == "json" else text.parse(body, kind="yaml").document
    faults = Faults()
    plain.check(document, faults)
    given = Fields(_object(document, faults), "", faults, ("reason",))
    words = given.text("reason", "text", empty=True)
    faults.refuse("the request")
    return words or ""


def request_hash(document_hash: str, asked: Asked) -> str:
    """The same for the same request, and for no other. Raises what `asked` may raise: the journal must
    be able to keep what is hashed here.
    """
    canonical = _canonical.encode((document_hash, asked.input, asked.context, asked.priority, asked.labels))
    if len(canonical) > LABELS_BYTES_MAX:
        _check_size("labels", asked.labels, LABELS_BYTES_MAX)
        _check_size("context", asked.context, CONTEXT_BYTES_MAX)
        _check_size("input", asked.input, VALUE_BYTES_MAX)
    flaw = storable.flaw(canonical)
    if flaw is not None:
        if len(canonical) <= plain.DOCUMENT_BYTES_MAX:
            _point_at_it({"input": asked.input, "context": asked.context, "labels": asked.labels})
        raise Invalid("the request has a fault", [Fault("", flaw)])
    return hashlib.sha256(canonical).hexdigest()


def _explain(body: bytes, error: Exception) -> Json:
    """The document after all, for those who can say what is wrong with it; or why it is none."""
    if len(body) <= plain.DOCUMENT_BYTES_MAX:
        return _json(body)
    if isinstance(error, msgspec.ValidationError | RecursionError):
        raise Invalid("the request has a fault", [Fault("", str(error))])
    raise Problem(400, "Malformed request", f"the body is no JSON: {error}")


def _json(body: bytes) -> Json:
    try:
        return text.parse(body, kind="json").document
    except Invalid as invalid:
        if _is_json(body):
            raise
        raise Problem(400, "Malformed request", "the body is no JSON", details=invalid.faults) from None


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _asked(document: Json) -> Asked:
    faults = Faults()
    plain.check(document, faults)
    fields = Fields(_object(document, faults), "", faults, Asked.__struct_encode_fields__)
    given = Asked(
        input=fields.given.get("input"),
        context=fields.members("context", "an object") or {},
        run_id=fields.text("runId", "an id"),
        priority=fields.whole("priority", low=-PRIORITY_MAX, high=PRIORITY_MAX) or 0,
        labels=fields.texts_by_name("labels", "an object with a text for each label"),
        version=fields.whole("version", low=1, high=2**31),
    )
    faults.refuse("the request")
    _check(given)
    return given


def _object(document: Json, faults: Faults) -> dict[str, Json]:
    if isinstance(document, dict):
        return document
    faults.add("", f"expected an object such as {{}}, found {found(document)}")
    return {}


def _check(asked: Asked) -> None:
    faults = Faults()
    if asked.run_id is not None and not ID.fullmatch(asked.run_id):
        faults.add("/runId", "use 1 to 200 letters, digits and the characters . _ : -")
    if not -PRIORITY_MAX <= asked.priority <= PRIORITY_MAX:
        faults.add("/priority", f"expected a whole number from {-PRIORITY_MAX} to {PRIORITY_MAX}")
    faults.refuse("the request")


def _check_size(name: str, value: Json, bytes_max: int) -> None:
    size = len(_canonical.encode(value))
    if size > bytes_max:
        message = (
            f"`{name}` takes {size} bytes as JSON and may take {bytes_max}; pass large data by reference"
        )
        raise Problem(413, "Too large", message, details=[Fault(f"/{name}", message)])


def _point_at_it(parts: dict[str, Json]) -> None:
    faults = Faults()
    plain.check(parts, faults)
    faults.refuse("the request")
