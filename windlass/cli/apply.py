"""`windlass apply`"""

from __future__ import annotations

import click

from windlass.cli import documents
from windlass.cli.screen import print_json, say
from windlass.cli.shared import client, sharing, wants_json


@click.command
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@sharing()
@click.pass_context
def apply(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Save workflows: create them, or make their next version.

    A FILE is YAML, or JSON if its name says so; - reads YAML from standard input. Runs keep the version they
    were started with. All files are read before the first is saved.

    \b
    Examples:
      windlass apply report.yaml
      windlass apply workflows/*.yaml
    """
    server = client(ctx)
    found = [documents.read(file) for file in files]
    saved = []
    for document in found:
        applied = documents.save(server, document)
        saved.append(
            {
                "file": document.file,
                "workflowId": applied.workflow,
                "version": applied.version,
                "outcome": applied.outcome,
            }
        )
        if not wants_json(ctx):
            say((applied.workflow, "bold"), f": {documents.describe(applied)}")
    if wants_json(ctx):
        print_json({"items": saved})
