"""Code steps: `with: {language, version, code, stdin, files, outputs, limits, protections}`, in a sandbox.

The program is compiled, if its language is, and runs in a folder of its own. Exit code 0 is success; a limit
that it reached, or another exit code, is how it ended: tried again only where the step says so. What this
worker cannot give, another one may.
"""

from __future__ import annotations

from pathlib import Path

from windlass.core import secret_refs
from windlass.core.code_step import KEYS, CodeStep, read
from windlass.core.faults import Faults
from windlass.core.fields import Fields
from windlass.core.task import Failure, Outcome, Task
from windlass.worker.code_limits import TooMuch, limits_of
from windlass.worker.code_outcome import About, compile_failure, outcome_of
from windlass.worker.code_tools import CodeTools
from windlass.worker.compiled import Files
from windlass.worker.compiling import Compilers, NotCompiled, environment, places_of
from windlass.worker.executors import BadStep, bad_step
from windlass.worker.languages import filled
from windlass.worker.lines import Lines, Log
from windlass.worker.link import Printing
from windlass.worker.sandbox import Job, Limits
from windlass.worker.secrets import Opened
from windlass.worker.toolchains import Installed


class Code:
    """`data` is the worker's folder."""

    def __init__(self, tools: CodeTools, log: Log, *, data: Path) -> None:
        self._tools = tools
        self._log = log
        self._compilers = Compilers(data)

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        tools, sandbox = self._tools, self._tools.sandbox
        try:
            wanted = _wanted(secrets.filled(task))
            installed = tools.toolbox.pick(wanted.language, wanted.version)
            if sandbox is None or installed is None:
                return _no_language(wanted)
            if missing := [name for name in wanted.protections if not getattr(sandbox.protections, name)]:
                return _not_here("NoProtection", f"the sandbox of this worker does not hold {missing[0]}")
            source = _source(wanted, installed)
            needed, most = installed.language.needs, tools.most
            limits = limits_of(wanted.limits, least=needed, most=most, timeout_s=task.timeout_s)
        except BadStep as error:
            return bad_step(str(error))
        except TooMuch as error:
            return _not_here("TooMuch", str(error))
        # What is made of a secret must not stay on the disk.
        keep = not secret_refs.names({**task.with_, "stdin": ""})
        with self._log.of(task, secrets.mask, exact=True) as lines:
            listen = _bounded(lines, self._log.bounds.bytes)
            try:
                made = await self._compilers.make(source, installed, sandbox, _aside(listen), keep=keep)
            except NotCompiled as error:
                about = About(installed, sandbox.name, secrets.mask)
                return compile_failure(error.ran, about, error.missing)
            ran = await sandbox.run(_job(wanted, installed, made.files, limits), listen)
        return outcome_of(ran, About(installed, sandbox.name, secrets.mask, made.facts), limits)


def _wanted(task: Task) -> CodeStep:
    faults = Faults()
    wanted = read(Fields(task.with_, "with", faults, KEYS))
    if faults.count:
        raise BadStep("; ".join(f"{fault.pointer}: {fault.message}" for fault in faults.listed))
    return wanted


def _no_language(wanted: CodeStep) -> Failure:
    name = f"{wanted.language} {wanted.version}".strip()
    return _not_here("NoLanguage", f"this worker does not run {name} code")


def _not_here(type: str, message: str) -> Failure:
    """Here it would fail again: only somewhere else it may not."""
    return Failure(type, message, retryable=False, elsewhere=True)


def _source(wanted: CodeStep, installed: Installed) -> Files:
    if clash := wanted.files.keys() & {installed.language.file, *installed.language.makes}:
        raise BadStep(f"files: {min(clash)} is the program itself; call the file otherwise")
    return {**wanted.files, installed.language.file: wanted.code.encode(errors="replace")}


def _job(wanted: CodeStep, installed: Installed, made: Files, limits: Limits) -> Job:
    places = places_of(installed, limits)
    return Job(
        argv=_startable(filled(installed.language.run, places)),
        limits=limits,
        stdin=wanted.stdin.encode(errors="replace"),
        env=environment(installed.language.env, places),
        files={**wanted.files, **made},
        wanted=wanted.outputs,
        readable=installed.readable,
    )


def _startable(argv: list[str]) -> list[str]:
    """What a compiler made comes back as a file like any other: it has to be made a program again."""
    made = argv[0].startswith("./")
    return ["/bin/sh", "-c", 'chmod u+x "$0" && exec "$0" "$@"', *argv] if made else argv


def _bounded(lines: Lines, bytes_max: int) -> Printing:
    """No more of it than is kept in the log."""
    left = bytes_max

    def take(pieces: list[tuple[int, bytes]], dropped: bool) -> None:
        nonlocal left
        taken: list[tuple[int, bytes]] = []
        for stream, piece in pieces:
            taken.append((stream, piece[:left]))
            dropped = dropped or len(piece) > left
            left -= len(taken[-1][1])
        lines.take(taken, dropped)

    return take


def _aside(listen: Printing) -> Printing:
    """For what a compiler prints: it is no output of the program, wherever it goes."""
    return lambda pieces, dropped: listen([(2, piece) for _, piece in pieces], dropped)
