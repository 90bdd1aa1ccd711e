"""Messages survive the trip to bytes and back, under names that never change."""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from windlass.core.assign.placed import Placed, Ranked
from windlass.core.commands import Command
from windlass.core.events import AnyEvent
from windlass.core.task import Task
from windlass.wire import codec, versions

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = GOLDEN / "message_names.json"


def sample(kind: type[msgspec.Struct], *, full: bool) -> Any:
    """A message of this type with every field set, or with only what it must have."""
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if full or field.required:
            given[field.name] = value(get_type_hints(kind)[field.name], field.name)
    return kind(**given)


def value(hint: Any, name: str) -> Any:
    """A value of a type, of which little is left to chance."""
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(hint, NewType):
        return value(hint.__supertype__, name)
    if origin is Literal:
        return inner[-1]
    if origin in (Union, UnionType):
        return value(next(kind for kind in inner if kind is not NoneType), name)
    if origin is list:
        return [value(inner[0], name)]
    if origin is tuple:
        return (value(inner[0], name),)
    if origin is dict:
        return {value(inner[0], name): value(inner[1], name)}
    if hint is Any:
        return {"deep": [1, 2.5, None, "é"]}
    if hint in SIMPLE:
        return SIMPLE[hint]
    if hint is Placed:
        return Placed("random", (0.5, 2, "w1"), 3, (Ranked("w1", (1,)),))
    assert issubclass(hint, msgspec.Struct), f"no sample for {hint} of {name}"
    return sample(hint, full=True)


SIMPLE: dict[Any, Any] = {str: "text with ☃ and \x00", int: 3, float: 12.5, bool: True}


@pytest.mark.accepts("S2.18")
@pytest.mark.parametrize("kind", codec.MESSAGES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("full", [True, False], ids=["full", "bare"])
def test_every_message_comes_back_equal(kind: type[msgspec.Struct], full: bool) -> None:
    message = sample(kind, full=full)
    if isinstance(message, AnyEvent):
        read: object = codec.decode_event(kind.__name__, *codec.write_event(message, versions.LEVEL))
    elif isinstance(message, Command):
        read = codec.decode_command(codec.encode_command(message))
    else:
        read = msgspec.json.decode(msgspec.json.encode(message), type=kind)
    assert read == message
    assert type(read) is kind


@pytest.mark.accepts("S2.19")
def test_every_message_is_registered_under_a_name_that_never_changes() -> None:
    """A type that loses its name here can no longer be read from old journals: add, never rename."""
    registered = [kind.__name__ for kind in codec.MESSAGES]
    assert len(set(registered)) == len(registered)
    golden = json.loads(NAMES.read_text())
    assert set(golden) <= set(registered), "a message that old journals may hold is gone"
    for kind in codec.MESSAGES:
        if issubclass(kind, AnyEvent | Command):
            assert kind.__struct_config__.tag == kind.__name__
            fields = {f.encode_name: f.required for f in msgspec.structs.fields(kind)}
            for name in golden[kind.__name__]:
                assert name in fields, f"{kind.__name__}.{name} is gone: old events hold it"
            for name, required in fields.items():
                known = name in golden[kind.__name__]
                assert known or not required, f"{kind.__name__}.{name} is new, so it needs a default"


def test_a_field_nobody_knows_is_passed_over() -> None:
    body = b'{"type":"RunPaused","at":1.0,"command":"c","invented_later":true}'
    assert codec.decode_event("RunPaused", 1, body) == msgspec.json.decode(body, type=AnyEvent)


def test_a_format_from_the_future_is_refused_by_name() -> None:
    with pytest.raises(
        versions.NewerFormat, match="RetryScheduled has format 2 and this Windlass reads up to 1"
    ):
        codec.decode_event("RetryScheduled", 2, b"{}")


def test_a_type_from_the_future_is_refused_by_name_and_is_no_damage() -> None:
    with pytest.raises(versions.NewerFormat, match="StepPraised"):
        codec.decode_event("StepPraised", 1, b'{"type":"StepPraised","at":1.0}')


def test_an_old_format_is_brought_up_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(versions.CURRENT, "RunPaused", 3)
    first = ("RunPaused", 1)
    second = ("RunPaused", 2)
    monkeypatch.setitem(versions.UPGRADES, first, lambda body: {**body, "by": body["who"]})
    monkeypatch.setitem(versions.UPGRADES, second, lambda body: {**body, "command": body["by"]})
    body = b'{"type":"RunPaused","at":1.0,"who":"ada"}'
    event = codec.decode_event("RunPaused", 1, body)
    assert msgspec.to_builtins(event) == {"type": "RunPaused", "at": 1.0, "command": "ada"}


def test_a_task_is_named_by_run_step_and_attempt() -> None:
    task = msgspec.json.decode(b'{"run":"r","step":"s","attempt":2,"kind":"noop"}', type=Task)
    assert task.name == ("default", "r", "s", 2)
