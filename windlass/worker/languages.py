"""Languages as data: what a program's file is called, how it is compiled and run, how its version is asked.

Ours are in languages.toml; users add their own, or replace ours, by a file of the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from windlass.core import code_step
from windlass.core.code_step import Asked
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults
from windlass.core.needs import language_of

OURS: Final = Path(__file__).with_name("languages.toml")
BYTES_MAX: Final = 1024 * 1024
PLACES: Final = frozenset({"memory", "warm"})  # that argv and variables may name, beside the programs
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_NAME: Final = re.compile(code_step.LANGUAGE)


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One way to run programs of a language. In argv and variables `{name}` is the path of a program.

    `{memory}` is how many bytes it may use, `{warm}` a folder that `warm` was compiled in.
    """

    name: str
    file: str  # what the code is put into
    programs: dict[str, list[str]]  # where to look for each: names in PATH, or paths, also with ~ and *
    version: list[str]
    pattern: str = r"([0-9]+(?:\.[0-9]+)+)"  # its group is the version
    at_least: str = ""  # an older one cannot run it
    compile: list[str] = []
    makes: list[str] = []  # files that are there once it was compiled, and that it takes to run
    run: list[str]
    reads: list[str] = []  # what else of the host its programs need, such as /etc/php; also with ~ and *
    env: dict[str, str] = {}
    compile_env: dict[str, str] = {}
    least: dict[str, Any] = {}  # limits below which it would not even start; any: as users write them
    compile_least: dict[str, Any] = {}
    warm: str = ""  # a program of ours, compiled once, of whose traces the others make use

    @property
    def needs(self) -> Asked:
        return code_step.limits(self.least, "", Faults())

    @property
    def compiler_needs(self) -> Asked:
        return code_step.limits(self.compile_least, "", Faults())


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of languages."""

    language: list[Language] = []
    limits: dict[str, Any] = {}  # no step may ask for more


@dataclass(frozen=True, slots=True)
class Book:
    """All languages to look for, and what a step may ask for at most, as far as that was said."""

    languages: tuple[Language, ...]
    most: Asked = field(default_factory=Asked)


@cache
def ours() -> Book:
    return Book(tuple(_written(OURS).language))


def read(path: Path | None) -> Book:
    """Ours, and those of a file, which go before ours of the same name. Raises Invalid."""
    if path is None:
        return ours()
    written = _written(path)
    theirs = [msgspec.structs.replace(each, name=language_of(each.name)) for each in written.language]
    named = {each.name for each in theirs}
    faults = Faults()
    most = code_step.limits(written.limits, "limits", faults)
    if faults.count:
        raise _invalid(path, "; ".join(f"{fault.pointer}: {fault.message}" for fault in faults.listed))
    return Book((*theirs, *(each for each in ours().languages if each.name not in named)), most)


def filled(words: list[str], places: Mapping[str, str]) -> list[str]:
    return [fill(word, places) for word in words]


def fill(text: str, places: Mapping[str, str]) -> str:
    """What is no place is left alone: programs have braces, too."""
    return _PLACE.sub(lambda found: places.get(found[1], found[0]), text)


def _written(path: Path) -> Written:
    try:
        with path.open("rb") as file:
            raw = file.read(BYTES_MAX + 1)
        if len(raw) > BYTES_MAX:
            raise ValueError(f"it has more than {BYTES_MAX:,} bytes")
        written = msgspec.toml.decode(raw, type=Written)
    except OSError as error:
        raise _invalid(path, error.strerror or str(error)) from None
    except ValueError as error:  # of TOML, of UTF-8, or of msgspec
        raise _invalid(path, str(error)) from None
    faults = [f"language {each.name!r}: {fault}" for each in written.language for fault in _faults(each)]
    if faults:
        raise _invalid(path, "; ".join(faults))
    return written


def _faults(language: Language) -> Iterator[str]:
    if not _NAME.fullmatch(language_of(language.name)):
        yield "this is no name of a language; write it small, e.g. python"
    for name in (language.file, *language.makes):
        if not code_step.is_file_name(name):
            yield f"{name!r} cannot be the name of a file"
    if not (language.programs and all(language.programs.values())):
        yield "programs: name at least one, and where to look for it"
    if not (language.run and language.version):
        yield "run and version: write the program and its arguments"
    if bool(language.compile) != bool(language.makes):
        yield "compile and makes belong together: what the compiler leaves is what is run"
    try:
        if re.compile(language.pattern).groups < 1:
            yield "pattern: the version has to be in a group, as in 'Python ([0-9.]+)'"
    except re.error as error:
        yield f"pattern: {error}"
    yield from _strangers(language)
    faults = Faults()
    for key, given in (("least", language.least), ("compile_least", language.compile_least)):
        code_step.limits(given, key, faults)
    yield from (f"{fault.pointer}: {fault.message}" for fault in faults.listed)


def _strangers(language: Language) -> Iterator[str]:
    """Places that nobody fills would reach the program as they are written."""
    known = PLACES | language.programs.keys()
    for word in (*language.version, *language.compile[:1], *language.run[:1]):
        for place in _PLACE.findall(word):
            if place not in known:
                yield f"{{{place}}} is none of {', '.join(sorted(known))}"


def _invalid(path: Path, why: str) -> Invalid:
    return Invalid("the file of languages cannot be used", [Fault(str(path), why)])
