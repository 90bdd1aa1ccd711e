"""What a sandbox promises: one program, run apart from its worker, under limits.

Everything the program started is gone when `run` returns, however it returns, and also when the worker is
killed meanwhile. A limit that cannot be applied ends the run before it begins: it never runs without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from windlass.worker.link import Printing

How = Literal["exited", "signalled", "timeout", "cpu", "memory", "disk", "output", "not_started"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one job may use, all its processes together unless a tier can only count each."""

    wall_s: float = 30.0
    cpu_s: float = 30.0
    memory_bytes: int = 256 * 1024**2
    processes: int = 64
    open_files: int = 256
    disk_bytes: int = 64 * 1024**2
    inodes: int = 4096
    output_bytes: int = 1024 * 1024  # of stdout and of stderr, each
    network: bool = False
    cores: float = 0.0  # processors that it may keep busy at once, where a tier can bound that; 0: any number


class Protections(msgspec.Struct, frozen=True):
    """What holds in a sandbox, each on its own. Memory is bound (hard) or looked at (watched)."""

    filesystem: bool = False
    network: bool = False
    processes: bool = False
    memory_hard: bool = False
    memory_watched: bool = False
    cpu: bool = False
    disk: bool = False
    inodes: bool = False
    seccomp: bool = False
    environment: bool = False


NONE = Protections()


@dataclass(frozen=True, slots=True)
class Job:
    """A program to run."""

    argv: Sequence[str]
    limits: Limits = Limits()
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)  # put into its working folder before it starts
    wanted: Sequence[str] = ()  # files to bring back: regular ones, bounded, no link is followed
    readable: Sequence[Path] = ()  # more of the host that it may read, such as toolchains
    keep: Path | None = None  # a folder of the host to work in, such as for what a compiler makes


@dataclass(frozen=True, slots=True)
class Ran:
    """How a job went. Whatever it says, none of its processes is left."""

    how: How
    code: int = 0  # exit code or signal number
    stdout: bytes = b""  # the beginning of it, as much as the limit lets through
    stderr: bytes = b""
    stdout_bytes: int = 0  # that it wrote, kept or not
    stderr_bytes: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_bytes: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict)
    protections: Protections = NONE
    detail: str = ""  # why it did not start, in words


class Sandbox(Protocol):
    """One tier that was tried and works here."""

    @property
    def name(self) -> str: ...

    @property
    def protections(self) -> Protections: ...

    async def run(self, job: Job, printing: Printing | None = None) -> Ran:
        """Run it to its end. When this is cancelled, everything is dead before it returns.

        `printing` hears what the job writes while it runs, within its limit of output.
        """
        ...


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of trying one tier on this machine."""

    name: str
    works: bool
    reason: str  # why not, or what is missing for a better one; "" when there is nothing to say
    protections: Protections = NONE
