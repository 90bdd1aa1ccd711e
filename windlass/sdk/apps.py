"""The workflows in a file of Python. `python -m windlass.sdk.apps FILE` prints them as JSON.

That is how commands read a file of the user's: in a process of its own, so that whatever it does when it is
imported stays there.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from windlass.core import document as documents
from windlass.core import schedule_input
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.sdk.authoring.places import CannotCompile, Place, blamed
from windlass.sdk.authoring.workflows import Workflow


def compiled(file: Path) -> list[dict[str, Json]]:
    """Each workflow: {name, document, children: ids}. Raises Invalid: CannotCompile if a line is to blame."""
    found = workflows_of(load(file), file)
    if not found:
        raise Invalid(f"{file} has no workflow; write @workflow before a function")
    shown = []
    for name, workflow in found.items():
        document, children = workflow.compiled()
        _check_schedule(workflow, document)
        shown.append({"name": name, "document": document, "children": list(children)})
    return shown


def _check_schedule(workflow: Workflow[..., Any], document: dict[str, Json]) -> None:
    """What the server would say of what its runs are given."""
    faults = Faults()
    schedule_input.check(documents.read(document), faults)
    if faults.count:
        line = workflow.place.line
        placed = [Fault(found.pointer, found.message, line=line, column=1) for found in faults.listed]
        message = f"workflow {workflow.id}: no run can begin with what its schedule gives it"
        raise CannotCompile(message, workflow.place, tuple(placed))


def load(file: Path) -> ModuleType:
    """The file as the module that workers import: by its name, from its folder."""
    place, name = Place(str(file.resolve()), 1), file.stem
    if not file.is_file():
        raise Invalid(f"there is no file {file}")
    if not name.isidentifier():
        better = "".join(letter if letter.isalnum() else "_" for letter in name)
        raise CannotCompile(f"no worker can import {file.name}; call it e.g. {better}.py", place)
    sys.path.insert(0, str(file.resolve().parent))
    try:
        module = importlib.import_module(name)
    except CannotCompile:
        raise
    except BaseException as error:  # whatever the user's code raises, SystemExit included
        place = blamed(error, place.file)
        words = error.msg if isinstance(error, SyntaxError) else error
        raise CannotCompile(f"{type(error).__name__}: {words}", place) from error
    if Path(module.__file__ or "").resolve() != file.resolve():
        other = module.__file__ or "Python itself"
        raise CannotCompile(f"there is another module {name}, in {other}; call the file otherwise", place)
    return module


def workflows_of(module: ModuleType, file: Path) -> dict[str, Workflow[..., Any]]:
    """By the names that they have in the file; those that they call, too. Any: of any types."""
    found: dict[str, Workflow[..., Any]] = {}
    todo = [(name, value) for name, value in vars(module).items() if isinstance(value, Workflow)]
    names: dict[str, str] = {}  # by id
    while todo:
        name, workflow = todo.pop(0)
        other = names.get(workflow.id)
        if other is not None:
            if found[other].function is not workflow.function:
                message = f"{other} and {name} have the same id, {workflow.id}; give one another id"
                raise CannotCompile(message, workflow.place)
            continue
        names[workflow.id] = name
        found[name] = workflow
        todo += list(workflow.compiled()[1].items())
    return found


def main(file: str) -> None:
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What the file prints when it is imported is for people.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            answer: dict[str, Json] = {"workflows": compiled(Path(file))}
        except Invalid as error:
            place = error.file if isinstance(error, CannotCompile) else file
            answer = {"error": str(error), "file": place, "faults": [_shown(fault) for fault in error.faults]}
    with ours:
        json.dump(answer, ours, allow_nan=False)


def _shown(fault: Fault) -> dict[str, Json]:
    return {"pointer": fault.pointer, "message": fault.message, "line": fault.line, "column": fault.column}


if __name__ == "__main__":
    main(sys.argv[1])
