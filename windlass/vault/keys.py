"""Where keys come from: a file that only its owner can read, or one variable of the environment.

One key to a line (or between commas): 32 bytes as hex or base64. The first seals, the others only open what
they sealed before. Messages tell the place of a fault, never what is written there.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
import stat
from pathlib import Path
from typing import Final

from windlass.core.errors import Invalid
from windlass.vault import KEY_BYTES, Keyring

VARIABLE: Final = "WINDLASS_SECRETS_KEY"
FILE: Final = "secrets.key"  # in the data folder of an engine alone
FILE_BYTES_MAX: Final = 64 * 1024
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
ADVICE: Final = "`windlass secret key` makes one"

_HEX: Final = re.compile(r"[0-9A-Fa-f]{64}")


def from_text(text: str, place: str) -> Keyring:
    """The keys in a text. Raises Invalid, which calls the text by `place`."""
    words = [word.strip() for line in text.splitlines() for word in line.partition("#")[0].split(",")]
    keys = [_key(word, f"{place}, key {n}") for n, word in enumerate(filter(None, words), start=1)]
    if not keys:
        raise Invalid(f"{place} holds no key; {ADVICE}")
    return Keyring(keys)


def from_file(path: Path) -> Keyring:
    """Raises Invalid, with advice: it is not there, others can read it, or it holds something else."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Invalid(f"{path} is no file: it cannot hold the keys of secrets")
            if found.st_mode & OTHERS:
                told = f"{path} holds the keys of secrets, and other users can read or change it"
                raise Invalid(f"{told}; chmod 600 it")
            raw = file.read(FILE_BYTES_MAX)
    except OSError as error:
        told = f"the keys of secrets cannot be read from {path}: {error.strerror}"
        raise Invalid(f"{told}; {ADVICE}") from None
    try:
        return from_text(raw.decode("ascii"), str(path))
    except UnicodeDecodeError:
        raise Invalid(f"{path} is no text: write keys as hex or base64, one to a line") from None


def from_own_file(path: Path) -> Keyring:
    """The same, and it is made first if it is not there."""
    if not path.exists():
        _make(path)
    return from_file(path)


def new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def _make(path: Path) -> None:
    """All of it or nothing is there afterwards; if somebody else was quicker, theirs counts."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fd = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "w") as file:
                file.write(new_key() + "\n")
                file.flush()
                os.fsync(fd)
            with contextlib.suppress(FileExistsError):
                os.link(half, path)
        finally:
            half.unlink()
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Invalid(f"a key for secrets cannot be kept in {path}: {error.strerror}") from None


def _key(word: str, place: str) -> bytes:
    if _HEX.fullmatch(word):
        return bytes.fromhex(word)
    plain = word.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        # What is written there is not repeated: it may be a key all the same.
        raise Invalid(f"{place} is no key: write {KEY_BYTES} bytes as hex or base64; {ADVICE}")
    return key
