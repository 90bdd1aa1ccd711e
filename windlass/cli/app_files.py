"""Files of Python that hold workflows: compiled in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from windlass.cli.ending import InvalidFile
from windlass.core.errors import Fault, Invalid
from windlass.core.task import Json

SUFFIX: Final = ".py"
WITHIN_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class AppWorkflow:
    name: str  # of the function, in the file
    document: dict[str, Json]
    children: tuple[str, ...]  # ids of workflows that it starts

    @property
    def id(self) -> str:
        return str(self.document["id"])


def split(given: str) -> tuple[str, str] | None:
    """`app.py:nightly` as the file and the name; None if it means no file of Python."""
    file, colon, name = given.rpartition(":")
    if colon and file.endswith(SUFFIX):
        return file, name
    return (given, "") if given.endswith(SUFFIX) else None


def compiled(file: str) -> list[AppWorkflow]:
    """All workflows of the file. Raises InvalidFile, or a usage error if there is no such file."""
    if not Path(file).is_file():
        raise click.UsageError(f"there is no file {file}")
    # -P: a file of the user's that is called as a module of Python's own is not taken for it.
    command = [sys.executable, "-P", "-m", "windlass.sdk.apps", file]
    # The package is found in the child as it was found here, wherever that was.
    here = str(Path(__file__).parents[2])
    paths = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), here])
    environ = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, env=environ, timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        raise InvalidFile(file, Invalid(f"{file} is not imported within {WITHIN_S:g} s")) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        message = f"{file} ended the process that imports it (exit code {done.returncode})"
        raise InvalidFile(file, Invalid(message)) from None
    if "error" in answer:
        raise InvalidFile(
            _near(answer["file"]), Invalid(answer["error"], [Fault(**f) for f in answer["faults"]])
        )
    return [
        AppWorkflow(found["name"], found["document"], tuple(found["children"]))
        for found in answer["workflows"]
    ]


def check_names(files: Iterable[str]) -> None:
    """Raises a usage error for two files of one name: workers would find the functions of only one."""
    known: dict[str, str] = {}
    for file in files:
        other = known.setdefault(Path(file).stem, file)
        if Path(other).resolve() != Path(file).resolve():
            words = f"{other} and {file} are one module to workers, {Path(file).stem}"
            raise click.UsageError(f"{words}; give one another name")


def chosen(file: str, name: str, found: list[AppWorkflow]) -> list[AppWorkflow]:
    """The one of that name or id, first, and all that it starts. Without a name: the only one there is."""
    by_id = {workflow.id: workflow for workflow in found}
    asked = [workflow for workflow in found if name in (workflow.name, workflow.id)]
    if not name:
        called = {child for workflow in found for child in workflow.children}
        asked = [workflow for workflow in found if workflow.id not in called]
    if len(asked) != 1:
        names = ", ".join(f"{file}:{workflow.name}" for workflow in found)
        there = f"there is no workflow {name} in {file}" if name else "which one?"
        raise click.UsageError(f"{there}; write one of {names}")
    wanted, todo = {asked[0].id: asked[0]}, list(asked[0].children)
    while todo:
        child = todo.pop()
        if child in by_id and child not in wanted:
            wanted[child] = by_id[child]
            todo += by_id[child].children
    return list(wanted.values())


def _near(file: str) -> str:
    """As the user would write it."""
    near = os.path.relpath(file)
    return file if near.startswith("..") else near
