"""Shell steps: `with: {argv: ["./publish.sh", "--all"]}` or `{command: "text for /bin/sh"}`.

The program finds its run in the environment: WINDLASS_RUN, _WORKFLOW, _STEP, _ATTEMPT. WINDLASS_INPUT names a
JSON file {input, context, parents}; a JSON object written to the file WINDLASS_CONTEXT names is merged into
the shared context.
The step ends when the program does; what it left running in the background is killed then.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from windlass.core import secret_refs
from windlass.core.task import CONTEXT_BYTES_MAX, Failure, Outcome, Success, Task
from windlass.worker.executors import (
    BadStep,
    Word,
    bad_step,
    process_died,
    read_with,
    tail,
    timed_out,
    word,
)
from windlass.worker.lines import Log
from windlass.worker.link import Ended
from windlass.worker.processes import Processes
from windlass.worker.secrets import Opened
from windlass.worker.shell_text import QuotedHere, with_variables


class ShellWith(msgspec.Struct, forbid_unknown_fields=True):
    argv: list[Word] = []
    command: str = ""
    env: dict[str, Word] = {}
    cwd: str = ""
    stdin: str = ""


class BadContext(Exception):
    """The file WINDLASS_CONTEXT does not hold a patch of the context."""


class Shell:
    """`env` is what every program gets; `cwd` is where it starts unless the step says otherwise."""

    def __init__(self, processes: Processes, log: Log, *, cwd: Path, env: Mapping[str, str]) -> None:
        self._processes = processes
        self._log = log
        self._cwd = cwd.absolute()
        self._env = dict(env)

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        try:
            wanted, hidden = _wanted(task, secrets)
            argv, env = _argv(wanted), {**_env(wanted), **hidden}
        except BadStep as error:
            return bad_step(str(error))
        cwd = str(self._cwd / wanted.cwd)
        scratch = _prepare(task)
        try:
            with self._log.of(task, secrets.mask) as lines:
                ended = await self._processes.run_shell(
                    argv,
                    env={**self._env, **_variables(task, scratch), **env},
                    cwd=cwd,
                    stdin=wanted.stdin.encode(errors="replace"),
                    timeout_s=task.timeout_s,
                    scratch=str(scratch),
                    forward_bytes=self._log.bounds.bytes,
                    printing=lines.take,
                )
            return _outcome(task, argv[0], cwd, secrets.ended(ended), scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _wanted(task: Task, secrets: Opened) -> tuple[ShellWith, dict[str, str]]:
    """What to run, and the variables by which its command gets at secrets.

    What is in argv is in the process list, for every user of the machine: no value may come there.
    """
    written = read_with(task, ShellWith)
    if secret_refs.names(written.argv):
        raise BadStep(secret_refs.ARGV)
    wanted = read_with(secrets.filled(task), ShellWith)
    names = sorted(secret_refs.names(written.command))
    variables = {name: f"WINDLASS_SECRET_{n}" for n, name in enumerate(names, start=1)}
    try:
        wanted.command = with_variables(written.command, variables) if names else written.command
    except QuotedHere:
        raise BadStep(
            "a here-document whose end is quoted cannot hold a secret; leave the quotes away, or use env"
        ) from None
    return wanted, {variable: secrets.values[name] for name, variable in variables.items()}


def _argv(wanted: ShellWith) -> list[str]:
    if bool(wanted.argv) == bool(wanted.command):
        raise BadStep("a shell step needs either argv (a list) or command (a text for /bin/sh)")
    argv = [word(part) for part in wanted.argv] or ["/bin/sh", "-c", wanted.command]
    if any("\0" in text for text in (*argv, wanted.cwd)):
        raise BadStep("a shell step's argv, command and cwd cannot contain NUL characters")
    return argv


def _env(wanted: ShellWith) -> dict[str, str]:
    env = {name: word(value) for name, value in wanted.env.items()}
    if any("=" in name or not name for name in env):
        raise BadStep("the names in env must not be empty or contain '='")
    if any("\0" in text for text in (*env, *env.values())):
        raise BadStep("a shell step's env cannot contain NUL characters")
    return env


def _prepare(task: Task) -> Path:
    scratch = Path(tempfile.mkdtemp(prefix="windlass-"))
    known = {"input": task.input, "context": task.context, "parents": task.parents}
    (scratch / "input.json").write_bytes(msgspec.json.encode(known))
    return scratch


def _variables(task: Task, scratch: Path) -> dict[str, str]:
    return {
        "WINDLASS_RUN": task.run,
        "WINDLASS_WORKFLOW": task.workflow,
        "WINDLASS_STEP": task.step,
        "WINDLASS_ATTEMPT": str(task.attempt),
        "WINDLASS_INPUT": str(scratch / "input.json"),
        "WINDLASS_CONTEXT": str(scratch / "context.json"),
    }


def _outcome(task: Task, program: str, cwd: str, ended: Ended, scratch: Path) -> Outcome:
    match ended.how:
        case "exited" if ended.code == 0:
            output = {"exitCode": 0, "stdout": ended.stdout.text(), "stderr": ended.stderr.text()}
            try:
                return Success(output, _patch(scratch / "context.json"))
            except BadContext as error:
                return Failure("BadContext", str(error), retryable=False)
        case "exited":
            last = _last_line(ended.stderr.end)
            message = f"exited with {ended.code}" + (f": {last}" if last else "")
            return Failure("ExitCode", message, detail=tail(ended.stderr.end))
        case "timeout":
            return timed_out(task.timeout_s)
        case "not_started":
            return _not_started(program, cwd, ended)
        case _:
            return process_died(ended)


def _not_started(program: str, cwd: str, ended: Ended) -> Failure:
    reason = os.strerror(ended.code)
    if ended.answer == b"cwd":
        return Failure("CannotStart", f"cannot start in {cwd}: {reason}", retryable=False)
    if ended.answer != b"exec":
        return Failure("OSError", f"cannot start a process: {reason}")
    match ended.code:
        case errno.ENOENT:
            place = f"in {cwd}" if "/" in program else "in PATH"
            message = (
                f"program {program!r} not found {place} (or the program named in its #! line is missing)"
            )
        case errno.EACCES:
            message = f"program {program!r} is not executable: chmod +x it"
        case errno.ENOEXEC:
            message = f"program {program!r} is neither a program nor a script with a #! line"
        case _:
            message = f"program {program!r} cannot be started: {reason}"
    return Failure("CannotStart", message, retryable=False)


def _patch(path: Path) -> dict[str, Any]:
    """What the program wrote for the shared context; nothing when it wrote nothing."""
    try:
        with path.open("rb") as file:
            raw = file.read(CONTEXT_BYTES_MAX + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadContext(f"WINDLASS_CONTEXT cannot be read: {error.strerror}") from None
    if len(raw) > CONTEXT_BYTES_MAX:
        raise BadContext(f"WINDLASS_CONTEXT holds more than {CONTEXT_BYTES_MAX:,} bytes")
    try:
        patch = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadContext(f"WINDLASS_CONTEXT does not hold JSON: {error}") from None
    if not isinstance(patch, dict):
        raise BadContext(f"WINDLASS_CONTEXT must hold a JSON object, not {type(patch).__name__}")
    return patch


def _last_line(raw: bytes) -> str:
    lines = raw[-2000:].decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:500] if lines else ""
