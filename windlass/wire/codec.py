"""Messages ⇄ bytes. Events are JSON, so that the journal can be read with plain SQL."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from windlass.core.commands import Command
from windlass.core.effects import Dispatch, Recall, RecallAll, Watch, Withdraw
from windlass.core.events import AnyEvent, RunEnded, RunStarted, StepQueued, StepSucceeded, WaitStarted
from windlass.core.limit_key import LimitKey
from windlass.core.run_model import RunImage
from windlass.core.task import Json, Outcome, Task
from windlass.core.workflow import Workflow
from windlass.wire import versions
from windlass.wire.versions import NewerFormat

_encoder: Final = msgspec.json.Encoder()
_event: Final[msgspec.json.Decoder[AnyEvent]] = msgspec.json.Decoder(AnyEvent)
_command: Final[msgspec.json.Decoder[Command]] = msgspec.json.Decoder(Command)

# Every type that is kept or sent, by the stable name it travels under.
MESSAGES: Final[tuple[type[msgspec.Struct], ...]] = (
    *AnyEvent.__args__,
    *Command.__args__,
    Dispatch,
    Watch,
    Recall,
    Withdraw,
    RecallAll,
    Task,
    *Outcome.__args__,
)
EVENTS: Final = frozenset(kind.__name__ for kind in AnyEvent.__args__)

Image = RunImage | Workflow | LimitKey
CONTROL_PHASES: Final = frozenset({"limited", "awaiting", "child", "expanded"})

T = TypeVar("T")


def name(event: AnyEvent) -> str:
    return type(event).__name__


def encode_event(event: AnyEvent) -> bytes:
    return _encoder.encode(event)


def write_event(event: AnyEvent, level: int) -> tuple[int, bytes]:
    """The event for readers of this level: its version there, and its body."""
    if isinstance(event, RunStarted):
        # One that brings nothing new along is told as ever.
        newest = event.asker is not None or event.kept or event.rerun_of
        return 3 if newest else 1 if event.document is None else 2, _encoder.encode(event)
    if isinstance(event, StepQueued | WaitStarted):
        return 1 if event.given is None else 2, _encoder.encode(event)
    if isinstance(event, StepSucceeded):
        return 2 if event.signal else 1, _encoder.encode(event)
    if isinstance(event, RunEnded):
        return 1 if event.output is None else 2, _encoder.encode(event)
    return _write(name(event), event, level)


def decode_event(kind: str, version: int, body: bytes) -> AnyEvent:
    if kind not in EVENTS:
        raise NewerFormat(f"nothing here knows what {kind} is; run the newer Windlass that wrote it")
    if versions.is_alike(kind, version):
        return _event.decode(body)
    upgraded = versions.upgrade(kind, version, msgspec.json.decode(body, type=dict))
    event: AnyEvent = msgspec.convert(upgraded, AnyEvent)
    return event


def decode_news(body: bytes) -> AnyEvent:
    """An event of the present format, as one node tells another."""
    return _event.decode(body)


def encode_command(command: Command) -> bytes:
    return _encoder.encode(command)


def decode_command(body: bytes) -> Command:
    return _command.decode(body)


def encode_image(image: Image) -> bytes:
    """The state in its newest format."""
    return _encoder.encode(image)


def write_image(image: Image, level: int) -> tuple[int, bytes]:
    """The state for readers of this level: its version there, and its body."""
    if isinstance(image, Workflow):
        return 2 if image.schedules else 1, _encoder.encode(image)
    if isinstance(image, LimitKey):
        return _write(versions.LIMIT_IMAGE, image, level)
    # A run that has nothing new is told as ever: a program that cannot read of that can go on with it.
    if _uses_control(image):
        return 4, _encoder.encode(image)
    parked = any(step.phase == "parked" for step in image.steps)
    return 3 if image.started.document is not None else 2 if parked else 1, _encoder.encode(image)


def _uses_control(image: RunImage) -> bool:
    """Whether it says something that came with steps made at run time, expressions, permits and children."""
    started = image.started
    if image.claims or image.debts or image.signals or image.undoing is not None:
        return True
    if (
        started.asker is not None
        or started.kept
        or (image.ended is not None and image.ended.output is not None)
    ):
        return True
    return any(
        step.of != -1 or step.given is not None or step.run or step.why or step.order
        or step.items is not None or step.turns or step.phase in CONTROL_PHASES
        for step in image.steps
    )  # fmt: skip


def decode_run(version: int, body: bytes) -> RunImage:
    return _decode(versions.RUN_IMAGE, version, body, RunImage)


def decode_workflow(version: int, body: bytes) -> Workflow:
    return _decode(versions.WORKFLOW_IMAGE, version, body, Workflow)


def decode_limit(version: int, body: bytes) -> LimitKey:
    return _decode(versions.LIMIT_IMAGE, version, body, LimitKey)


def _write(kind: str, value: AnyEvent | Image, level: int) -> tuple[int, bytes]:
    version = versions.written(kind, level)
    if version == versions.current(kind):
        return version, _encoder.encode(value)
    plain = msgspec.to_builtins(value, str_keys=True)
    return version, _encoder.encode(versions.downgrade(kind, version, plain))


def _decode(kind: str, version: int, body: bytes, target: type[T]) -> T:
    if versions.is_alike(kind, version):
        return msgspec.json.decode(body, type=target)
    upgraded = versions.upgrade(kind, version, msgspec.json.decode(body, type=dict))
    return msgspec.convert(upgraded, target)


def encode_json(value: Json) -> bytes:
    return _encoder.encode(value)
