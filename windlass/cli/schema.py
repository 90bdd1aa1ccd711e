"""`windlass schema`"""

from __future__ import annotations

import json
from pathlib import Path

import click

from windlass.cli.screen import say
from windlass.cli.shared import sharing
from windlass.gateway import document_schema


@click.command
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it there.")
@sharing()
def schema(output: Path | None) -> None:
    """Print the JSON Schema of documents, for editors.

    Needs no engine. An editor that knows of the YAML language server uses it for a file whose first line is

    \b
      # yaml-language-server: $schema=./windlass.schema.json

    \b
    Example:
      windlass schema --output windlass.schema.json
    """
    text = json.dumps(document_schema.schema(), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n", "utf-8")
        say((str(output), "bold"), ": written")
