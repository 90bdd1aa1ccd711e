"""What each kind of step accepts under `with`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, get_args

from windlass.core import code_step, moments, pipeline_step, secret_refs
from windlass.core.definition import StepKind
from windlass.core.faults import Faults, found, join, quote
from windlass.core.fields import Fields
from windlass.core.task import Json

KINDS: tuple[StepKind, ...] = get_args(StepKind)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_URL = re.compile(
    r"https?://(?:[^/?#@\[\]]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]]*)(?::(?P<port>[0-9]*))?(?:[/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_URL_CHARACTERS = re.compile(r"[^\x00-\x20\x7f]+")


class Timer(NamedTuple):
    """How long a `wait` step waits, or until when; neither for the other kinds."""

    wait_s: float | None = None
    wait_until: float | None = None


def check(kind: StepKind, given: dict[str, Json], at: str, faults: Faults) -> Timer:
    """Adds a fault for each mistake in a step's `with`, which is at this pointer."""
    keys, reader = _READERS[kind]
    return reader(Fields(given, at, faults, keys))


def _python(fields: Fields) -> Timer:
    call = fields.text("call", 'text such as "reports:crunch"')
    if call is not None and not is_call(call):
        advice = 'write "module:function", e.g. "reports:crunch"'
        fields.wrong("call", f"{quote(call)} names no function; {advice}")
    if not fields.has("call"):
        fields.missing("call", 'write e.g. call: "reports:crunch" (module:function)')
    fields.members("args", "an object with the function's arguments by name")
    return Timer()


def is_call(text: str) -> bool:
    """Whether it names a function, as module:function."""
    sides = text.split(":")
    return len(sides) == 2 and all(part.isidentifier() for side in sides for part in side.split("."))


def _http(fields: Fields) -> Timer:
    url = fields.text("url", 'text such as "https://example.org/sales"')
    if url is not None and (flaw := _url_flaw(secret_refs.example(url))) is not None:
        fields.wrong("url", f"{quote(url)} {flaw}; write e.g. https://example.org/sales")
    if not fields.has("url"):
        fields.missing("url", 'write e.g. url: "https://example.org/sales"')
    method = fields.given.get("method")
    if not (isinstance(method, str) and method.upper() in METHODS):
        fields.choice("method", METHODS)
    _check_headers(fields)
    fields.text("body", "text (for an object or a list write `json`)", empty=True)
    if fields.has("body") and fields.has("json"):
        fields.exactly_one("body", "json", advice="")
    return Timer()


def _url_flaw(url: str) -> str | None:
    if not _URL_CHARACTERS.fullmatch(url):
        return "holds spaces or control characters"
    if not url.lower().startswith(("http://", "https://")):
        return "does not begin with http:// or https://"
    parts = _URL.fullmatch(url)
    if parts is None:
        return "is no URL"
    if not parts["host"]:
        return "names no host"
    port = parts["port"] or "0"
    return None if len(port) <= 5 and int(port) <= 65_535 else "has a port beyond 65535"


def _check_headers(fields: Fields) -> None:
    for name, value in fields.texts_by_name("headers", "an object with a text for each header").items():
        place = join(fields.pointer("headers"), name)
        if not _HEADER_NAME.fullmatch(name):
            fields.faults.add(place, f"{quote(name)} is no name of a header; use letters, digits and `-`")
        if "\r" in value or "\n" in value:
            fields.faults.add(place, "a header cannot hold a line break; leave it out")


def _shell(fields: Fields) -> Timer:
    advice = 'write argv: ["./publish.sh", "--all"], or command: "./publish.sh --all"'
    fields.exactly_one("argv", "command", advice=advice)
    _check_argv(fields)
    fields.text("command", 'text such as "./publish.sh --all"')
    for name in fields.texts_by_name("env", "an object with a text for each variable"):
        if not name or "=" in name:
            place = join(fields.pointer("env"), name)
            fields.faults.add(
                place, f"{quote(name)} cannot be a variable's name; it must not be empty or hold `=`"
            )
    fields.text("cwd", "the path of a folder")
    fields.text("stdin", "text", empty=True)
    return Timer()


def _check_argv(fields: Fields) -> None:
    if not fields.has("argv"):
        return
    argv, place = fields.given["argv"], fields.pointer("argv")
    if not isinstance(argv, list) or not argv:
        # One text alone is no list of one here: most often it is a whole command line.
        advice = 'write e.g. ["./publish.sh", "--all"], or use `command` for one command line'
        fields.faults.add(place, f"expected a list of texts, found {found(argv)}; {advice}")
        return
    for i, word in enumerate(argv):
        if not isinstance(word, str):
            fields.not_text(join(place, i), word)
    if argv[0] == "":
        fields.faults.add(join(place, 0), "expected the name of a program, found an empty text")


def _code(fields: Fields) -> Timer:
    code_step.read(fields)
    return Timer()


def _wait(fields: Fields) -> Timer:
    fields.exactly_one("for", "until", advice="write for: 10m, or until: 2026-01-01T08:00:00Z")
    return Timer(fields.duration("for"), _moment(fields, "until"))


def _moment(fields: Fields, key: str) -> float | None:
    text = fields.text(key, f"a time; {moments.ADVICE}")
    if text is None:
        return None
    try:
        return moments.parse(text)
    except ValueError as error:
        fields.wrong(key, str(error))
        return None


def _pipeline(fields: Fields) -> Timer:
    pipeline_step.read(fields)
    return Timer()


def _noop(_fields: Fields) -> Timer:
    return Timer()


_READERS: dict[StepKind, tuple[tuple[str, ...], Callable[[Fields], Timer]]] = {
    "python": (("call", "args"), _python),
    "http": (("url", "method", "headers", "body", "json"), _http),
    "shell": (("argv", "command", "env", "cwd", "stdin"), _shell),
    "code": (code_step.KEYS, _code),
    "pipeline": (pipeline_step.KEYS, _pipeline),
    "wait": (("for", "until"), _wait),
    "noop": (("value",), _noop),
}

WORK: Final = frozenset(_READERS)  # kinds whose `with` is checked here
