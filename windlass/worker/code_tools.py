"""What a worker needs to run code: a sandbox that works here, and the languages that work in it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from windlass.core.needs import CODE_NETWORK, protects
from windlass.worker import sandbox as sandboxes
from windlass.worker.answers import Answers, make_own, own_folder
from windlass.worker.code_config import CodeConfig
from windlass.worker.code_limits import Most, machine_bytes, most_of
from windlass.worker.languages import Book, ours, read
from windlass.worker.sandbox import Protections, Sandbox
from windlass.worker.toolchains import Toolbox, find

log = logging.getLogger(__name__)

Best = Callable[[], Awaitable[Sandbox | None]]


@dataclass(slots=True)
class CodeTools:
    """Empty until somebody has looked: that may take a second, and nothing else has to wait for it."""

    book: Book = field(default_factory=ours)
    path: str = ""  # where programs are looked for, as in the variable PATH
    home: Path = Path("/nonexistent")
    cache: Path | None = None  # of this user: where workers share what they learned of programs
    allow_unsandboxed: bool = False
    only: str = ""  # the sandbox that is asked for
    sandbox: Sandbox | None = None
    toolbox: Toolbox = field(default_factory=Toolbox)
    most: Most = field(default_factory=Most)

    async def look(self, best: Best | None = None, *, data: Path | None = None) -> None:
        """Find the best sandbox, and what works in it. Where there is none, no code is offered.

        What programs said is kept in `data`, the worker's own folder, too.
        """
        began = time.monotonic()
        self.most = most_of(self.book.most, machine_bytes=machine_bytes())
        unsandboxed = self.allow_unsandboxed
        found = await (best() if best else sandboxes.best(allow_unsandboxed=unsandboxed, only=self.only))
        if found is None:
            tried = {each.name: each.reason for each in await sandboxes.probe(self.only)}
            log.warning("no code is run here: no sandbox works", extra={"tried": tried})
            return
        answers = await asyncio.to_thread(self._answers, data)
        languages = self.book.languages
        self.toolbox = await find(languages, found, path=self.path, home=self.home, answers=answers)
        self.sandbox = found
        await asyncio.to_thread(answers.save)
        versions = {each.name: each.version for each in reversed(self.toolbox.installed)}
        fields = {"sandbox": found.name, "languages": versions, "took_s": round(time.monotonic() - began, 3)}
        log.info("code can be run", extra=fields)

    def _answers(self, data: Path | None) -> Answers:
        if self.cache is not None:
            make_own(self.cache)
        return Answers(folder for folder in (data, self.cache) if folder is not None)

    @property
    def capabilities(self) -> frozenset[str]:
        """Languages, and `sandbox:NAME` for each protection: a step may require them."""
        offered = self.toolbox.capabilities
        if self.sandbox is None or not offered:
            return frozenset()
        network = {CODE_NETWORK} if self.most.network else frozenset[str]()
        return offered | network | protections_of(self.sandbox.protections)


def tools_of(config: CodeConfig, environ: Mapping[str, str]) -> CodeTools | None:
    """What it takes to run code, still to be looked for; None: none is run here. Raises Invalid."""
    if config.no_code:
        return None
    home = Path(environ.get("HOME") or "/nonexistent")
    return CodeTools(
        book=read(config.languages),
        path=environ.get("PATH", ""),
        home=home,
        cache=own_folder(home, environ.get("XDG_CACHE_HOME", "")),
        allow_unsandboxed=config.allow_unsandboxed,
        only=config.sandbox,
    )


def protections_of(protections: Protections) -> frozenset[str]:
    return frozenset(protects(name) for name, holds in msgspec.structs.asdict(protections).items() if holds)
