"""`windlass validate`"""

from __future__ import annotations

import click

from windlass.cli import documents
from windlass.cli.ending import Ending, Exit, InvalidFile, detail
from windlass.cli.screen import print_json, say
from windlass.cli.shared import sharing, wants_json
from windlass.core.definition import Definition
from windlass.core.errors import Fault, Invalid


@click.command
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@sharing()
@click.pass_context
def validate(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Check documents, and name every mistake with its place.

    Needs no server: what is found here is what `apply` would say. - reads YAML from standard input.

    \b
    Examples:
      windlass validate report.yaml
      windlass validate workflows/*.yaml --json
      windlass validate app.py
    """
    looked_at = [_look(file) for file in files]
    refused = [found for found in looked_at if isinstance(found, InvalidFile)]
    each = [
        (file, one)
        for file, found in zip(files, looked_at, strict=True)
        for one in (found if isinstance(found, list) else [found])
    ]
    if wants_json(ctx):
        print_json({"items": [_item(file, found) for file, found in each]})
        ctx.exit(Exit.REFUSED if refused else Exit.SUCCEEDED)
    for file, found in each:
        if isinstance(found, Definition):
            count = len(found.steps)
            say((file, "bold"), f": sound ({found.id}, {count} step{'s' * (count != 1)})")
    if refused:
        faults = [detail(fault, found.file) for found in refused for fault in found.faults]
        message = str(refused[0]) if len(files) == 1 else f"{len(refused)} of {len(files)} are not sound"
        raise Ending(Exit.REFUSED, message, kind="invalid", faults=faults)


def _look(file: str) -> list[Definition] | InvalidFile:
    try:
        found = documents.definitions(file)
    except InvalidFile as error:
        return error
    faults = [Fault("/nodes", definition.incomplete) for definition in found if definition.incomplete]
    return InvalidFile(file, Invalid("the workflow is not finished", faults)) if faults else found


def _item(file: str, found: Definition | InvalidFile) -> dict[str, object]:
    if isinstance(found, Definition):
        return {"file": file, "valid": True, "workflowId": found.id, "steps": len(found.steps), "details": []}
    details = [detail(fault, found.file) for fault in found.faults]
    return {"file": file, "valid": False, "message": str(found), "details": details}
