"""From the limits that a step asks for to those that it gets."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Final

from windlass.core import durations, sizes
from windlass.core.code_step import Asked
from windlass.worker.sandbox import Limits

USUAL: Final = Limits()


@dataclass(frozen=True, slots=True)
class Most:
    """What a step may ask for here, at most."""

    timeout_s: float = 3600.0
    cpu_s: float = 4 * 3600.0
    memory_bytes: int = 4 * 1024**3
    processes: int = 1024
    disk_bytes: int = 1024**3
    output_bytes: int = 2 * 1024**2
    network: bool = False
    cores: float = 0.0  # 0: any number
    open_files: int = 4096
    inodes: int = 65_536


class TooMuch(Exception):
    """The step asks for more than this worker gives; the message says how much that is."""


def most_of(said: Asked, *, machine_bytes: int) -> Most:
    """As far as nothing was said, what is usual; and never all the memory of a machine."""
    usual = Most()
    return Most(
        timeout_s=said.timeout_s or usual.timeout_s,
        cpu_s=said.cpu_s or usual.cpu_s,
        memory_bytes=said.memory_bytes or min(usual.memory_bytes, machine_bytes // 2),
        processes=said.processes or usual.processes,
        disk_bytes=said.disk_bytes or usual.disk_bytes,
        output_bytes=said.output_bytes or usual.output_bytes,
        network=said.network,
        cores=said.cores or usual.cores,
        open_files=said.open_files or usual.open_files,
        inodes=said.inodes or usual.inodes,
    )


def machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limits_of(asked: Asked, *, least: Asked, most: Most, timeout_s: float | None) -> Limits:
    """What is not said is as usual, a language gets what it needs to start. Raises TooMuch.

    `timeout_s` is that of the step: it may take so long, unless its limits say otherwise.
    """
    _check(asked, most)
    wall_s = max(asked.timeout_s or min(timeout_s or USUAL.wall_s, most.timeout_s), least.timeout_s or 0.0)
    memory_bytes = asked.memory_bytes or min(USUAL.memory_bytes, most.memory_bytes)
    return Limits(
        wall_s=wall_s,
        cpu_s=max(asked.cpu_s or min(wall_s, most.cpu_s), least.cpu_s or 0.0),
        memory_bytes=max(memory_bytes, least.memory_bytes or 0),
        processes=max(asked.processes or USUAL.processes, least.processes or 0),
        disk_bytes=max(asked.disk_bytes or USUAL.disk_bytes, least.disk_bytes or 0),
        output_bytes=asked.output_bytes or min(USUAL.output_bytes, most.output_bytes),
        network=asked.network,
        cores=asked.cores or most.cores,
        open_files=max(asked.open_files or min(USUAL.open_files, most.open_files), least.open_files or 0),
        inodes=max(asked.inodes or min(USUAL.inodes, most.inodes), least.inodes or 0),
    )


def compiler_limits(least: Asked) -> Limits:
    return Limits(
        wall_s=max(60.0, least.timeout_s or 0.0),
        cpu_s=max(60.0, least.cpu_s or 0.0),
        memory_bytes=max(1024**3, least.memory_bytes or 0),
        processes=max(64, least.processes or 0),
        open_files=max(1024, least.open_files or 0),
        inodes=max(65_536, least.inodes or 0),
        disk_bytes=max(256 * 1024**2, least.disk_bytes or 0),
        output_bytes=256 * 1024,
    )


def _check(asked: Asked, most: Most) -> None:
    over = [
        f"{name} {show(wanted)}, of at most {show(given)}"
        for name, wanted, given, show in (
            ("timeout", asked.timeout_s, most.timeout_s, durations.show),
            ("cpu", asked.cpu_s, most.cpu_s, durations.show),
        )
        if wanted is not None and wanted > given
    ]
    over += [
        f"{name} {sizes.show(wanted)}, of at most {sizes.show(given)}"
        for name, wanted, given in (
            ("memory", asked.memory_bytes, most.memory_bytes),
            ("disk", asked.disk_bytes, most.disk_bytes),
            ("output", asked.output_bytes, most.output_bytes),
        )
        if wanted is not None and wanted > given
    ]
    over += [
        f"{name} {wanted:g}, of at most {given:g}"
        for name, wanted, given in (
            ("processes", asked.processes, most.processes),
            ("cores", asked.cores, most.cores or math.inf),
            ("open_files", asked.open_files, most.open_files),
            ("inodes", asked.inodes, most.inodes),
        )
        if wanted is not None and wanted > given
    ]
    if asked.network and not most.network:
        over.append("the network, which this worker gives to no code")
    if over:
        raise TooMuch(f"the step asks for {'; '.join(over)}")
