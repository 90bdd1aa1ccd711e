"""`windlass graph`"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click
from rich.text import Text

from windlass.cli import documents, drawing
from windlass.cli.drawing import Graph, Vertex, counted
from windlass.cli.ids import FILE_OR_WORKFLOW
from windlass.cli.screen import Cell, coloured, print_json, print_table, say
from windlass.cli.shared import client, sharing, wants_json
from windlass.core import document
from windlass.core.errors import Invalid, NotFound
from windlass.core.task import Json
from windlass.gateway import written
from windlass.sdk.client import Client

EACH_MAX: Final = 60  # steps that are listed one by one; of more, the levels are
NAMES_SHOWN: Final = 5


@click.command
@click.argument("what", metavar="FILE|WORKFLOW|RUN", type=FILE_OR_WORKFLOW)
@click.option("--mermaid", is_flag=True, help="In Mermaid's words, for a page.")
@click.option("--each", is_flag=True, help=f"Every step, even if there are more than {EACH_MAX}.")
@sharing()
@click.pass_context
def graph(ctx: click.Context, what: str, mermaid: bool, each: bool) -> None:
    """Draw the steps of a workflow, or how far a run is.

    Steps of one level can run at the same time; a step follows the levels above it. A ┄ marks what runs only
    in place of a step that failed. Large graphs are counted by level.

    \b
    Examples:
      windlass graph report.yaml
      windlass graph exec_0198…
      windlass graph nightly-report --mermaid > graph.mmd
    """
    if documents.is_file(what):
        definition = documents.definition(what)
        found = drawing.of_definition(definition, definition.id)
    else:
        found = _ask(client(ctx), what)
    if mermaid:
        text = "\n".join(drawing.mermaid(found))
        print_json({"mermaid": text}) if wants_json(ctx) else click.echo(text)
    elif wants_json(ctx):
        print_json(_as_json(found))
    else:
        _draw(found, each=each or len(found.steps) <= EACH_MAX)


def _ask(server: Client, name: str) -> Graph:
    """A workflow of that id or, if there is none, a run. Ids that we make ourselves are runs' first."""
    kinds = [_of_workflow, _of_run]
    for kind in reversed(kinds) if name.startswith("exec_") else kinds:
        try:
            return kind(server, name)
        except NotFound:
            continue
    raise NotFound(f"there is no workflow and no run {name}; `windlass workflows` and `runs` list them")


def _of_workflow(server: Client, name: str) -> Graph:
    seen = server.workflow(name)
    definition = document.read(written.as_written(seen))
    # A graph has a `version` of its own, which is a text and none of ours.
    version = f" v{seen['version']}" if isinstance(seen.get("version"), int) else ""
    return drawing.of_definition(definition, name + version)


def _of_run(server: Client, name: str) -> Graph:
    run = server.run(name)
    title = f"{name}  {run['workflow']} v{run['version']}  {run['status']}"
    written_down = [step for step in run["steps"] if step.get("of") is None]
    statuses = {step["id"]: step["status"] for step in written_down}
    try:
        seen = server.workflow(run["workflow"], version=run["version"])
        return drawing.of_definition(document.read(written.as_written(seen)), title, statuses)
    except (NotFound, Invalid):
        # The workflow is deleted: the run still knows its steps, but not which of them stand in for others.
        steps = [Vertex(step["id"], step["kind"], tuple(step["needs"])) for step in written_down]
        return Graph(title, steps, statuses)


def _draw(found: Graph, *, each: bool) -> None:
    deep = max(found.levels, default=0)
    say((found.name, "bold"), f": {len(found.steps)} steps in {deep} level{'s' * (deep != 1)}")
    status = ("status",) if found.statuses else ()
    if each:
        rows = [_row(found, step) for level in found.levels.values() for step in level]
        print_table(("level", "step", "kind", *status, "follows"), rows)
    else:
        lines = [_line(found, level, steps) for level, steps in found.levels.items()]
        print_table(("level", "steps", "kinds", *status, "which"), lines)
        say(("--each lists every step", "dim"))


def _row(found: Graph, step: Vertex) -> tuple[Cell, ...]:
    status = (coloured(found.statuses.get(step.id, "")),) if found.statuses else ()
    level: Cell = str(found.level[step.id])
    follows = _names(step.needs)
    if step.id in found.stands_in_for:
        level = Text("┄", "dim")
        follows = f"in place of {_names(found.stands_in_for[step.id])}"
    return (level, step.id, step.kind, *status, follows)


def _line(found: Graph, level: int, steps: list[Vertex]) -> tuple[Cell, ...]:
    statuses = [found.statuses.get(step.id, "") for step in steps]
    status = (counted(statuses),) if found.statuses else ()
    kinds = counted([step.kind for step in steps])
    which = _names([step.id for step in steps])
    return (str(level) if level else Text("┄", "dim"), str(len(steps)), kinds, *status, which)


def _names(names: Sequence[str]) -> str:
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: NAMES_SHOWN - 1])} … {names[-1]} ({len(names)})"


def _as_json(found: Graph) -> dict[str, Json]:
    steps = [
        {
            "id": step.id,
            "kind": step.kind,
            "level": found.level[step.id] or None,
            "needs": list(step.needs),
            "fallback": step.fallback,
            **({"status": found.statuses.get(step.id)} if found.statuses else {}),
        }
        for step in found.steps
    ]
    return {"name": found.name, "levels": max(found.levels, default=0), "steps": steps}
