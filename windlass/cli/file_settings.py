"""The setting of files, which `windlass up`, `windlass node` and `windlass worker` share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from windlass.cli import readers
from windlass.cli.setting import Setting
from windlass.core.faults import quote


def folders(given: object) -> tuple[Path, ...]:
    """A list, or a text with : between them. They are the same wherever the process goes."""
    told = given if isinstance(given, list | tuple) else [given]
    names = [name for each in told for name in readers.text(each).split(os.pathsep) if name]
    found = dict.fromkeys(Path(name).expanduser().absolute() for name in names)
    if missing := [path for path in found if not path.is_dir()]:
        raise ValueError(f"there is no folder {quote(str(missing[0]))}; make it first")
    return tuple(found)


FILE_SETTINGS: Final = (
    Setting(
        "files",
        folders,
        "Where stages of pipelines read and write files; may be repeated. Paths that are not absolute are "
        "under the first.  [default: files, in the data folder]",
        "FOLDER",
        repeated=True,
        into=("files",),
    ),
)
