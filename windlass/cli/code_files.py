"""Programs as files: in which language they are, what they read, and where to put what they leave."""

from __future__ import annotations

import base64
import binascii
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final

import click

from windlass.cli.ending import Ended, Exit
from windlass.core.code_step import is_file_name
from windlass.core.faults import quote
from windlass.core.task import Json

STDIN: Final = "-"
# By the end of a file's name.
LANGUAGES: Final = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".sh": "bash",
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".go": "golang",
    ".java": "java",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
    ".lua": "lua",
    ".pl": "perl",
}
# By the program that a first line such as `#!/usr/bin/env python3` names, without a version.
INTERPRETERS: Final = {
    "python": "python",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "sh": "bash",
    "dash": "bash",
    "bash": "bash",
    "ruby": "ruby",
    "php": "php",
    "lua": "lua",
    "perl": "perl",
}
_SHEBANG: Final = re.compile(r"#!\s*(\S+)([^\n]*)")


def text(file: str, what: str) -> str:
    raw = sys.stdin.buffer.read() if file == STDIN else read(file)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise click.UsageError(f"{shown(file)} is no text in UTF-8, as {what} has to be") from None


def read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None


def shown(file: str) -> str:
    return "standard input" if file == STDIN else file


def language_in(file: str, code: str) -> str:
    """By its name, else by its first line. A UsageError if neither tells."""
    found = LANGUAGES.get(PurePath(file).suffix.lower()) or _of_shebang(code)
    if found is None:
        known = " ".join(LANGUAGES)
        raise click.UsageError(
            f"{shown(file)} does not tell its language: say it with --language "
            f"(known by the end of a name: {known}; or by a first line such as #!/usr/bin/env python3)"
        )
    return found


def _of_shebang(code: str) -> str | None:
    line = _SHEBANG.match(code)
    if line is None:
        return None
    words = [line[1], *line[2].split()]
    if PurePath(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    name = re.sub(r"[0-9.]+$", "", PurePath(words[0]).name) if words else ""
    return INTERPRETERS.get(name)


def given(_ctx: click.Context, _parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str | bytes]:
    """NAME=PATH, or a PATH that is called there as it is here: the files by their names."""
    found: dict[str, str | bytes] = {}
    for pair in pairs:
        name, sign, path = pair.partition("=")
        name, path = (name, path) if sign else (PurePath(pair).name, pair)
        if not is_file_name(name):
            raise click.BadParameter(f"{quote(name)} cannot be the name of a file there; write e.g. in.csv")
        found[name] = _content(read(path))
    return found


def _content(raw: bytes) -> str | bytes:
    try:
        return raw if b"\0" in raw else raw.decode()
    except UnicodeDecodeError:
        return raw


def places(names: tuple[str, ...], folder: Path, *, force: bool) -> dict[str, Path]:
    """Where the files will go that a program leaves. A UsageError for what must not be written."""
    found: dict[str, Path] = {}
    for name in names:
        if not is_file_name(name):
            raise click.UsageError(f"--output {quote(name)}: no file below a folder; write e.g. out.csv")
        place = folder / name
        if not place.parent.resolve().is_relative_to(folder.resolve()):
            raise click.UsageError(f"--output {quote(name)}: {place.parent} leads out of {folder}")
        if place.is_dir() or (os.path.lexists(place) and not force):
            raise click.UsageError(f"{place} is there already; --force writes over files")
        found[name] = place
    return found


def keep(files: Mapping[str, Json], wanted: Mapping[str, Path], *, force: bool) -> list[str]:
    """Write those that were wanted; the names of those that are not there."""
    for name, place in wanted.items():
        if name in files:
            _write(place, _raw(files[name]), force=force)
    return [name for name in wanted if name not in files]


def _raw(content: Json) -> bytes:
    if isinstance(content, str):
        return content.encode()
    try:
        return base64.b64decode(content["base64"])
    except (TypeError, KeyError, binascii.Error):
        raise Ended(Exit.FAILED, "error", "the server sent a file that cannot be read") from None


def _write(place: Path, raw: bytes, *, force: bool) -> None:
    """Never through a link: what has this name makes room, or is in the way."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if force:
            place.unlink(missing_ok=True)
        with place.open("xb") as file:
            file.write(raw)
    except OSError as error:
        words = f"{place} cannot be written: {(error.strerror or str(error)).lower()}"
        raise Ended(Exit.FAILED, "error", words) from None
