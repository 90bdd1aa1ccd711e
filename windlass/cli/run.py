"""`windlass run`"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import click
from rich.text import Text

from windlass.cli import app_files, documents, inputs
from windlass.cli.documents import Document
from windlass.cli.ending import BY_OUTCOME, ENDINGS, Ended, Exit
from windlass.cli.ids import FILE_OR_WORKFLOW
from windlass.cli.own_engine import answers, own_engine
from windlass.cli.progress import Progress
from windlass.cli.screen import coloured, print_json, say, screen, took
from windlass.cli.shared import client, named_server, sharing, wants_json
from windlass.cli.values import pairs, raw_pairs, seconds, text_pairs, typed
from windlass.core.errors import Unknown
from windlass.core.task import Json
from windlass.sdk.client import Client, new_run_id
from windlass.sdk.refusals import REFUSED, NotReachable

POLL_S: Final = 0.2
LOOK_S: Final = 2.0  # silence after which the run itself is looked at: it may be stuck
# An engine that is started again comes back within this time, and the run with it.
WATCH_PATIENCE_S: Final = 30.0

EPILOG: Final = f"""\b
Exit codes:
{ENDINGS}
"""


@click.command(epilog=EPILOG)
@click.argument("workflow", metavar="FILE|FILE.py:NAME|ID", type=FILE_OR_WORKFLOW)
@click.option(
    "-i",
    "--input",
    metavar="K=V",
    multiple=True,
    callback=raw_pairs,
    help="Input; V is as the input is declared, else JSON if it reads as such. @FILE: what is in the file.",
)
@click.option(
    "-c", "--context", metavar="K=V", multiple=True, callback=pairs, help="Context that all steps share."
)
@click.option("--run-id", metavar="ID", help="The run's id. The same id again starts nothing new.")
@click.option(
    "--label",
    "labels",
    metavar="K=V",
    multiple=True,
    callback=text_pairs,
    help="Kept with the run, for lists.",
)
@click.option("--priority", type=click.IntRange(-100, 100), default=0, help="Higher ones go first.")
@click.option("--detach", is_flag=True, help="Print the run's id and do not wait.")
@click.option(
    "--timeout",
    metavar="DURATION",
    callback=seconds,
    help="Wait no longer than this, e.g. 5m. The run goes on.",
)
@sharing()
@click.pass_context
def run(
    ctx: click.Context,
    workflow: str,
    input: dict[str, str],
    context: dict[str, Json],
    run_id: str | None,
    labels: dict[str, str],
    priority: int,
    detach: bool,
    timeout: float | None,
) -> None:
    """Run a workflow, and watch it to its end.

    A FILE (its name has a / or ends in .yaml, .yml, .json or .py) is saved first; an ID is a workflow that
    is there already. A workflow in Python is saved with those that it calls; an engine that was started as
    `windlass up FILE.py` finds its functions, and where none is running one is started for as long as it
    takes. The exit code says how the run ended.

    \b
    Examples:
      windlass run report.yaml -i day=2026-01-01 -i 'sizes=[1, 2]'
      windlass run app.py:nightly -i day=2026-01-01 -i rows=@rows.json
      windlass run nightly-report --label team=sales --detach
    """
    quiet = wants_json(ctx)
    found = _documents(workflow)
    server, goes_on = _engine(ctx, workflow, detach=detach)
    # Those that are called, first: whoever starts them must find them.
    for document in reversed(found):
        applied = documents.save(server, document)
        workflow = applied.workflow
        if not quiet:
            say((workflow, "bold"), f": {documents.describe(applied)}")
    given = typed(input, found[0].inputs) if found else inputs.given(server, workflow, input)
    ident = run_id or new_run_id(workflow)
    with _named(ident):
        started = server.start(
            workflow, run_id=ident, input=given or None, context=context, priority=priority, labels=labels
        )
    if detach:
        print_json(started) if quiet else say(ident)
        return
    server.patience_s = WATCH_PATIENCE_S
    try:
        seen = _watch_quietly(server, ident, timeout) if quiet else _watch(server, ident, started, timeout)
    except KeyboardInterrupt:
        raise _left(Exit.INTERRUPTED, "interrupted", ident, goes_on) from None
    if quiet:
        print_json(seen)
    else:
        _tell(seen)
    ctx.exit(BY_OUTCOME[seen["status"]])


def _engine(ctx: click.Context, workflow: str, *, detach: bool) -> tuple[Client, str]:
    """Who is to run it; and what becomes of a run that nobody waits for any more."""
    server, app = client(ctx), app_files.split(workflow)
    if app is None or detach or named_server(ctx) is not None or answers(server):
        return server, "the run goes on"
    url = ctx.with_resource(own_engine(app[0]))
    if not wants_json(ctx):
        say(("no engine is running: one was started for this run", "dim"))
    own = Client(url)
    ctx.call_on_close(own.close)
    return own, "the run goes on once an engine is started here"


def _documents(given: str) -> list[Document]:
    """What is to be saved first, and the one to run before all others; none for an id."""
    app = app_files.split(given)
    if app is not None:
        file, name = app
        wanted = app_files.chosen(file, name, app_files.compiled(file))
        return [documents.of_app(file, workflow) for workflow in wanted]
    return [documents.read(given)] if documents.is_file(given) else []


@contextmanager
def _named(run: str) -> Iterator[None]:
    """When it is not known whether the run was started, the user needs its id."""
    try:
        yield
    except (NotReachable, Unknown) as error:
        if isinstance(error, NotReachable) and error.reason == REFUSED:
            raise
        advice = f"it may have started: the same command with --run-id {run} is safe"
        raise Ended(Exit.UNREACHABLE, "unknown", f"{error}; {advice}") from error


class Watcher(Protocol):
    def __call__(self, event: dict[str, Json]) -> None: ...


def _watch(server: Client, run: str, started: Json, timeout: float | None) -> Json:
    version = f" v{started['version']}" if started.get("version") else ""
    say("run ", (run, "bold"), f" of {started['workflowId']}{version}")
    progress = Progress(steps=len(server.run(run)["steps"]))
    with _board() as board:

        def show(event: dict[str, Json]) -> None:
            line = progress.note(event)
            if line is not None:
                board.line(line)
            board.now(progress.summary())

        return _follow(server, run, timeout, show)


def _watch_quietly(server: Client, run: str, timeout: float | None) -> Json:
    return _follow(server, run, timeout, lambda event: None)


def _follow(server: Client, run: str, timeout: float | None, watcher: Watcher) -> Json:
    """The run, once it has ended or is stuck. Raises Ended when the time is over."""
    give_up_at = None if timeout is None else time.monotonic() + timeout
    after, pause_s, looked_at = 0, POLL_S / 8, time.monotonic()
    while True:
        page = server.events(run, after=after)
        items = page["items"]
        for event in items:
            watcher(event)
            after = event["seq"]
        now = time.monotonic()
        if (items and items[-1]["type"] == "RunEnded") or now - looked_at >= LOOK_S:
            seen = server.run(run)
            if seen["status"] in BY_OUTCOME:
                return seen
            looked_at = now
        if give_up_at is not None and now >= give_up_at:
            raise _left(Exit.TIMED_OUT, "timed_out", run, f"not ended after {timeout:g} s; the run goes on")
        if page["next"] is None:  # else there is more to read already
            time.sleep(pause_s)
            pause_s = min(POLL_S, pause_s * 2)


class _Board:
    """Where progress is shown: lines that stay and, on a terminal, one that changes."""

    def __init__(self) -> None:
        self.console = screen()
        self.status = self.console.status("starting") if self.console.is_terminal else None

    def line(self, text: Text) -> None:
        self.console.print(text)

    def now(self, words: str) -> None:
        if self.status is not None:
            self.status.update(Text(words, "cyan"))


@contextmanager
def _board() -> Iterator[_Board]:
    board = _Board()
    if board.status is None:
        yield board
    else:
        with board.status:
            yield board


def _left(code: Exit, kind: str, run: str, words: str) -> Ended:
    return Ended(
        code, kind, f"{words}: look with `windlass show {run}`, stop it with `windlass cancel {run}`"
    )


def _tell(run: Json) -> None:
    lasted = run.get("durationSeconds")
    say(coloured(run["status"]), f" in {took(lasted)}" if lasted is not None else "")
    error = run.get("error")
    if error:
        words = f"{error.get('type')}: {error.get('message')}" if isinstance(error, dict) else str(error)
        say((words, "red"))
    output = run.get("output")
    if any(value is not None for value in (output.values() if isinstance(output, dict) else (output,))):
        say(("output ", "dim"), json.dumps(run["output"], ensure_ascii=False))
