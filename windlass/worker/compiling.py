"""From the text of a program to the files that it takes to run it: compiled in the sandbox, once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from windlass.worker.code_limits import compiler_limits
from windlass.worker.compiled import Compiled, Files, key_of
from windlass.worker.languages import fill, filled
from windlass.worker.link import Printing
from windlass.worker.sandbox import Job, Limits, Ran, Sandbox
from windlass.worker.toolchains import BASIC_ENV, Installed


@dataclass(frozen=True, slots=True)
class Facts:
    """Of compiling one program."""

    cached: bool
    time_s: float  # also what it waited for another one that compiled the same


@dataclass(frozen=True, slots=True)
class Made:
    """The files that it takes to run a program; None: its language is not compiled."""

    files: Files
    facts: Facts | None = None


class NotCompiled(Exception):
    """The compiler did not make a program."""

    def __init__(self, ran: Ran, missing: list[str]) -> None:
        super().__init__(ran.how)
        self.ran = ran
        self.missing = missing


class Compilers:
    """`folder` is the worker's: what compilers make is kept there."""

    def __init__(self, folder: Path) -> None:
        self._compiled = Compiled(folder / "compiled")
        self._warm = folder / "warm"
        self._usable: dict[str, Path | None] = {}  # folders that were warmed up

    async def make(
        self, source: Files, installed: Installed, sandbox: Sandbox, listen: Printing, *, keep: bool
    ) -> Made:
        """What is to be run of these files. Raises NotCompiled. Without `keep`, nothing stays on the disk."""
        if not installed.language.compile:
            return Made(source)
        began = time.monotonic()
        if not keep:
            made = await self._compile(source, installed, sandbox, listen)
            return Made(made, Facts(False, time.monotonic() - began))
        key = key_of(identity(installed), source)
        async with self._compiled.alone(key):
            known = await self._compiled.get(key)
            made = known or await self._compile(source, installed, sandbox, listen)
            if known is None:
                await self._compiled.put(key, made)
        return Made(made, Facts(known is not None, time.monotonic() - began))

    async def _compile(
        self, source: Files, installed: Installed, sandbox: Sandbox, listen: Printing
    ) -> dict[str, bytes]:
        warm = await self._warmed(installed, sandbox)
        ran = await sandbox.run(_job(source, installed, warm), listen)
        missing = [name for name in installed.language.makes if name not in ran.files]
        if missing or not _well(ran):
            raise NotCompiled(ran, missing)
        return {name: ran.files[name] for name in installed.language.makes}

    async def _warmed(self, installed: Installed, sandbox: Sandbox) -> Path | None:
        """A folder that a program of ours was compiled in, and none of a user: all read it, none writes it.

        Without it compiling takes longer, and works all the same. So it is used only once it was seen to
        help: what runs in a sandbox may not be allowed to go where it lies.
        """
        if not installed.language.warm:
            return None
        source = {installed.language.file: installed.language.warm.encode()}
        key = key_of(identity(installed), source)
        async with self._compiled.alone(key):
            if key not in self._usable:
                folder = self._warm / key
                ready = await _warmed_up(folder, source, installed, sandbox)
                ready = ready and _well(await sandbox.run(_job(source, installed, folder)))
                self._usable[key] = folder if ready else None
        return self._usable[key]


async def _warmed_up(folder: Path, source: Files, installed: Installed, sandbox: Sandbox) -> bool:
    """What was begun before, in this life or another, is gone on with."""
    done = folder.with_suffix(".done")
    if done.exists():
        return True
    try:
        await asyncio.to_thread(folder.mkdir, 0o755, parents=True, exist_ok=True)
        warm = _well(await sandbox.run(_job(source, installed, None, keep=folder)))
        if warm:
            done.touch()
    except OSError:
        return False
    return warm


def _well(ran: Ran) -> bool:
    return ran.how == "exited" and ran.code == 0


def places_of(installed: Installed, limits: Limits) -> dict[str, str]:
    """What `{…}` stands for in argv and variables."""
    return {**installed.programs, "memory": str(limits.memory_bytes)}


def environment(env: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    return {**BASIC_ENV, **{name: fill(value, places) for name, value in env.items()}}


def _job(source: Files, installed: Installed, warm: Path | None, keep: Path | None = None) -> Job:
    language = installed.language
    limits = compiler_limits(language.compiler_needs)
    places = {**places_of(installed, limits), "warm": "" if warm is None else str(warm)}
    return Job(
        argv=filled(language.compile, places),
        limits=limits,
        env=environment({**language.env, **language.compile_env}, places),
        files=source,
        wanted=language.makes,
        readable=(*installed.readable, *([] if warm is None else [warm])),
        keep=keep,
    )


def identity(installed: Installed) -> dict[str, object]:
    """All that decides what the compiler makes of a text."""
    language = msgspec.structs.asdict(installed.language)
    return {"language": language, "version": installed.version, "programs": dict(installed.programs)}
