"""What of the languages is on this machine: found by asking each program for its version, in the sandbox.

What does not answer in there could not run a step either, wherever it is installed. What was answered is
remembered: asking takes a second or two, and looking whether a program is still the same takes nothing.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.core.needs import CODE_LIMITS, CODE_TIME, offers, offers_version
from windlass.worker.answers import Answers, question
from windlass.worker.languages import Language, filled
from windlass.worker.programs import PATH, Machine, Programs
from windlass.worker.sandbox import Job, Limits, Sandbox

BASIC_ENV: Final = {"PATH": PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
ASKED: Final = Limits(
    wall_s=10.0, cpu_s=10.0, memory_bytes=1024**3, processes=128, disk_bytes=16 * 1024**2, output_bytes=65_536
)
AT_ONCE: Final = 2  # others have work to do meanwhile
POLITELY: Final = ("-n", "10")
WAYS_MAX: Final = 8  # versions of one language


@dataclass(frozen=True, slots=True)
class Installed:
    """A language that can be run here."""

    language: Language
    version: str
    programs: Mapping[str, str]  # paths by the names that the language gives them
    readable: tuple[Path, ...] = ()  # what of the host its programs need

    @property
    def name(self) -> str:
        return self.language.name


@dataclass(frozen=True, slots=True)
class Toolbox:
    """All that was found; of each language, the first is what a step gets that asks for no version."""

    installed: tuple[Installed, ...] = field(default=())

    def pick(self, language: str, version: str = "") -> Installed | None:
        wanted = version.split(".") if version else []
        for each in self.installed:
            if each.name == language and each.version.split(".")[: len(wanted)] == wanted:
                return each
        return None

    @property
    def capabilities(self) -> frozenset[str]:
        if not self.installed:
            return frozenset()
        names = offers(each.name for each in self.installed)
        versions = [word for each in self.installed for word in offers_version(each.name, each.version)]
        return frozenset((*names, *versions, CODE_TIME, CODE_LIMITS))


async def find(
    languages: Iterable[Language],
    sandbox: Sandbox,
    *,
    path: str,
    home: Path,
    answers: Answers | None = None,
) -> Toolbox:
    """`path` is where bare names are looked for, as in the variable PATH; `home` is what ~ means."""
    asker = _Asker(sandbox, answers or Answers())
    machine = await asyncio.to_thread(Machine.of, path, home)
    found = [
        each
        for ways in await asyncio.gather(*(_ways(each, machine, asker) for each in languages))
        for each in ways
    ]
    once = {(each.name, each.version): each for each in reversed(found)}
    return Toolbox(tuple(each for each in found if once[each.name, each.version] is each))


async def _ways(language: Language, machine: Machine, asker: _Asker) -> list[Installed]:
    found = dict[str, Installed]()
    for forms in await asyncio.to_thread(lambda: list(machine.ways(language))):
        for programs in forms if len(found) < WAYS_MAX else ():
            readable = machine.readable(programs, language)
            version = version_in(await asker.ask(language, programs, readable), language.pattern)
            if not version:
                continue
            if not _older(version, language.at_least):
                found.setdefault(version, Installed(language, version, programs, readable))
            break
    return list(found.values())


def version_in(said: str, pattern: str) -> str:
    """Empty if there is none in it."""
    matched = re.search(pattern, said)
    version = next((group for group in matched.groups() if group), "") if matched else ""
    version = version.strip(".")
    return version if re.fullmatch(r"[0-9]+(\.[0-9]+)*", version) else ""


class _Asker:
    """Asks each question once, however many languages have it."""

    def __init__(self, sandbox: Sandbox, answers: Answers) -> None:
        self._sandbox = sandbox
        self._answers = answers
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._asking: dict[str, asyncio.Lock] = {}
        nice = shutil.which("nice", path=PATH)
        self._nice = [nice, *POLITELY] if nice else []

    async def ask(self, language: Language, programs: Programs, readable: tuple[Path, ...]) -> str:
        """What they say of themselves; "" if they do not run in the sandbox."""
        argv = filled(language.version, programs)
        env = {**BASIC_ENV, **language.env}
        where = (self._sandbox.name, self._sandbox.protections, [str(place) for place in readable])
        name = question(argv, env, programs.values(), where)
        async with self._asking.setdefault(name, asyncio.Lock()):
            answer = self._answers.get(name)
            if answer is not None:
                return answer.said or ""
            async with self._gate:
                ran = await self._sandbox.run(Job([*self._nice, *argv], ASKED, env=env, readable=readable))
            well = ran.how == "exited" and ran.code == 0
            said = (ran.stdout + b"\n" + ran.stderr).decode(errors="replace") if well else None
            if ran.how not in ("not_started", "timeout"):  # these may be a bad moment
                self._answers.put(name, said)
        return said or ""


def _older(version: str, at_least: str) -> bool:
    return bool(at_least) and _numbers(version) < _numbers(at_least)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
