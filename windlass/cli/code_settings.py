"""The settings of code steps, which `windlass up`, `windlass node` and `windlass worker` share."""

from __future__ import annotations

from typing import Final

from windlass.cli import readers
from windlass.cli.setting import Setting
from windlass.core.faults import quote

SANDBOXES: Final = ("bubblewrap", "landlock", "gvisor")


def _sandbox(given: object) -> str:
    name = readers.text(given)
    if name not in SANDBOXES:
        raise ValueError(f"{quote(name)} is no sandbox; there are {', '.join(SANDBOXES)}")
    return name


CODE_SETTINGS: Final = (
    Setting("no-code", readers.flag, "Run no code steps here.", into=("no_code",)),
    Setting(
        "languages",
        readers.file,
        "TOML with more languages for code steps, and with bounds on what these may ask for.",
        "FILE",
        into=("languages",),
    ),
    Setting(
        "allow-unsandboxed",
        readers.flag,
        "Run code steps also where no sandbox works. Who may start runs can then do here what this user can.",
        into=("allow_unsandboxed",),
    ),
    Setting(
        "sandbox",
        _sandbox,
        "Run code steps in this sandbox or not at all: bubblewrap, landlock, or gvisor (only if asked for).",
        "NAME",
        into=("sandbox",),
    ),
)
