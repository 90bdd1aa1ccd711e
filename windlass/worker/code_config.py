"""What a worker can be told of code steps; the one that is built into a node, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


# Without slots: a class can have only one ancestor with them.
@dataclass(frozen=True, kw_only=True)
class CodeConfig:
    """See cli/code_settings.py."""

    no_code: bool = False  # run none
    languages: Path | None = None  # TOML with more of them, and bounds; None: ours
    allow_unsandboxed: bool = False  # run code also where no sandbox works
    sandbox: str = ""  # this one or none; "": the best that works, of those that need not be asked for
