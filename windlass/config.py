"""What `windlass up` can be told: read once, by the command line, from flags and from WINDLASS_* variables.

Nobody else reads the environment; the parts get plain arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

JOURNAL = "windlass.db"

LogFormat = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Config:
    host: str = "127.0.0.1"
    port: int = 8080  # 0: any free one
    data: Path = Path(".windlass")
    app: tuple[str, ...] = (".",)  # modules, files and folders with the functions of python steps
    slots: int = 16  # tasks that run at the same time
    capabilities: tuple[str, ...] = ()  # what the built-in worker offers to steps with `requires`
    shards: int = 100  # written once, when the data folder is new
    retention_s: float = 30 * 86_400.0  # how long the events of an ended run are kept
    delete_on_snapshot: bool = False
    idle_s: float = 30 * 60.0  # a run nobody spoke to for so long leaves memory
    live_max: int = 200_000  # runs in memory, over all shards
    snapshot_every: int = 100  # events
    log_lines: int = 10_000  # that are kept of what an attempt prints; of a run ten times as many
    log_bytes: int = 1024 * 1024
    examples: bool = False  # register the example workflows and run one
    log: LogFormat = "text"
    verbose: int = 0  # 1: what an operator looks for, 2: everything

    @property
    def journal(self) -> Path:
        return self.data / JOURNAL
