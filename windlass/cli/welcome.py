"""What `windlass up` says once it is ready, and the example that it runs then."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import ssl
import sys
import time
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import click

from windlass import __version__
from windlass.cli import documents
from windlass.cli.documents import Document
from windlass.cli.screen import coloured, say, took
from windlass.core.errors import Invalid, WindlassError
from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import DEFAULT_URL, Client, new_run_id
from windlass.serve import Ready

log = logging.getLogger("windlass.serve")

FIRST: Final = "hello"
FIRST_S: Final = 30.0
LOOK_S: Final = 0.05


def greet(ready: Ready, *, first: str, locked: str = "", login: bool = False) -> None:
    """`first`: what can be run."""
    call = _call(ready.url)
    recovered = f", recovered {ready.recovered} run{'s' * (ready.recovered != 1)}" if ready.recovered else ""
    lasted = f" after {took(ready.took_s)}" if ready.took_s >= 1 else ""
    say(f"Windlass {__version__} is ready at ", (ready.url, "bold"), (lasted, "dim"))
    say(("  data  ", "dim"), f"{ready.data}{recovered}")
    say(("  run   ", "dim"), f"{call} run {first}")
    say(("  show  ", "dim"), f"{call} show RUN", ("   (`runs` lists them)", "dim"))
    say(("  lock  ", "dim"), locked)
    if login:
        make = f"{_command()} token create --role admin --data {shlex.quote(str(ready.data))}"
        say(("        ", "dim"), f"the first one: {make}")
    say(("  stop  ", "dim"), "Ctrl-C")


def greet_json(ready: Ready) -> None:
    body = {
        "url": ready.url,
        "data": str(ready.data),
        "pid": os.getpid(),
        "recovered": ready.recovered,
        "tookSeconds": round(ready.took_s, 3),
    }
    click.echo(json.dumps(body))


def own_client(url: str, *, certificate: Path | None = None, token: str = "") -> Client:
    return Client(url, trust=None if certificate is None else _this_one(certificate), token=token)


def bring(server: Client, found: Sequence[Document], *, quiet: bool) -> None:
    """Save the workflows of the user's file, and say which there are."""
    for document in found:
        try:
            applied = documents.save(server, document)
        except WindlassError as error:
            faults = error.faults if isinstance(error, Invalid) else ()
            reason = "; ".join([str(error), *(fault.message for fault in faults)])
            extra = {"workflow": document.workflow, "file": document.file, "reason": reason}
            log.error("a workflow could not be saved", extra=extra)
            continue
        log.info("workflow saved", extra={"workflow": applied.workflow, "version": applied.version})
        if not quiet:
            say(("  saved ", "dim"), (applied.workflow, "bold"), f": {documents.describe(applied)}")


def try_examples(server: Client, *, quiet: bool) -> None:
    """Save every example workflow, run the first of them, and say how it went."""
    try:
        found = example_documents()
        for name, document in found.items():
            server.apply(name, document, "application/yaml")
        run = new_run_id()
        server.start(FIRST, run_id=run)
        seen = _wait(server, run)
    except WindlassError as error:
        log.warning("the examples could not be tried", extra={"reason": str(error)})
        return
    log.info("example ran", extra={"workflow": FIRST, "run": run, "status": seen["status"]})
    if not quiet:
        say(("  examples  ", "dim"), ", ".join(found))
        lasted = f" in {took(seen['durationSeconds'])}" if seen["durationSeconds"] is not None else ""
        call = _call(server.url)
        say(("  ran ", "dim"), FIRST, ": ", coloured(seen["status"]), f"{lasted}: {call} show {run}")


def _this_one(certificate: Path) -> ssl.SSLContext:
    """Trust our own certificate, whatever its name: it need not have one for this machine's loopback."""
    trust = ssl.create_default_context(cafile=certificate)
    trust.check_hostname = False
    trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return trust


def example_documents() -> dict[str, bytes]:
    """The example workflows by their ids, which are the names of their files."""
    folder = resources.files("windlass.examples")
    found = sorted(place.name for place in folder.iterdir() if place.name.endswith(".yaml"))
    return {name.removesuffix(".yaml"): (folder / name).read_bytes() for name in found}


def _wait(server: Client, run: str) -> dict[str, Json]:
    """The run when it has ended, or as it is when it takes long."""
    deadline = time.monotonic() + FIRST_S
    while True:
        seen: dict[str, Json] = server.run(run)
        if seen["status"] in ENDED or time.monotonic() > deadline:
            return seen
        time.sleep(LOOK_S)


def _command() -> str:
    """How to call this program from where the user is."""
    program = "windlass"
    if shutil.which(program) is None and Path(sys.argv[0]).name == program:
        program = shlex.quote(min(sys.argv[0], os.path.relpath(sys.argv[0]), key=len))
    return program


def _call(url: str) -> str:
    """The same, for this server."""
    return _command() if url == DEFAULT_URL else f"{_command()} --server {url}"
