"""Finds the tiers that work on this machine, by trying them: a small job is run in each."""

from __future__ import annotations

import asyncio
import shutil
from typing import Final

from windlass.worker.sandbox import cgroup, landlock
from windlass.worker.sandbox.port import Job, Limits, Protections, Sandbox, Tried
from windlass.worker.sandbox.tier import Tier

PROBE: Final = Job(argv=["/bin/sh", "-c", "echo works"], limits=Limits(wall_s=20.0))
HELP_S: Final = 10.0
INSTALL: Final = "bubblewrap is not installed (on Debian: apt install bubblewrap)"
INSTALL_GVISOR: Final = "runsc is not installed (on Debian: apt install runsc)"
ON_REQUEST: Final = "gvisor"

_NAMESPACES: Final = Protections(
    filesystem=True,
    network=True,
    processes=True,
    memory_watched=True,
    cpu=True,
    disk=True,
    inodes=True,
    seccomp=True,
    environment=True,
)
_LANDLOCK: Final = Protections(
    filesystem=True,
    network=True,
    processes=True,
    memory_watched=True,
    cpu=True,
    seccomp=True,
    environment=True,
)
_GVISOR: Final = _LANDLOCK  # what it holds, though by other means: memory and disk are looked at
_UNSANDBOXED: Final = Protections(cpu=True, memory_watched=True, environment=True)


async def probe(only: str = "") -> list[Tried]:
    """Every tier that `best` would choose from, the best first, with what came of trying it."""
    return [tried for _, tried in await _candidates(only)]


async def best(*, allow_unsandboxed: bool = False, only: str = "") -> Sandbox | None:
    """The best tier that works here. None at all: None, unless running without one was allowed.

    `only`: of the tiers of this name; `bubblewrap` means that with a control group too. gVisor is never
    chosen unless it is asked for so, and who asks for a tier gets it or none.
    """
    for tier, tried in await _candidates(only):
        if tier is not None and tried.works:
            return tier
    return unsandboxed() if allow_unsandboxed and not only else None


async def _candidates(only: str) -> list[tuple[Tier | None, Tried]]:
    if only == ON_REQUEST:
        return [await gvisor()]
    return [one for one in await attempts() if one[1].name.startswith(only)]


def unsandboxed() -> Tier:
    """Limits, and nothing that keeps a job from what its user may do."""
    return Tier("unsandboxed", "unsandboxed", _UNSANDBOXED)


async def attempts() -> list[tuple[Tier | None, Tried]]:
    hard = Protections(**{**_fields(_NAMESPACES), "memory_hard": True})
    found: list[tuple[Tier | None, Tried]] = []
    path = shutil.which("bwrap")
    if path is None:
        found += [(None, Tried(name, False, INSTALL)) for name in ("bubblewrap+cgroup", "bubblewrap")]
    else:
        userns = await _knows_disable_userns(path)
        try:
            cgroup.prepare()
        except (cgroup.NoGroup, OSError) as error:
            found.append((None, Tried("bubblewrap+cgroup", False, str(error))))
        else:
            found.append(await _tried(Tier("bubblewrap+cgroup", "bubblewrap", hard, True, path, userns)))
        found.append(await _tried(Tier("bubblewrap", "bubblewrap", _NAMESPACES, False, path, userns)))
    found.append(await _landlock())
    return found


async def gvisor() -> tuple[Tier | None, Tried]:
    path = shutil.which("runsc")
    if path is None:
        return None, Tried(ON_REQUEST, False, INSTALL_GVISOR)
    return await _tried(Tier(ON_REQUEST, "gvisor", _GVISOR, runsc=path))


async def _landlock() -> tuple[Tier | None, Tried]:
    version = landlock.abi()
    if version < landlock.ABI_SCOPES:
        has = f"has version {version} of it" if version else "has none, or it is switched off"
        needs = f"Landlock needs version {landlock.ABI_SCOPES} (Linux 6.12)"
        return None, Tried("landlock", False, f"{needs}; this kernel {has}")
    return await _tried(Tier("landlock", "landlock", _LANDLOCK))


async def _tried(tier: Tier) -> tuple[Tier, Tried]:
    ran = await tier.run(PROBE)
    works = ran.how == "exited" and ran.code == 0 and ran.stdout == b"works\n"
    said = ran.detail or ran.stderr[:300].decode(errors="replace").strip() or f"a job {ran.how} {ran.code}"
    return tier, Tried(tier.name, works, "" if works else said, tier.protections if works else Protections())


async def _knows_disable_userns(path: str) -> bool:
    """Since version 0.8; older ones carry too, as the filter of system calls forbids the same."""
    process = await asyncio.create_subprocess_exec(
        path, "--help", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(HELP_S):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return b"--disable-userns" in said


def _fields(protections: Protections) -> dict[str, bool]:
    return {name: getattr(protections, name) for name in protections.__struct_fields__}
