"""Steps that are no functions: waits, people, signals, other runs, commands, requests and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypedDict, Unpack, cast

from windlass.core.task import Json
from windlass.sdk.authoring.building import needed, output_of
from windlass.sdk.authoring.options import GateOptions, Options, Span, check, span
from windlass.sdk.authoring.places import CannotCompile, here
from windlass.sdk.authoring.steps import add_step
from windlass.sdk.authoring.values import Value, member, mentioned
from windlass.sdk.authoring.workflows import ChildOptions, add_child

_OF_GATES: Final = frozenset(GateOptions.__annotations__)
_UNSAID: Any = object()  # Any: a default may be any JSON


class Approved(TypedDict):
    """What came of an approval that was given. A no fails the step, with the type Rejected."""

    approved: bool
    by: str | None
    comment: str
    at: str


class Printed(TypedDict):
    exitCode: int
    stdout: str
    stderr: str


class Answer(TypedDict):
    status: int
    headers: dict[str, str]
    body: Any  # JSON if the server says so, else text


# These four read as statements of Python do: they wait for all that is written before them, and all that is
# written after them waits for them. With `needs=[…]` they wait for these, and hold up only who uses them.


def sleep(length: Span, **options: Unpack[GateOptions]) -> Any:
    """Wait: `sleep("30d")`. Costs no worker, and survives restarts."""
    return _gate("sleep", "wait", {"for": span(length)}, options)


def wait_until(moment: datetime | str, **options: Unpack[GateOptions]) -> Any:
    """Wait until then; a time without a zone is refused."""
    until = moment.isoformat() if isinstance(moment, datetime) else moment
    return _gate("wait_until", "wait", {"until": until}, options)


def approval(
    prompt: str,
    *,
    who: Sequence[str] = (),
    timeout: Span | None = None,
    on_timeout: Literal["fail", "approve", "reject"] | None = None,
    **options: Unpack[GateOptions],
) -> Approved:
    """Somebody has to say yes: `windlass approve RUN STEP`."""
    with_: dict[str, object] = {"prompt": prompt}
    with_ |= {"who": list(who)} if who else {}
    with_ |= {"timeout": span(timeout)} if timeout is not None else {}
    with_ |= {"on_timeout": on_timeout} if on_timeout is not None else {}
    return cast(Approved, _gate("approval", "approval", with_, options))


def signal(
    name: str, *, timeout: Span | None = None, default: Json = _UNSAID, **options: Unpack[GateOptions]
) -> Any:
    """Wait for something from outside: `windlass signal RUN NAME`. Answers what came with it."""
    with_: dict[str, object] = {"name": name}
    with_ |= {"timeout": span(timeout)} if timeout is not None else {}
    with_ |= {"default": default} if default is not _UNSAID else {}
    return _gate(name, "signal", with_, options)


def child(
    workflow: str, input: Mapping[str, object] | None = None, /, **options: Unpack[ChildOptions]
) -> Any:
    """Another run, by its workflow's id; one that is a function here is simply called."""
    return add_child(needed("child"), workflow, input or {}, options)


def shell(
    command: str | Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    stdin: str | None = None,
    **options: Unpack[Options],
) -> Printed:
    """A command: a list is a program and its words; one text is for /bin/sh, so mind what gets into it."""
    with_: dict[str, object] = {"command": command} if isinstance(command, str) else {"argv": list(command)}
    with_ |= {"env": dict(env)} if env else {}
    with_ |= {"cwd": cwd} if cwd is not None else {}
    with_ |= {"stdin": stdin} if stdin is not None else {}
    return cast(Printed, _add("shell", "shell", with_, options))


def http(
    url: str,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
    json: Json = None,
    **options: Unpack[Options],
) -> Answer:
    with_: dict[str, object] = {"url": url}
    with_ |= {"method": method} if method is not None else {}
    with_ |= {"headers": dict(headers)} if headers else {}
    with_ |= {"body": body} if body is not None else {}
    with_ |= {"json": json} if json is not None else {}
    return cast(Answer, _add("http", "http", with_, options))


def code(
    language: str,
    code: str,
    *,
    version: str | None = None,
    stdin: str | None = None,
    files: Mapping[str, Json] | None = None,
    outputs: Sequence[str] = (),
    limits: Mapping[str, Json] | None = None,
    protections: Sequence[str] = (),
    **options: Unpack[Options],
) -> dict[str, Any]:
    """A program in a sandbox. Values of the run go in by `stdin` and `files`."""
    with_: dict[str, object] = {"language": language, "code": code}
    with_ |= {"version": version} if version is not None else {}
    with_ |= {"stdin": stdin} if stdin is not None else {}
    with_ |= {"files": dict(files)} if files else {}
    with_ |= {"outputs": list(outputs)} if outputs else {}
    with_ |= {"limits": dict(limits)} if limits else {}
    with_ |= {"protections": list(protections)} if protections else {}
    return cast(dict[str, Any], _add("code", "code", with_, options))


def status(of: object) -> str:
    """How the step that returned this has ended: succeeded, skipped, failed …"""
    return cast(str, _about(of, "status"))


def error(of: object) -> Any:
    """What went wrong with it: {type, message}, or null."""
    return _about(of, "error")


def _add(name: str, kind: str, with_: Mapping[str, object], options: Options) -> Any:
    check(options)
    return add_step(needed(f"{name}()"), name, kind, with_, options, {})


def _gate(name: str, kind: str, with_: Mapping[str, object], options: GateOptions) -> Any:
    check(options, _OF_GATES, f"{kind} steps")
    return output_of(needed(f"{name}()").add_gate(name, kind, with_, cast(Options, options)))


def _about(of: object, what: str) -> Value:
    found = list(mentioned(str(of))) if isinstance(of, Value) else []
    if len(found) != 1:
        raise CannotCompile(f"{of!r} is not what a step returned", here())
    return Value(f"{member('steps', found[0])}.{what}")
