"""What a worker can be told of files; the one that is built into a node, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


# Without slots: a class can have only one ancestor with them.
@dataclass(frozen=True, kw_only=True)
class FilesConfig:
    """See cli/file_settings.py."""

    files: tuple[Path, ...] = ()  # that stages of pipelines stay under; none: a folder in the data folder
