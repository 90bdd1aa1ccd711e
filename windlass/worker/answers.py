"""What programs said when they were asked for their version in the sandbox, remembered from start to start.

It is kept in the folder of the worker, and once for all workers of a user. Each answer has the name of its
question, and that holds all that the answer depends on: a program that was replaced is asked again. To forget
something costs a moment, and nothing else: what is damaged, or what somebody else could have written, is not
read.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

log = logging.getLogger(__name__)

FORM: Final = 1  # of questions and of the file: of another one, nothing is known
FILE: Final = "toolchains.json"
FILE_BYTES_MAX: Final = 1024 * 1024
ENTRIES_MAX: Final = 400
SAID_CHARACTERS: Final = 1000
# A program may be a script that leads to another one, which then is replaced.
GOOD_S: Final = 7 * 86_400.0
# What it lacks in the sandbox may have been installed since.
BAD_S: Final = 3600.0
LIBRARIES: Final = "/etc/ld.so.cache"  # written anew whenever libraries come or go
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class Answer(msgspec.Struct, frozen=True):
    said: str | None  # None: it does not run in there
    at: float  # epoch seconds


class _Page(msgspec.Struct, frozen=True):
    form: int
    answers: dict[str, Answer]


class Answers:
    """`folders` are where they are kept, as far as these are there and our own."""

    def __init__(self, folders: Iterable[Path] = (), clock: Callable[[], float] = time.time) -> None:
        self._folders = tuple(folders)
        self._clock = clock
        self._known = self._read()
        self._new = dict[str, Answer]()

    def get(self, question: str) -> Answer | None:
        answer = self._new.get(question) or self._known.get(question)
        return answer if answer is not None and self._holds(answer) else None

    def put(self, question: str, said: str | None) -> None:
        words = None if said is None else said[:SAID_CHARACTERS]
        self._new[question] = Answer(words, self._clock())

    def save(self) -> None:
        """With what others have learned meanwhile. Of two that save at once, one may be forgotten."""
        if not self._new:
            return
        known = {**self._read(), **self._new}
        newest = sorted(known.items(), key=lambda item: item[1].at, reverse=True)[:ENTRIES_MAX]
        raw = msgspec.json.encode(_Page(FORM, dict(newest)))
        for folder in self._folders:
            try:
                if _is_ours(folder):
                    _replace(folder / FILE, raw)
            except OSError as error:
                log.debug("answers cannot be kept", extra={"folder": str(folder), "reason": str(error)})
        self._known, self._new = known, {}

    def _read(self) -> dict[str, Answer]:
        found = dict[str, Answer]()
        for folder in self._folders:
            for question, answer in _answers_in(folder).items():
                if question not in found or found[question].at < answer.at:
                    found[question] = answer
        return {question: answer for question, answer in found.items() if self._holds(answer)}

    def _holds(self, answer: Answer) -> bool:
        age_s = self._clock() - answer.at
        return 0 <= age_s < (BAD_S if answer.said is None else GOOD_S)


def question(argv: Sequence[str], env: Mapping[str, str], programs: Iterable[str], where: object) -> str:
    """The name of a question to these programs; `where` is the sandbox that they are asked in."""
    facts = [_facts(path) for path in (*programs, LIBRARIES)]
    parts = (FORM, list(argv), sorted(env.items()), facts, os.geteuid(), where)
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def own_folder(home: Path, xdg_cache_home: str = "") -> Path:
    """Where all workers of a user share what they learned."""
    above = Path(xdg_cache_home) if xdg_cache_home.startswith("/") else home / ".cache"
    return above / "windlass"


def make_own(folder: Path) -> None:
    """Nobody's home is made: who has none keeps nothing there."""
    with contextlib.suppress(OSError):
        folder.parent.mkdir(0o700, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)


def _facts(path: str) -> tuple[str, ...]:
    """Another file would have others. Some installers set the time of files: of its change they cannot."""
    try:
        known = os.stat(path)
    except OSError:
        return (path,)
    times = (known.st_mtime_ns, known.st_ctime_ns)
    return (path, os.path.realpath(path), *map(str, (known.st_size, known.st_ino, known.st_mode, *times)))


def _answers_in(folder: Path) -> dict[str, Answer]:
    try:
        if not _is_ours(folder):
            return {}
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            known = os.fstat(handle)
            if not stat.S_ISREG(known.st_mode) or not _is_only_ours(known):
                return {}
            raw = file.read(FILE_BYTES_MAX + 1)
        page = msgspec.json.decode(raw, type=_Page) if len(raw) <= FILE_BYTES_MAX else _Page(0, {})
    except (OSError, ValueError, RecursionError):
        return {}
    return page.answers if page.form == FORM else {}


def _is_ours(folder: Path) -> bool:
    known = os.stat(folder)
    return stat.S_ISDIR(known.st_mode) and _is_only_ours(known)


def _is_only_ours(known: os.stat_result) -> bool:
    return known.st_uid == os.geteuid() and not known.st_mode & _OTHERS_WRITE


def _replace(path: Path, raw: bytes) -> None:
    """Written beside and moved into place: who reads finds all of it."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
