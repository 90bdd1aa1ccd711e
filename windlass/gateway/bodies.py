"""From a request's bytes to what was asked. The good case is one call; the bad one gets an explanation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import msgspec

from windlass.core import code_request as code_requests
from windlass.core import plain
from windlass.core.code_request import CodeRequest
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults, found
from windlass.core.fields import Fields
from windlass.core.step_fields import PRIORITY_MAX
from windlass.core.task import CONTEXT_BYTES_MAX, VALUE_BYTES_MAX, Json
from windlass.gateway import storable, text
from windlass.gateway.answers import Problem
from windlass.gateway.guard import Kind
from windlass.gateway.parameters import ID, VERSION_MAX, Id, Priority, VersionNumber
from windlass.gateway.shapes import BATCH_MAX
from windlass.gateway.text import Parsed

T = TypeVar("T")

BODY_BYTES_MAX: Final = VALUE_BYTES_MAX + 1024 * 1024
LABELS_BYTES_MAX: Final = 16 * 1024


class Asked(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `execute`. All of it is optional."""

    input: Json = None
    context: dict[str, Json] = msgspec.field(default_factory=dict)
    run_id: Id | None = None
    priority: Priority = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    version: VersionNumber | None = None


class Item(Asked, forbid_unknown_fields=True, rename="camel"):
    """One run of `runs:batch`."""

    workflow: str = ""


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `runs:batch`. Each run is read by itself: a bad one fails alone."""

    runs: list[msgspec.Raw]


_NULLABLE: Final = ("runId", "version")
_decoder: Final = msgspec.json.Decoder(Asked)
_batch: Final = msgspec.json.Decoder(Batch)
_item: Final = msgspec.json.Decoder(Item)
_canonical: Final = msgspec.json.Encoder(order="sorted")


def asked(body: bytes, kind: Kind) -> Asked:
    """What `execute` was asked for. Raises Invalid with every fault, or a Problem: 400, not even JSON."""
    if kind == "yaml":
        return _asked(text.parse(body, kind="yaml"))
    try:
        given = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _asked(_explain(body, error))
    faults = Faults()
    _check(given, faults)
    faults.refuse("the request")
    return given


def batch(body: bytes, kind: Kind) -> list[Item | Exception]:
    """The runs that a batch asks for, each by itself: read, or what is wrong with it.

    Raises Invalid or a Problem if there is no telling what the single runs are.
    """
    if kind == "yaml":
        entries = _entries(text.parse(body, kind="yaml"))
        return [_read_item(partial(_item_of, entry), i) for i, entry in enumerate(entries)]
    try:
        raws = _batch.decode(body).runs
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        _entries(_explain(body, error))
        raise Invalid("the request has a fault", [Fault("", str(error))]) from None
    if len(raws) > BATCH_MAX:
        raise _too_many(len(raws))
    return [_read_item(partial(_raw_item, bytes(raw)), i) for i, raw in enumerate(raws)]


def cancellation(body: bytes, kind: Kind) -> tuple[str, bool]:
    """Why a run is cancelled, and whether what it did is taken back."""
    document = (_json(body) if kind == "json" else text.parse(body, kind="yaml")).document
    faults = Faults()
    plain.check(document, faults)
    given = Fields(_object(document, faults), "", faults, ("reason", "undo"))
    words, undo = given.text("reason", "text", empty=True), given.given.get("undo")
    if undo is not None and not isinstance(undo, bool):
        given.wrong("undo", f"expected true or false, found {found(undo)}")
    faults.refuse("the request")
    return words or "", undo is not False


def shaped(body: bytes, kind: Kind, shape: type[T]) -> T:
    """A small body of this shape. Raises Invalid, or a Problem: 400, not even JSON."""
    document = (_json(body) if kind == "json" else text.parse(body, kind="yaml")).document
    faults = Faults()
    plain.check(document, faults)
    faults.refuse("the request")
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        words, _, place = str(error).partition(" - at `$")
        pointer = place.rstrip("`").replace("[", "/").replace("]", "").replace(".", "/")
        raise Invalid("the request has a fault", [Fault(pointer, words)]) from None


def code_request(body: bytes, kind: Kind) -> CodeRequest:
    """A program that somebody sends. Raises Invalid with every fault, or a Problem: 400, not even JSON."""
    try:
        parsed = None if kind == "json" else text.parse(body, kind="yaml")
        document = msgspec.json.decode(body) if parsed is None else parsed.document
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        parsed = _explain(body, error)
        document = parsed.document
    faults = Faults()
    plain.check(document, faults)
    given = code_requests.read(document, faults)
    if faults.count:
        _refuse(faults, parsed or _json(body))
    return given


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


def _explain(body: bytes, error: Exception) -> Parsed:
    """The document after all, for those who can say what is wrong with it; or why it is none."""
    if len(body) <= plain.DOCUMENT_BYTES_MAX:
        return _json(body)
    if isinstance(error, RecursionError):
        message = f"nested deeper than {plain.DEPTH_MAX} levels; write it flatter"
        raise Invalid("the request has a fault", [Fault("", message)])
    if isinstance(error, msgspec.ValidationError):
        raise Invalid("the request has a fault", [Fault("", str(error))])
    raise Problem(400, "Malformed request", f"the body is no JSON: {error}")


def _json(body: bytes) -> Parsed:
    try:
        return text.parse(body, kind="json")
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


def _asked(parsed: Parsed) -> Asked:
    faults = Faults()
    plain.check(parsed.document, faults)
    document = _object(parsed.document, faults)
    # Null is as good as leaving it out, as it is for the decoder.
    document = {name: value for name, value in document.items() if value is not None or name not in _NULLABLE}
    fields = Fields(document, "", faults, Asked.__struct_encode_fields__)
    given = Asked(
        input=fields.given.get("input"),
        context=fields.members("context", "an object") or {},
        run_id=fields.text("runId", "an id", empty=True),
        priority=fields.whole("priority", low=-PRIORITY_MAX, high=PRIORITY_MAX) or 0,
        labels=fields.texts_by_name("labels", "an object with a text for each label"),
        version=fields.whole("version", low=1, high=VERSION_MAX),
    )
    _check(given, faults)
    _refuse(faults, parsed)
    return given


def _object(document: Json, faults: Faults) -> dict[str, Json]:
    if isinstance(document, dict):
        return document
    faults.add("", f"expected an object such as {{}}, found {found(document)}")
    return {}


def _refuse(faults: Faults, parsed: Parsed) -> None:
    """All of them, in the order of the text and with their places in it."""
    if faults.count:
        raise text.located(faults.invalid("the request"), parsed)


def _check(asked: Asked, faults: Faults) -> None:
    # Once more: the pattern of the type lets a line break at the end pass.
    if asked.run_id is not None and not ID.fullmatch(asked.run_id):
        faults.add("/runId", "use 1 to 200 letters, digits and the characters . _ : -")


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


def _entries(parsed: Parsed) -> list[Json]:
    """The runs of a batch that is not what it should be, or was not JSON."""
    faults = Faults()
    fields = Fields(_object(parsed.document, faults), "", faults, Batch.__struct_encode_fields__)
    entries = fields.given.get("runs")
    if not fields.has("runs"):
        fields.missing("runs", "write e.g. {runs: [{workflow: hello}, {workflow: hello, input: 2}]}")
    elif not isinstance(entries, list):
        fields.wrong("runs", f"expected a list of runs, found {found(entries)}")
    _refuse(faults, parsed)
    assert isinstance(entries, list)
    if len(entries) > BATCH_MAX:
        raise _too_many(len(entries))
    return entries


def _too_many(count: int) -> Invalid:
    text = f"{count} runs are too many for one request; send at most {BATCH_MAX} at once"
    return Invalid(text, [Fault("/runs", text)])


def _read_item(read: Callable[[], Item], i: int) -> Item | Exception:
    try:
        return read()
    except Invalid as invalid:
        # Lines and columns would be those of the run alone.
        faults = [Fault(f"/runs/{i}{fault.pointer}", fault.message) for fault in invalid.faults]
        return Invalid(str(invalid), faults)
    except Problem as problem:
        return problem


def _raw_item(raw: bytes) -> Item:
    try:
        item = _item.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _item_of(_explain(raw, error).document)
    faults = Faults()
    _check_item(item, faults)
    faults.refuse("the run")
    return item


def _item_of(document: Json) -> Item:
    faults = Faults()
    fields = Fields(_object(document, faults), "", faults, Item.__struct_encode_fields__)
    workflow = fields.text("workflow", "the id of a workflow")
    others = {name: value for name, value in fields.given.items() if name in Asked.__struct_encode_fields__}
    try:
        asked = _asked(Parsed(others, lambda: 0))
    except Invalid as invalid:
        for fault in invalid.faults:
            faults.add(fault.pointer, fault.message)
        asked = Asked()
    item = Item(workflow=workflow or "", **msgspec.structs.asdict(asked))
    _check_item(item, faults)
    faults.refuse("the run")
    return item


def _check_item(item: Item, faults: Faults) -> None:
    _check(item, faults)
    if any(fault.pointer == "/workflow" for fault in faults.listed):
        return
    if not item.workflow:
        faults.add("", "`workflow` is missing; write e.g. workflow: hello")
    elif not ID.fullmatch(item.workflow):
        faults.add("/workflow", "no workflow has such an id; use letters, digits and the characters . _ : -")
