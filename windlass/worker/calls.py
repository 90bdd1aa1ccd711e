"""Calls a step's function and turns whatever happens into an answer: bytes of a Success or a Failure."""

from __future__ import annotations

import importlib
import inspect
import os
import resource
import traceback
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Final

import msgspec

from windlass.core.task import CONTEXT_BYTES_MAX, Failure, Result, Task
from windlass.worker.late_context import Tell, context_of
from windlass.worker.telling import unheard
from windlass.worker.values import NotJson, TooLarge, to_json

DETAIL_BYTES_MAX = 8 * 1024
MESSAGE_CHARS_MAX = 2000
CUT = "...\n"  # a traceback begins so if its beginning is not there
HERE: Final = os.path.join(os.path.dirname(__file__), "")
AUTHORING: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "sdk", "authoring", "")
OUT_OF_MEMORY: Final = "out of memory"


class CannotCall(Exception):
    """The step cannot be run as written: trying again will not help."""

    def __init__(self, type_: str, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.type = type_
        self.cause = cause


def call(task: Task, folders: Sequence[str], tell: Tell = unheard) -> bytes:
    """Run the function that a python step names. Never raises."""
    try:
        function = find(str(task.with_.get("call", "")), folders)
        return success(run(function, arguments_of(function, task, tell)))
    except (
        BaseException
    ) as error:  # whatever user code raises, SystemExit included, is its failure and not ours
        return failed(error)


def failed(error: BaseException) -> bytes:
    try:
        if isinstance(error, CannotCall | NotJson | TooLarge):
            return msgspec.json.encode(_refusal(error))
        return msgspec.json.encode(failure(error))
    except BaseException as worse:  # an exception class may do anything when it is looked at
        return msgspec.json.encode(failure(worse))


def ran_out_of_memory(answer: bytes) -> bool:
    """What is left of a process after that is not worth keeping."""
    return answer.startswith(b'{"outcome":"failed","type":"MemoryError"')


def success(result: object) -> bytes:
    value, context = (result.value, result.context) if isinstance(result, Result) else (result, {})
    if not isinstance(context, dict):
        raise NotJson(f"context is a {type(context).__name__}: it must be a dict")
    raw = to_json(value)
    patch = to_json(context, name="context", bytes_max=CONTEXT_BYTES_MAX)
    return b'{"outcome":"ok","value":%b,"context":%b}' % (raw, patch)


def find(name: str, folders: Sequence[str]) -> Callable[..., Any]:  # Any: it is the user's function
    """The function "module:function" names; the part after the colon may have dots."""
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise CannotCall("BadCall", f'call is {name!r}: write it as "module:function"')
    found: object = _module(module_name, folders)
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            where = getattr(found, "__file__", None) or getattr(found, "__name__", module_name)
            raise CannotCall("NoSuchFunction", f"{name}: there is no {part!r} in {where}") from None
    if not callable(found):
        raise CannotCall("NoSuchFunction", f"{name} is a {type(found).__name__}, not a function")
    return found


def _module(name: str, folders: Sequence[str]) -> object:
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        searched = ", ".join(folders) or "no folder"
        if error.name is not None and (name + ".").startswith(error.name + "."):
            file = name.replace(".", os.sep) + ".py"
            message = (
                f"no module {name!r}: searched {searched}. Put {file} there, or start windlass with --app"
            )
        else:
            message = f"module {name!r} imports {error.name!r}, which is not installed; searched {searched}"
        raise CannotCall("ModuleNotFoundError", message, error) from None
    except SyntaxError as error:
        place = f"{error.filename} line {error.lineno}"
        raise CannotCall(
            "SyntaxError", f"module {name!r} cannot be read: {place}: {error.msg}", error
        ) from None
    except ImportError as error:
        raise CannotCall("ImportError", f"module {name!r} cannot be imported: {error}", error) from None


def arguments_of(function: Callable[..., Any], task: Task, tell: Tell) -> dict[str, Any]:
    arguments = task.with_.get("args") or {}
    if not isinstance(arguments, dict):
        raise CannotCall("BadCall", f"args must be an object, not {type(arguments).__name__}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C do not tell
        return arguments
    if "ctx" in signature.parameters:
        if "ctx" in arguments:
            raise CannotCall("BadCall", "args has a ctx, but ctx is what windlass passes to the step")
        arguments = {**arguments, "ctx": context_of(task, tell)}
    try:
        signature.bind(**arguments)
    except TypeError as error:
        name = task.with_["call"]
        raise CannotCall(
            "TypeError", f"{name}{signature} cannot be called with these args: {error}"
        ) from None
    return arguments


def run(function: Callable[..., Any], arguments: dict[str, Any]) -> object:
    # A function that is a @step says itself how it is called with JSON.
    result = getattr(function, "__windlass_call__", function)(**arguments)
    if inspect.isawaitable(result):
        # Not imported at the top: it adds half again to the start of a child, and most never need it.
        run_loop = importlib.import_module("asyncio").run
        return run_loop(_awaited(result))
    return result


async def _awaited(result: Awaitable[object]) -> object:
    return await result


def failure(error: BaseException) -> Failure:
    names = [kind.__name__ for kind in type(error).__mro__[1:] if kind is not object]
    message = _words(error)
    if isinstance(error, SystemExit):
        message = f"the step called sys.exit({message})"
    elif isinstance(error, MemoryError):
        # What the step had gathered goes first: else there is no room to say so.
        traceback.clear_frames(error.__traceback__)
        message = _memory_advice()
    return Failure(
        type=type(error).__name__, message=message, bases=tuple(names), detail=user_traceback(error)
    )


def _memory_advice() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return f"{OUT_OF_MEMORY}: the machine has no more to give"
    advice = "let it hold less at a time, or start the worker with a higher --memory"
    return f"{OUT_OF_MEMORY}: a step may use {limit // 1_000_000:,} MB here; {advice}"


def _refusal(error: CannotCall | NotJson | TooLarge) -> Failure:
    kind = error.type if isinstance(error, CannotCall) else type(error).__name__
    cause = error.cause if isinstance(error, CannotCall) else None
    detail = user_traceback(cause) if cause is not None else ""
    return Failure(type=kind, message=_words(error), detail=detail, retryable=False)


def _words(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as broken:
        text = f"(its message cannot be shown: {type(broken).__name__})"
    if len(text) > MESSAGE_CHARS_MAX:
        text = text[:MESSAGE_CHARS_MAX] + "…"
    return _whole(text)


def user_traceback(error: BaseException) -> str:
    """The traceback without the frames that lead from us to the user's code; its end if it is long."""
    try:
        lines = traceback.format_exception(type(error), error, _users_part(error.__traceback__))
        text = "".join(lines)
    except Exception:  # an exception class may do anything when it is shown
        text = f"{type(error).__name__}: its traceback cannot be shown"
    raw = _whole(text).encode()
    if len(raw) > DETAIL_BYTES_MAX:
        raw = CUT.encode() + raw[len(CUT) - DETAIL_BYTES_MAX :]
    return raw.decode(errors="ignore")


def _users_part(frames: TracebackType | None) -> TracebackType | None:
    while frames is not None and _is_plumbing(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _is_plumbing(path: str) -> bool:
    folder = os.path.basename(os.path.dirname(path))
    return path.startswith((HERE, AUTHORING, "<frozen importlib")) or folder in ("asyncio", "importlib")


def _whole(text: str) -> str:
    return text.encode(errors="replace").decode()
