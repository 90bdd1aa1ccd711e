"""Who has a port: so that "address already in use" says by whom, and what to do about it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from windlass.core.errors import WindlassError

LISTEN: Final = "0A"
COMMAND_MAX: Final = 120

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class PortTaken(WindlassError):
    """Somebody else listens there."""

    def __init__(self, told: str, another: int) -> None:
        """`told` says by whom; `another` is a port to try instead."""
        super().__init__(f"{told}; stop it, or choose another port with --port {another}")
        self.told = told
        self.another = another


class Holder(NamedTuple):
    pid: int
    command: str


def taken(host: str, port: int, proc: Path = Path("/proc")) -> PortTaken:
    """The error to raise when a port cannot be had, as clear as what we may see allows."""
    them = holders(host, port, proc)
    who = " and ".join(f"pid {holder.pid} ({holder.command})" for holder in them)
    another = port + 1 if port < 65535 else port - 1
    return PortTaken(
        f"port {port} on {host} is taken by {who or 'a process that we may not look at'}", another
    )


def holders(host: str, port: int, proc: Path = Path("/proc")) -> list[Holder]:
    """The processes that listen at an address, as far as this user may see them."""
    inodes = {inode for address, inode in _listening(port, proc) if _meets(address, host)}
    wanted = {f"socket:[{inode}]" for inode in inodes}
    return [Holder(pid, _command(proc / str(pid))) for pid in _pids(proc) if _holds(proc / str(pid), wanted)]


def _listening(port: int, proc: Path) -> Iterator[tuple[Address, str]]:
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == LISTEN and int(number, 16) == port:
                yield _address(address), fields[9]


def _address(digits: str) -> Address:
    """The kernel prints addresses as words of four bytes, each in the order of the machine."""
    words = [bytes.fromhex(digits[i : i + 8]) for i in range(0, len(digits), 8)]
    return ipaddress.ip_address(b"".join(word[::-1] for word in words))


def _meets(address: Address, host: str) -> bool:
    """Whether a listener there keeps us from listening at `host`."""
    try:
        ours = ipaddress.ip_address(host)
    except ValueError:  # a name: whoever has the port at all is worth naming
        return True
    return address.is_unspecified or ours.is_unspecified or address == ours


def _pids(proc: Path) -> list[int]:
    return sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())


def _holds(process: Path, wanted: set[str]) -> bool:
    try:
        descriptors = list((process / "fd").iterdir()) if wanted else []
    except OSError:  # another user's, or gone
        return False
    return any(_target(descriptor) in wanted for descriptor in descriptors)


def _target(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)
    except OSError:
        return ""


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return "?"
    command = " ".join(b" ".join(words).decode(errors="replace").split()) or "?"  # in one line
    return command if len(command) <= COMMAND_MAX else f"{command[: COMMAND_MAX - 1]}…"
