"""A code task from here: started, followed to its end with its output passed on, stopped on Ctrl-C."""

from __future__ import annotations

import os
import queue
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal

import click

from windlass.cli.ending import Ended, Exit
from windlass.cli.exec_ending import not_compiled, stderr_of, was_compiled
from windlass.cli.screen import clean
from windlass.cli.tape import Tape
from windlass.core.errors import Fault, Invalid, Unknown, WindlassError
from windlass.core.needs import CODE, language_of
from windlass.core.task import Json
from windlass.sdk.client import Client
from windlass.sdk.refusals import REFUSED, NotReachable
from windlass.sdk.tasks import NoWorker, TaskNews

# An engine looks for languages when it starts.
LOOKING_S: Final = 10.0
LOOK_AGAIN_S: Final = 0.5
SETTLE_S: Final = 0.5  # of silence, after which the last line has ended
# An engine that is started again comes back within this time, and the task with it.
FOLLOW_PATIENCE_S: Final = 30.0


def submit(server: Client, program: dict[str, Json]) -> Json:
    """Start it: {taskId, …}. A server that has just been started is given a moment to find who can run it."""
    key = "" if program.get("cache") else secrets.token_hex(12)
    give_up_at, told = time.monotonic() + LOOKING_S, False
    offered: list[str] = []
    while True:
        try:
            return server.submit_task(**program, key=key)
        except NoWorker as error:
            if offered or time.monotonic() >= give_up_at:
                raise NoWorker(f"{error}{_advice(offered, program)}", error.retry_after_s) from None
            if offered := _offered(server):
                continue  # it may have been found just now
        except Invalid as error:
            raise Invalid(
                str(error), [Fault(_option(fault.pointer), fault.message) for fault in error.faults]
            ) from None
        except (NotReachable, Unknown) as error:
            if isinstance(error, NotReachable) and error.reason == REFUSED:
                raise
            words = f"{error}; it may have started: `windlass runs --workflow windlass:task` shows it"
            raise Ended(Exit.UNREACHABLE, "unknown", words) from error
        if not told and sys.stderr.isatty():
            note("no worker runs code yet; waiting a moment for one")
            told = True
        time.sleep(LOOK_AGAIN_S)


def _option(pointer: str) -> str:
    """How that part of the request was said on the command line."""
    name = pointer.removeprefix("/resourceLimit").removeprefix("/").partition("/")[0]
    return {"code": "the program", "files": "--file", "outputs": "--output"}.get(name, f"--{name}")


def _offered(server: Client) -> list[str]:
    """The code that workers run, as `code/python/3.11`; none as long as they look for it."""
    try:
        workers = server.workers()["items"]
    except WindlassError:
        return []
    names = {str(name) for worker in workers for name in worker["capabilities"]}
    return sorted(name for name in names if name.startswith(f"{CODE}/"))


def _advice(offered: list[str], program: dict[str, Json]) -> str:
    """What they run instead."""
    language = f"{CODE}/{language_of(program['language'])}"
    if offered and language not in offered:
        return "; languages here: " + ", ".join(
            name[len(CODE) + 1 :] for name in offered if name.count("/") == 1
        )
    found = [name.rpartition("/")[2] for name in offered if name.startswith(f"{language}/")]
    versions = [name for name in found if not any(other.startswith(f"{name}.") for other in found)]
    return f"; versions here: {', '.join(versions)}" if program["version"] else ""


def note(words: str) -> None:
    click.echo(clean(words), err=True)


@dataclass(slots=True)
class Watch:
    server: Client
    task: str
    quiet: bool  # nothing is passed on
    shared: bool  # others wait for it, too
    _attempt: int = 0
    _together: bool = field(default_factory=lambda: _in_one_place())
    _tapes: dict[str, Tape] = field(
        default_factory=lambda: {name: _tape(name) for name in ("stdout", "stderr")}
    )

    def to_the_end(self) -> Json:
        """The task, once it has ended."""
        self.server.patience_s = FOLLOW_PATIENCE_S
        try:
            for news in _with_pauses(self.server, self.task):
                if news is None:
                    self._settle()
                elif news.name == "ended":
                    self._finish(news.data)
                    return news.data
                else:
                    self._pass(news.data)
            raise AssertionError("a stream of news ends with `ended`")
        except KeyboardInterrupt:
            self._settle()
            raise Ended(Exit.INTERRUPTED, "interrupted", f"interrupted: {self._stop()}") from None
        except BrokenPipeError:
            self._stop()  # nobody reads what it prints
            raise
        except WindlassError:
            self._settle()
            raise

    def note(self, words: str) -> None:
        """On a line of its own, also where the program did not end its last one."""
        if self._together and any(tape.open for tape in self._tapes.values()):
            click.echo(err=True)
        note(words)

    def _pass(self, line: dict[str, Json]) -> None:
        if self.quiet:
            return
        if line["attempt"] != self._attempt:
            if self._attempt:
                self._settle()
                self.note(f"{self.task}: attempt {line['attempt']}")
                for tape in self._tapes.values():
                    tape.again()
            self._attempt = line["attempt"]
        if line["stream"] in self._tapes:
            if self._together:
                self._settle(but=line["stream"])
            self._tapes[line["stream"]].line(line["text"])
        else:
            # Windlass itself: there was too much. From now on only the result tells.
            for tape in self._tapes.values():
                tape.cut()

    def _settle(self, but: str = "") -> None:
        for name, tape in self._tapes.items():
            if name != but:
                tape.settle()

    def _finish(self, task: Json) -> None:
        if self.quiet:
            return
        out, err, result = self._tapes["stdout"], self._tapes["stderr"], task["result"]
        known = True
        if result is None:
            out.finish(None)
            err.finish(None)
        elif not_compiled(task):
            # What a compiler says went to stderr, whichever way it said that.
            err.finish(None if err.text else _ended(result["error"] or result["output"]))
        else:
            known = out.finish(result["output"])
            known = err.finish(stderr_of(task), after_others=was_compiled(task)) and known
        if task["status"] == "completed" and not known:
            self.note(f"{self.task}: not all that it printed was shown; `windlass show {self.task}` has it")

    def _stop(self) -> str:
        """Says what became of it."""
        if self.shared:
            return f"{self.task} goes on: it was started before, by somebody who may wait for it"
        self.server.patience_s = 0.5
        try:
            self.server.cancel_task(self.task)
        except WindlassError as error:
            return f"{self.task} could not be cancelled: {error}"
        return f"{self.task} is cancelled"


def _in_one_place() -> bool:
    """Whether stdout and stderr go to the same place: there, one begins when the other's line has ended."""
    try:
        out, err = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    except (OSError, ValueError):
        return False
    return (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _tape(name: Literal["stdout", "stderr"]) -> Tape:
    return Tape(lambda text: _write(name, text))


def _write(name: Literal["stdout", "stderr"], text: str) -> None:
    stream = (sys.stdout if name == "stdout" else sys.stderr).buffer
    stream.write(text.encode(errors="replace"))
    stream.flush()


def _with_pauses(server: Client, task: str) -> Iterator[TaskNews | None]:
    """What is told of it; None when nothing was for a while. Read by a thread: a read cannot be let wait."""
    heard: queue.SimpleQueue[TaskNews | Exception] = queue.SimpleQueue()

    def listen() -> None:
        try:
            for news in server.follow_task(task):
                heard.put(news)
        except Exception as error:
            heard.put(error)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        news: TaskNews | Exception | None = None
        with suppress(queue.Empty):
            news = heard.get(timeout=SETTLE_S)
        if isinstance(news, Exception):
            raise news
        yield news
