"""`windlass doctor`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from windlass.cli.checkup import Place, examine
from windlass.cli.ending import Exit
from windlass.cli.screen import print_json, say
from windlass.cli.shared import data_option, named_ca, named_server, sharing, wants_json
from windlass.config import Config

USUAL: Final = Config()
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # and how to get there from here
STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command
@data_option
@click.option("--host", default=USUAL.host, show_default=True, envvar="WINDLASS_HOST", help="As for `up`.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=USUAL.port,
    show_default=True,
    envvar="WINDLASS_PORT",
    help="As for `up`.",
)
@sharing()
@click.pass_context
def doctor(ctx: click.Context, data: Path, host: str, port: int) -> None:
    """Look for what could keep an engine from working here.

    Changes nothing. Exits with 1 if something has to be mended first; a warning is none.

    \b
    Examples:
      windlass doctor
      windlass doctor --data /var/lib/windlass --port 2551
    """
    server = named_server(ctx)
    near = EVERYWHERE.get(host, host)
    url = server or f"http://{f'[{near}]' if ':' in near else near}:{port}"
    place = Place(data, host, port, url, named=server is not None, environ=os.environ, ca=named_ca(ctx))
    findings = list(examine(place))
    failed = [finding for finding in findings if finding.state == "fail"]
    if wants_json(ctx):
        items = [{"check": f.check, "status": f.state, "message": f.message} for f in findings]
        print_json({"ok": not failed, "items": items})
    else:
        for finding in findings:  # whole, however long: the end says what to do
            say(f"{finding.check:<12} ", (f"{finding.state:<5} ", STYLES[finding.state]), finding.message)
        if failed:
            say((f"{len(failed)} to mend: {', '.join(f.check for f in failed)}", "red"))
    ctx.exit(Exit.FAILED if failed else Exit.SUCCEEDED)
