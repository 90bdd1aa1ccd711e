"""`windlass apply`"""

from __future__ import annotations

import click

from windlass.cli import documents
from windlass.cli.bars import bar
from windlass.cli.screen import print_json, say
from windlass.cli.shared import client, sharing, wants_json


@click.command
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@sharing()
@click.pass_context
def apply(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Save workflows: create them, or make their next version.

    A FILE is YAML, or JSON or Python if its name says so; - reads YAML from standard input. Runs keep the
    version they were started with. All files are read before the first is saved.

    \b
    Examples:
      windlass apply report.yaml
      windlass apply workflows/*.yaml
    """
    server = client(ctx)
    found = [document for file in files for document in documents.read_all(file)]
    quiet = wants_json(ctx)
    saved = []
    with bar("saving", quiet=quiet or len(found) < 2, counted=True) as tell:
        for count, document in enumerate(found, start=1):
            applied = documents.save(server, document)
            saved.append(
                {
                    "file": document.file,
                    "workflowId": applied.workflow,
                    "version": applied.version,
                    "outcome": applied.outcome,
                }
            )
            if not quiet:
                say((applied.workflow, "bold"), f": {documents.describe(applied)}")
            tell(count, len(found))
    if quiet:
        print_json({"items": saved})
