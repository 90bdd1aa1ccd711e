"""From what users write for a setting, which is text or a value of TOML, to its value.

All raise ValueError, with advice, for what they cannot read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from windlass.cli.apps import is_there
from windlass.config import ROLES, split_address
from windlass.core import durations
from windlass.core.faults import found, quote

TRUE: Final = ("true", "1", "yes", "on")
FALSE: Final = ("false", "0", "no", "off")


def text(given: object) -> str:
    if not isinstance(given, str):
        raise ValueError(f"{found(given)} is no text; write it in quotes")
    return given.strip()


def file(given: object) -> Path:
    path = Path(text(given)).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no file {quote(str(path))}")
    return path


def whole(given: object) -> int:
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,15}", given.strip()):
        return int(given)
    if isinstance(given, bool) or not isinstance(given, int):
        raise ValueError(f"{found(given)} is no whole number")
    return given


def level(given: object) -> int:
    return min(2, whole(given))


def share(given: object) -> float:
    """0.85, or 85%."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    written = given.strip() if isinstance(given, str) else ""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?%?", written):
        raise ValueError(f"{found(given)} is no share; write e.g. 0.85 or, as a text, 85%")
    return float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)


def number(given: object) -> float:
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", given.strip()):
        return float(given)
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"{found(given)} is no number; write e.g. 0.3")
    return float(given)


def milliseconds(given: object) -> float:
    """In seconds."""
    try:
        return number(given) / 1000
    except ValueError:
        raise ValueError(f"{found(given)} is no number of milliseconds; write e.g. 30000") from None


def retries(given: object) -> int:
    """0 would mean any number to us, and none to whoever wrote it."""
    times = whole(given)
    if times == 0:
        raise ValueError("0 makes no sense here; if lost work shall wait for you, say enableFailover = false")
    return times


def negated(given: object) -> bool:
    return not flag(given)


def span(given: object) -> float:
    return durations.parse(given)


def flag(given: object) -> bool:
    if isinstance(given, bool):
        return given
    written = given.strip().lower() if isinstance(given, str) else ""
    if written not in (*TRUE, *FALSE):
        raise ValueError(f"{found(given)} is neither true nor false")
    return written in TRUE


def words(given: object) -> tuple[str, ...]:
    """A list, or a text with commas or spaces between its words."""
    if isinstance(given, str):
        # Also a list as HOCON has it: ["worker", "api-gateway"].
        return tuple(re.findall(r"[^\s,\[\]\"']+", given))
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) for word in given):
        raise ValueError(f"{found(given)} is no list of texts")
    return tuple(given)


def roles(given: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ROLES.get(word.lower(), word) for word in words(given)))


def apps(given: object) -> tuple[str, ...]:
    names = words(given)
    missing = [name for name in names if not is_there(name)]
    if missing:
        raise ValueError(f"there is no module, file or folder {', '.join(map(quote, missing))} here")
    return names


def folder(given: object) -> Path:
    return given if isinstance(given, Path) else Path(text(given))


def address(given: object) -> tuple[str, int | None]:
    return split_address(text(given))


def advertised(given: object) -> str:
    address(given)
    return text(given)


def port(given: object) -> int:
    number = whole(given)
    if number > 65_535:
        raise ValueError(f"{number} is no port: they end at 65535")
    return number
