"""What a step of kind `code` says under `with`: the program, what it reads and leaves, what it may use.

Read twice by the same rules: when the document is checked, and by the worker that runs it.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Final

from windlass.core import durations, sizes
from windlass.core.faults import Faults, found, join, quote
from windlass.core.fields import Fields
from windlass.core.needs import language_of
from windlass.core.task import Json

LANGUAGE: Final = r"[a-z][a-z0-9+#_.-]{0,31}"  # any that a worker may offer
VERSION: Final = r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}"
FILE_NAME: Final = r"[A-Za-z0-9._@+ -]+(/[A-Za-z0-9._@+ -]+)*"  # below the folder that the program starts in
CODE_BYTES_MAX: Final = 65_536
FILES_MAX: Final = 64  # that it reads, and that it leaves, each
FILES_BYTES_MAX: Final = 1024 * 1024  # all that it reads together
FILE_NAME_MAX: Final = 200

KEYS: Final = ("language", "version", "code", "stdin", "files", "outputs", "limits", "protections")
LIMITS: Final = (
    "timeout", "cpu", "cores", "memory", "processes", "open_files", "disk", "inodes", "output", "network",
)  # fmt: skip
# What a sandbox may hold, each on its own: a step demands those that it does not want to run without.
PROTECTIONS: Final = (
    "filesystem", "network", "processes", "memory_hard", "memory_watched", "cpu", "disk", "inodes", "seccomp",
    "environment",
)  # fmt: skip

# The lowest and the highest that make sense anywhere; workers have bounds of their own.
DURATION_S: Final = (0.01, 86_400.0)
MEMORY_BYTES: Final = (1_000_000, 1024 * 2**30)
DISK_BYTES: Final = (4096, 1024 * 2**30)
OUTPUT_BYTES: Final = (1, 8 * 2**20)
PROCESSES: Final = (1, 10_000)
CORES: Final = (0.01, 1024.0)
OPEN_FILES: Final = (16, 1_000_000)
INODES: Final = (16, 100_000_000)

_LANGUAGE: Final = re.compile(LANGUAGE)
_VERSION: Final = re.compile(VERSION)
_FILE_NAME: Final = re.compile(FILE_NAME)


@dataclass(frozen=True, slots=True)
class Asked:
    """Limits, as far as they were said."""

    timeout_s: float | None = None
    cpu_s: float | None = None
    memory_bytes: int | None = None
    processes: int | None = None
    disk_bytes: int | None = None
    output_bytes: int | None = None  # of stdout and of stderr, each
    network: bool = False
    cores: float | None = None  # processors that it may keep busy at once
    open_files: int | None = None
    inodes: int | None = None


@dataclass(frozen=True, slots=True)
class CodeStep:
    language: str = ""  # by its one name
    version: str = ""  # or how it begins: 3, 3.11; "": any
    code: str = ""
    stdin: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()  # files that it leaves, and that become part of the step's output
    limits: Asked = field(default_factory=Asked)
    protections: tuple[str, ...] = ()  # without which it is not to be run


def read(fields: Fields) -> CodeStep:
    """Adds a fault for each mistake. What is wrong is left out of the answer."""
    asked = fields.members("limits", 'an object such as {"timeout": "10s"}')
    return CodeStep(
        language=_language(fields),
        version=_version(fields),
        code=_code(fields),
        stdin=fields.text("stdin", "text", empty=True) or "",
        files=_files(fields),
        outputs=_outputs(fields),
        limits=limits(asked or {}, fields.pointer("limits"), fields.faults),
        protections=_protections(fields),
    )


def limits(given: dict[str, Json], at: str, faults: Faults) -> Asked:
    """The limits in an object that is at this pointer."""
    fields = Fields(given, at, faults, LIMITS)
    return Asked(
        timeout_s=_seconds(fields, "timeout"),
        cpu_s=_seconds(fields, "cpu"),
        memory_bytes=_bytes(fields, "memory", *MEMORY_BYTES),
        processes=fields.whole("processes", low=PROCESSES[0], high=PROCESSES[1]),
        disk_bytes=_bytes(fields, "disk", *DISK_BYTES),
        output_bytes=_bytes(fields, "output", *OUTPUT_BYTES),
        network=_flag(fields, "network"),
        cores=fields.number("cores", low=CORES[0], high=CORES[1]),
        open_files=fields.whole("open_files", low=OPEN_FILES[0], high=OPEN_FILES[1]),
        inodes=fields.whole("inodes", low=INODES[0], high=INODES[1]),
    )


def is_file_name(name: str) -> bool:
    """Whether it is a file below the working folder, and can be nothing else."""
    parts = name.split("/")
    return len(name) <= FILE_NAME_MAX and bool(_FILE_NAME.fullmatch(name)) and not {".", ".."} & set(parts)


def _language(fields: Fields) -> str:
    language = fields.text("language", 'text such as "python"')
    if not fields.has("language"):
        fields.missing("language", "write e.g. language: python")
    if language is None:
        return ""
    if not _LANGUAGE.fullmatch(language):
        fields.wrong("language", f"{quote(language)} is no language; write it small, e.g. python or golang")
    return language_of(language)


def _version(fields: Fields) -> str:
    if not fields.has("version"):
        return ""
    version = fields.given["version"]
    if not isinstance(version, str):
        fields.not_text(fields.pointer("version"), version, 'text such as "3.11"')
        return ""
    if not _VERSION.fullmatch(version):
        fields.wrong("version", f'{quote(version)} is no version; write e.g. "3" or "3.11"')
    return version


def _code(fields: Fields) -> str:
    code = fields.text("code", "the text of a program")
    if code is not None and (size := len(code.encode(errors="replace"))) > CODE_BYTES_MAX:
        fields.wrong("code", f"it has {size:,} bytes, and at most {CODE_BYTES_MAX:,} are taken")
    if not fields.has("code"):
        fields.missing("code", "write e.g. code: print(42)")
    return code or ""


def _files(fields: Fields) -> dict[str, bytes]:
    given = fields.members("files", "an object with the content of each file by its name") or {}
    place = fields.pointer("files")
    files: dict[str, bytes] = {}
    for name, content in given.items():
        _check_name(name, join(place, name), fields.faults)
        raw = _content(content, join(place, name), fields.faults)
        if raw is not None:
            files[name] = raw
    _check_many(len(given), place, fields.faults)
    if (size := sum(map(len, files.values()))) > FILES_BYTES_MAX:
        fields.wrong("files", f"they have {size:,} bytes, and at most {FILES_BYTES_MAX:,} are taken")
    for name in files:
        if any(other.startswith(f"{name}/") for other in files):
            fields.wrong("files", f"{quote(name)} cannot be a file and a folder")
    return files


def _outputs(fields: Fields) -> tuple[str, ...]:
    named = fields.texts("outputs", "a list with names of files")
    for place, name in named:
        _check_name(name, place, fields.faults)
    _check_many(len(named), fields.pointer("outputs"), fields.faults)
    return tuple(dict.fromkeys(name for _, name in named))


def _protections(fields: Fields) -> tuple[str, ...]:
    named = fields.texts("protections", "a list with names of protections")
    for place, name in named:
        if name not in PROTECTIONS:
            hint = fields.faults.hint(name, PROTECTIONS) or f"; there are {', '.join(PROTECTIONS)}"
            fields.faults.add(place, f"{quote(name)} is no protection{hint}")
    return tuple(dict.fromkeys(name for _, name in named))


def _content(given: Json, place: str, faults: Faults) -> bytes | None:
    """A text, or any bytes as {"base64": …}."""
    if isinstance(given, str):
        return given.encode(errors="replace")
    encoded = given.get("base64") if isinstance(given, dict) and len(given) == 1 else None
    if not isinstance(encoded, str):
        faults.add(place, f'expected the text of a file, or {{"base64": …}}, found {found(given)}')
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        faults.add(join(place, "base64"), "this is no base64")
        return None


def _check_name(name: str, place: str, faults: Faults) -> None:
    if not is_file_name(name):
        advice = "write a name or a path below the working folder, of letters, digits and . _ @ + -"
        faults.add(place, f"{quote(name)} cannot be the name of a file; {advice}")


def _check_many(count: int, place: str, faults: Faults) -> None:
    if count > FILES_MAX:
        faults.add(place, f"there are {count}, and at most {FILES_MAX} are taken")


def _seconds(fields: Fields, key: str) -> float | None:
    seconds = fields.duration(key)
    low, high = DURATION_S
    if seconds is not None and not low <= seconds <= high:
        fields.wrong(key, f"it is from {durations.show(low)} to {durations.show(high)}")
        return None
    return seconds


def _bytes(fields: Fields, key: str, low: int, high: int) -> int | None:
    if not fields.has(key):
        return None
    try:
        size = sizes.parse(fields.given[key])
    except ValueError as error:
        fields.wrong(key, str(error))
        return None
    if not low <= size <= high:
        fields.wrong(key, f"it is from {sizes.show(low)} to {sizes.show(high)}")
        return None
    return size


def _flag(fields: Fields, key: str) -> bool:
    value = fields.given.get(key, False)
    if not isinstance(value, bool):
        fields.wrong(key, f"expected true or false, found {found(value)}")
    return value is True
