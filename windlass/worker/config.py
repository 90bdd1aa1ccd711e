"""What a worker program was told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from windlass.core.addresses import networks
from windlass.core.errors import Fault, Invalid
from windlass.wire.crew import SLOTS_MAX, WORDS_MAX
from windlass.worker.code_config import CodeConfig
from windlass.worker.files_config import FilesConfig
from windlass.worker.minder import RECYCLE

MEMORY_MIN: Final = 64 * 1000 * 1000  # a Python process with little in it
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig(CodeConfig, FilesConfig):
    """Of `windlass worker`. Raises Invalid, with every fault there is."""

    connect: tuple[str, ...] = ()  # ws://host:port or wss://host:port
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    name: str = ""  # "": the one of its data folder
    app: tuple[str, ...] = (".",)
    slots: int = 10
    capabilities: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()  # none: all that its token may work for
    host_group: str = ""
    weight: float = 1.0
    data: Path | None = None
    grace_s: float = 30.0
    memory_bytes: int = 0  # of each process of a step; 0: any number
    recycle: int = RECYCLE
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    log_lines: int = 10_000
    log_bytes: int = 1024 * 1024
    http_private: str = "allow"
    allow_network: tuple[str, ...] = ()
    log: Literal["text", "json"] = "text"
    verbose: int = 0

    def __post_init__(self) -> None:
        if found := list(_faults(self)):
            told = "; ".join(f"{fault.pointer}: {fault.message}" for fault in found)
            raise Invalid(f"the configuration of the worker makes no sense: {told}", found)


def _faults(config: WorkerConfig) -> Iterator[Fault]:
    """The pointer of each is the name of a setting."""
    if not config.connect:
        yield Fault("connect", "say which nodes to connect to, e.g. ws://10.0.0.5:8080,ws://10.0.0.6:8080")
    if config.token and config.token_file is not None:
        yield Fault("token-file", "there is a token already: give one or the other")
    if config.name and not _NAME.fullmatch(config.name):
        yield Fault("name", f"{config.name!r} is no name: letters, digits and . _ : -, at most 100")
    if not 1 <= config.slots <= SLOTS_MAX:
        yield Fault("slots", f"{config.slots} is out of range: 1 to {SLOTS_MAX:,}")
    for setting, words in (
        ("capabilities", config.capabilities),
        ("labels", config.labels),
        ("namespaces", config.namespaces),
    ):
        if len(words) > WORDS_MAX:
            yield Fault(setting, f"there are {len(words)}; at most {WORDS_MAX} are allowed")
    if config.memory_bytes and config.memory_bytes < MEMORY_MIN:
        yield Fault("memory", f"a Python process needs at least {MEMORY_MIN // 1_000_000} MB")
    if config.recycle < 1:
        yield Fault("recycle", "it is 1 or more")
    if (config.tls_cert is None) != (config.tls_key is None):
        yield Fault("tls-key", "a certificate and its key belong together: give both, or none")
    if config.weight <= 0:
        yield Fault("weight", "it is above 0")
    if config.http_private not in ("allow", "deny"):
        yield Fault("http-private", "it is allow or deny")
    try:
        networks(config.allow_network)
    except ValueError as error:
        yield Fault("allow-network", str(error))
    if config.log not in ("text", "json"):
        yield Fault("log", "it is text or json")
    if min(config.log_lines, config.log_bytes) < 1:
        yield Fault("log-lines", "it is 1 or more, as is log-bytes")
