"""References to secrets: `{{ secrets.NAME }}`, inside any text under `with`.

A document, a task and an event hold the reference. Only the worker that runs the step puts the value there.
Any other `{{` is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from windlass.core.faults import Faults, join
from windlass.core.task import Json

NAME: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
REFERENCE: Final = re.compile(rf"\{{\{{\s*secrets\.({NAME})\s*\}}\}}")

_MEANT: Final = re.compile(r"\{\{\s*secrets\b")
_NAME: Final = re.compile(NAME)
HOW_TO_WRITE: Final = "write {{ secrets.NAME }}, a name of letters, digits, _ and -, at most 64"
ARGV: Final = (
    "a secret cannot be in argv, as every user of the machine can see it there; "
    "put it in `env` or `stdin`, or use `command`"
)
# No worker has these steps: nobody would put the value there.
_ENGINES_OWN: Final = frozenset({"approval", "signal", "workflow", "map", "loop", "switch", "wait"})
_NOT_HERE: Final = (
    "a secret is only put into steps that a worker runs, such as python, http or shell; "
    "write the reference there"
)


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def names(value: Json) -> set[str]:
    """The secrets that are referred to, however deep."""
    return {name for text in _texts(value) for name in REFERENCE.findall(text)}


def filled(value: Json, values: Mapping[str, str]) -> Json:
    """The same with values instead of references: as they are, and not looked into again.

    Raises KeyError for a name that has no value.
    """
    return replaced(value, lambda name: values[name])


def replaced(value: Json, by: Callable[[str], str]) -> Json:
    match value:
        case str():
            return REFERENCE.sub(lambda found: by(found[1]), value) if "{{" in value else value
        case list():
            return [replaced(item, by) for item in value]
        case dict():
            return {key: replaced(item, by) for key, item in value.items()}
        case _:
            return value


def example(url: str) -> str:
    """A URL as it might be once it is filled: the secret may be a part of it, or all of it."""
    shown = "https://x" if REFERENCE.match(url) else "x"
    return REFERENCE.sub("x", REFERENCE.sub(shown, url, count=1)) if "{{" in url else url


def check(document: Mapping[str, Json], faults: Faults) -> None:
    """Adds a fault for what is meant as a reference and is none. Of a document that is sound otherwise."""
    steps = document["steps"]
    for step, given in steps.items() if isinstance(steps, dict) else enumerate(steps):
        _check_step(given, join("/steps", step), faults)


def _check_step(given: Json, place: str, faults: Faults) -> None:
    """With the step that it repeats, and the one that undoes it."""
    if not isinstance(given, dict):
        return
    if "undo" in given:
        _check_step(given["undo"], join(place, "undo"), faults)
    kind, written, place = given.get("kind"), given.get("with"), join(place, "with")
    if not isinstance(written, dict):
        return
    if kind in _ENGINES_OWN:
        for key, value in written.items():
            if key == "step" and kind in ("map", "loop"):
                _check_step(value, join(place, key), faults)
            elif names(value):
                faults.add(join(place, key), _NOT_HERE)
        return
    _check(written, place, faults)
    argv = written.get("argv")
    for i, word in enumerate(argv if kind == "shell" and isinstance(argv, list) else ()):
        if names(word):
            faults.add(join(join(place, "argv"), i), ARGV)


def _check(value: Json, place: str, faults: Faults) -> None:
    match value:
        case str():
            if "{{" in value and _MEANT.search(REFERENCE.sub("", value)):
                faults.add(place, f"this refers to no secret; {HOW_TO_WRITE}")
        case list():
            for i, item in enumerate(value):
                _check(item, join(place, i), faults)
        case dict():
            for key, item in value.items():
                if "{{" in key and _MEANT.search(key):
                    faults.add(join(place, key), "a key cannot hold a secret, only the value beside it can")
                _check(item, join(place, key), faults)


def _texts(value: Json) -> Iterator[str]:
    match value:
        case str():
            if "{{" in value:
                yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)
