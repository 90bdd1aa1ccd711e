"""Where the functions of python steps are, as users name it: a module, a file or a folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def is_there(name: str) -> bool:
    return Path(name).exists() or _is_module(name)


def _is_module(name: str) -> bool:
    """Whether python steps could import it: here, or where packages are installed."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    here = Path(*name.split("."))
    if here.with_suffix(".py").is_file() or here.is_dir():
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
