"""What a webhook that comes in does: start a run, or send one a signal.

    {action: start, workflow: deploy, check: github, events: [push], input: {ref: body.ref}}
    {action: signal, run: body.metadata.run, signal: paid, check: stripe, delivery: body.id}

A delivery is an object {body, headers, query}; a path such as `body.repository.full_name` or
`body.items.0.id` finds a value in it. The same delivery twice does its work once: `delivery_of` finds by what
it is known.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container
from typing import Final, Literal, get_args

import msgspec

from windlass.core.faults import Faults, code, join
from windlass.core.fields import Fields
from windlass.core.names import WorkflowId
from windlass.core.task import Json

Action = Literal["start", "signal"]
# How a sender proves itself: it shows the secret, or signs with it as Standard Webhooks, GitHub or Stripe do.
Check = Literal["secret", "standard", "github", "stripe"]

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
CHECKS: Final[tuple[Check, ...]] = get_args(Check)
ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,200}")
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
KEYS: Final = (
    "action",
    "workflow",
    "version",
    "input",
    "run",
    "signal",
    "check",
    "events",
    "delivery",
    "labels",
)
VERSION_MAX: Final = 2**31
INPUTS_MAX: Final = 100
LABELS_MAX: Final = 20
ROOTS: Final = ("body", "headers", "query")
# By which header a sender numbers its deliveries, and by which it names what happened: the first there is.
DELIVERY_HEADERS: Final = (
    "webhook-id", "x-github-delivery", "x-gitlab-event-uuid", "x-request-uuid", "ce-id", "idempotency-key",
)  # fmt: skip
EVENT_HEADERS: Final = ("x-github-event", "x-gitlab-event", "x-event-key", "ce-type")
DELIVERY_CHARS_MAX: Final = 500

_PATH: Final = re.compile(r"(?:body|headers|query)(?:\.[^.\s]{1,100}){0,20}")


class InboundRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    action: Action = "start"
    workflow: WorkflowId = WorkflowId("")  # that is started
    version: int | None = None  # None: the newest
    input: dict[str, str] = msgspec.field(default_factory=dict)  # paths; empty: the delivery as it is
    run: str = ""  # the path to the id of the run that gets the signal
    signal: str = ""
    check: Check = "secret"
    events: tuple[str, ...] = ()  # only these; empty: all
    delivery: str = ""  # the path to what numbers a delivery, where no header does
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Delivery(msgspec.Struct, frozen=True):
    body: Json
    headers: dict[str, str]  # names in small letters
    query: dict[str, str]

    def plain(self) -> dict[str, Json]:
        return {"body": self.body, "headers": self.headers, "query": self.query}


def read(given: dict[str, Json], faults: Faults) -> InboundRule:
    """The rule as it was written; what is wrong with it is added to the faults."""
    fields = Fields(given, "", faults, KEYS)
    action = fields.choice("action", ACTIONS) if fields.has("action") else "start"
    check = fields.choice("check", CHECKS) if fields.has("check") else "secret"
    if action == "signal":
        _only(fields, "start", ("workflow", "version", "input", "labels"))
        if not fields.has("run"):
            fields.missing("run", "say where the id of the run is, e.g. run: body.run")
    else:
        _only(fields, "signal", ("run", "signal"))
        if not fields.has("workflow"):
            fields.missing("workflow", "name the workflow that is started")
    return InboundRule(
        action="signal" if action == "signal" else "start",
        workflow=WorkflowId(_id(fields, "workflow")),
        version=fields.whole("version", low=1, high=VERSION_MAX)
        if given.get("version") is not None
        else None,
        input=_input(fields),
        run=_path(fields, "run"),
        signal=_id(fields, "signal"),
        check=next((known for known in CHECKS if known == check), "secret"),
        events=tuple(dict.fromkeys(text for _, text in fields.texts("events", "a list of names of events"))),
        delivery=_path(fields, "delivery"),
        labels=_labels(fields),
    )


def at(delivery: Delivery, path: str) -> Json:
    """What the path leads to; None where it leads nowhere."""
    found = _led_to(delivery, path)
    return found[0] if found else None


def _led_to(delivery: Delivery, path: str) -> list[Json]:
    """The one value that the path leads to; none where it leads nowhere."""
    value: Json = delivery.plain()
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return []
    return [value]


def event_of(delivery: Delivery) -> str:
    """What happened, as the sender calls it; "" if it does not say."""
    named = next((delivery.headers[name] for name in EVENT_HEADERS if name in delivery.headers), None)
    if named is not None:
        return named
    kind = delivery.body.get("type") if isinstance(delivery.body, dict) else None
    return kind if isinstance(kind, str) else ""


def is_wanted(rule: InboundRule, delivery: Delivery) -> bool:
    event = event_of(delivery)
    if rule.events:
        return event in rule.events
    return not (rule.check == "github" and event == "ping")  # which GitHub sends when a hook is made


def delivery_of(rule: InboundRule, delivery: Delivery) -> str:
    """The sender's own number of the delivery; "" if it gives none, and each counts by itself."""
    path = rule.delivery or ("body.id" if rule.check == "stripe" else "")
    if path:
        found = at(delivery, path)
        known = isinstance(found, str | int) and not isinstance(found, bool)
        return str(found)[:DELIVERY_CHARS_MAX] if known else ""
    headers = delivery.headers
    named = next((headers[name] for name in DELIVERY_HEADERS if headers.get(name)), "")
    return named[:DELIVERY_CHARS_MAX]


def input_of(rule: InboundRule, delivery: Delivery, declared: Container[str] = ()) -> Json:
    """Of an input that the workflow declares, nothing is said where its path leads nowhere: it may have a
    default."""
    if not rule.input:
        return delivery.plain()
    found = {name: _led_to(delivery, path) for name, path in rule.input.items()}
    return {name: led[0] if led else None for name, led in found.items() if led or name not in declared}


def digest(namespace: str, name: str, number: str) -> str:
    """The same for the same delivery of a hook, and for no other."""
    return hashlib.sha256(msgspec.json.encode([namespace, name, number])).hexdigest()


def _only(fields: Fields, action: str, keys: tuple[str, ...]) -> None:
    for key in keys:
        if fields.has(key):
            fields.wrong(key, f"only `action: {action}` has {code(key)}; leave it out")


def _id(fields: Fields, key: str) -> str:
    text = fields.text(key, "an id")
    if text is not None and not ID.fullmatch(text):
        fields.wrong(key, "use 1 to 200 letters, digits and the characters . _ : -")
    return text or ""


def _path(fields: Fields, key: str) -> str:
    text = fields.text(key, "a path such as body.id")
    if text is not None:
        _check_path(text, fields.pointer(key), fields.faults)
    return text or ""


def _check_path(text: str, pointer: str, faults: Faults) -> None:
    if not _PATH.fullmatch(text):
        roots = ", ".join(ROOTS)
        faults.add(pointer, f"write a path such as body.repository.name; it begins with one of {roots}")


def _input(fields: Fields) -> dict[str, str]:
    given = fields.texts_by_name("input", "an object of paths such as {ref: body.ref}")
    for name, path in given.items():
        _check_path(path, join(fields.pointer("input"), name), fields.faults)
    if len(given) > INPUTS_MAX:
        fields.wrong("input", f"{len(given)} names are too many; take at most {INPUTS_MAX}")
    return given


def _labels(fields: Fields) -> dict[str, str]:
    given = fields.texts_by_name("labels", "an object of texts")
    if len(given) > LABELS_MAX:
        fields.wrong("labels", f"{len(given)} labels are too many; take at most {LABELS_MAX}")
    return given
