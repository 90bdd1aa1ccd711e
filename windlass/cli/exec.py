"""`windlass exec`"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from windlass.cli import code_files
from windlass.cli.ending import Exit
from windlass.cli.exec_ending import CODES, code_of, line_of, line_of_missing
from windlass.cli.exec_watch import Watch, submit
from windlass.cli.screen import print_json, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.cli.values import duration, size
from windlass.core.code_step import PROTECTIONS
from windlass.core.task import Json

EPILOG: Final = f"""\b
Exit codes: that of the program, and
{CODES}
"""


@click.command("exec", epilog=EPILOG)
@click.argument("file", metavar="FILE|-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-l", "--language", metavar="L", help="By default, what the file's name or first line tells.")
@click.option("--version", "version", metavar="V", default="", help="Of the language, e.g. 3 or 3.11.")
@click.option(
    "--stdin",
    metavar="FILE|-",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="What the program reads from its standard input.  [default: nothing]",
)
@click.option(
    "--file",
    "files",
    metavar="[NAME=]PATH",
    multiple=True,
    callback=code_files.given,
    help="A file that it finds in its folder, under this name.",
)
@click.option(
    "--output", "outputs", metavar="NAME", multiple=True, help="A file that it leaves, to bring back."
)
@click.option(
    "--output-dir",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    help="Where these go.  [default: the current folder]",
)
@click.option("--force", is_flag=True, help="Let these replace files that are there.")
@click.option("--timeout", metavar="DURATION", callback=duration, help="How long it may take, e.g. 10s.")
@click.option("--memory", metavar="SIZE", callback=size, help="What it may use, e.g. 256MB.")
@click.option("--cpu", metavar="N", type=float, help="Processors that it may keep busy, e.g. 0.5.")
@click.option("--network", is_flag=True, help="Let it use the network, where a worker allows that.")
@click.option(
    "--require",
    "protections",
    metavar="PROTECTION",
    multiple=True,
    type=click.Choice(PROTECTIONS),
    help=f"Do not run it without this: {', '.join(PROTECTIONS)}.",
)
@click.option("--priority", type=click.IntRange(-100, 100), default=0, help="Higher ones go first.")
@click.option("--retries", type=click.IntRange(0, 10), default=0, help="Try again if it fails.")
@click.option("--cache", is_flag=True, help="Take the result of the same program, of the last hour.")
@click.option("--detach", is_flag=True, help="Print the task's id and do not wait.")
@sharing()
@click.pass_context
def exec_(ctx: click.Context, /, file: str, detach: bool, **said: Json) -> None:
    """Run a program in a sandbox, as if it ran here.

    What it prints comes as it is printed, and the exit code is the program's. Ctrl-C cancels it.

    \b
    Examples:
      windlass exec sum.py
      windlass exec --stdin words.txt --output counts.csv count.go
      echo 'print(6 * 7)' | windlass exec --language python -
      windlass exec --file data/in.csv --memory 1GB --timeout 5m report.py
    """
    program = _program(file, said)
    places = code_files.places(said["outputs"], said["output_dir"], force=said["force"])
    server = client(ctx)
    begun = submit(server, program)
    if detach:
        print_json(begun) if wants_json(ctx) else say(begun["taskId"])
        return
    watch = Watch(server, begun["taskId"], quiet=wants_json(ctx), shared=bool(begun["cached"]))
    seen = watch.to_the_end()
    files = (seen["result"] or {}).get("files") or {}
    missing = code_files.keep(files, places, force=said["force"])
    if wants_json(ctx):
        print_json(seen)
    else:
        line = line_of(seen) or line_of_missing(seen, missing)
        if line:
            watch.note(line)
    ctx.exit(code_of(seen) or (Exit.FAILED if missing else 0))


def _program(file: str, said: dict[str, Json]) -> dict[str, Json]:
    """What is to be run, as the client takes it."""
    if file == said["stdin"] == code_files.STDIN:
        raise click.UsageError("only one of FILE and --stdin can be standard input")
    code = code_files.text(file, "a program")
    limits = {name: said[name] for name in ("timeout", "memory", "cpu") if said[name] is not None}
    limits |= {"network": True} if said["network"] else {}
    return {
        "language": said["language"] or code_files.language_in(file, code),
        "code": code,
        "stdin": code_files.text(said["stdin"], "standard input") if said["stdin"] else "",
        "limits": limits,
        **{
            name: said[name]
            for name in ("version", "files", "outputs", "protections", "priority", "retries", "cache")
        },
    }
