"""The crash in one paste: `make demo`.

Starts an engine, runs ten steps, kills the engine with SIGKILL in the middle, starts it again and watches the
run finish. Then it counts, from a file that the steps write to themselves, what really ran. Exits with 1 if a
step whose end was recorded before the crash ran again, or if the run did not succeed.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Final

from windlass.cli.progress import Progress
from windlass.cli.screen import Cell, coloured, print_table, say, screen
from windlass.core.errors import WindlassError
from windlass.core.task import Json
from windlass.sdk.client import Client, new_run_id

WORKFLOW: Final = "ten-steps"
KILL_AFTER: Final = 4  # steps
START_S: Final = 30.0
FINISH_S: Final = 60.0
STOP_S: Final = 15.0
LOOK_S: Final = 0.1


class Failed(Exception):
    """The demonstration did not come to its end."""


class Engine:
    """An engine in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        ready = self._ready()
        self.client = Client(ready["url"])
        self.recovered = int(ready["recovered"])

    def kill(self) -> None:
        """The engine's pid and nothing else, as a crash would."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)

    def _ready(self) -> dict[str, Json]:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            line = self.process.stdout.readline() if waiting.select(START_S) else ""
        if not line:
            raise Failed("the engine did not start; its own words are above")
        ready: dict[str, Json] = json.loads(line)
        return ready


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="windlass-demo-") as folder:
        try:
            return _play(Path(folder))
        except (Failed, WindlassError) as error:
            say(("demo failed: ", "red"), str(error))
            return 1
        except KeyboardInterrupt:
            return 130


def _play(folder: Path) -> int:
    marks, run = folder / "marks.txt", new_run_id()
    with _engine(folder) as engine:
        say(("1  ", "bold"), f"an engine is up as pid {engine.process.pid}; it runs ten steps in a chain")
        document = (resources.files("windlass.examples") / f"{WORKFLOW}.yaml").read_bytes()
        engine.client.apply(WORKFLOW, document, "application/yaml")
        engine.client.start(WORKFLOW, run_id=run, input={"file": str(marks)})
        progress = Progress(steps=10)
        seen = _follow(engine.client, run, progress, until=KILL_AFTER)
        engine.kill()
        killed_at = datetime.now(UTC)
        say(("2  ", "bold"), (f"kill -9 {engine.process.pid}", "bold red"), ": the engine is gone")
    with _engine(folder) as engine:
        say(("3  ", "bold"), f"started again as pid {engine.process.pid}; recovered {engine.recovered} run")
        _follow(engine.client, run, progress, after=seen)
        before = _ended_before(engine.client, run, killed_at)
        ended = engine.client.run(run)
    return _judge(ended, before, Counter(marks.read_text().splitlines()))


@contextmanager
def _engine(folder: Path) -> Iterator[Engine]:
    command = [
        sys.executable,
        "-m",
        "windlass",
        "up",
        "--json",
        "--port",
        "0",
        "--data",
        str(folder / "data"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        engine = Engine(process)
        try:
            yield engine
        finally:
            engine.client.close()
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)
    assert process.stdout is not None
    process.stdout.close()


def _follow(client: Client, run: str, progress: Progress, *, until: int = 0, after: int = 0) -> int:
    """Show what happens until the run ends or so many steps have; answers the last event seen."""
    deadline = time.monotonic() + FINISH_S
    while True:
        for event in client.all_events(run, after=after):
            after = event["seq"]
            line = progress.note(event)
            if line is not None:
                screen().print(line)
        if progress.ended or (until and progress.done >= until):
            return after
        if time.monotonic() > deadline:
            raise Failed(f"the run has not ended after {FINISH_S:g} s")
        time.sleep(LOOK_S)


def _ended_before(client: Client, run: str, crash: datetime) -> set[str]:
    """The steps whose end the journal knew at the crash, whether or not we had heard of it by then."""
    return {
        event["step"]
        for event in client.all_events(run)
        if event["type"] == "StepSucceeded" and datetime.fromisoformat(event["at"]) <= crash
    }


def _judge(ended: Json, before: set[str], marks: Counter[str]) -> int:
    rows: list[tuple[Cell, ...]] = []
    again = []
    for step in ended["steps"]:
        name = step["id"]
        times = marks[f"{name} started"]
        if name in before and times != 1:
            again.append(name)
        rows.append((name, str(times), "yes" if name in before else "no", coloured(step["status"])))
    print_table(("step", "times executed", "ended before the crash", "status"), rows)
    say("the run ", coloured(ended["status"]))
    if again:
        say(("BROKEN: ", "bold red"), f"recorded as ended, and yet run again: {', '.join(again)}")
        return 1
    if ended["status"] != "succeeded":
        say(("BROKEN: ", "bold red"), "the run did not succeed")
        return 1
    say(
        ("HELD: ", "bold green"),
        f"{len(before)} steps had ended before the crash, and none of them ran again",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
