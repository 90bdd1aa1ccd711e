"""A workflow document as somebody wrote it: found sound, or refused with every fault and its place."""

from __future__ import annotations

from typing import Final, NamedTuple

from windlass.core import document, secret_refs
from windlass.core.definition import Definition
from windlass.core.errors import Fault, Invalid
from windlass.core.faults import FAULTS_MAX, Faults
from windlass.core.task import Json
from windlass.gateway import text
from windlass.gateway.text import Kind, Parsed

V04: Final = (
    "this is a document of nodes and edges (v0.4), which this Windlass does not run yet; write each node as "
    "a step and each edge as an entry in `needs`, e.g. "
    "steps: {load: {kind: python, with: {call: 'reports:load'}}, save: {kind: noop, needs: [load]}}"
)


class Written(NamedTuple):
    """A sound document, and what it means."""

    document: dict[str, Json]
    definition: Definition


def read(body: bytes, *, kind: Kind, workflow: str | None = None) -> Written:
    """The sound document in a text; without an id of its own it has that of `workflow`.

    Raises Invalid with all faults of the text and of the workflow, each with its line and column.
    """
    parsed = text.parse_on(body, kind=kind)
    given = as_written(parsed.document)
    if isinstance(given, dict) and workflow is not None:
        given.setdefault("id", workflow)
    try:
        if isinstance(given, dict) and "nodes" in given and "steps" not in given:
            raise Invalid("the workflow has 1 fault", [Fault("/nodes", V04)])
        definition = document.read(given)
        # Not in `read`, by which what is stored is read again: its rules may only loosen.
        faults = Faults()
        secret_refs.check(given, faults)
        faults.refuse("the workflow")
    except Invalid as invalid:
        raise _joined(text.located(invalid, parsed), parsed) from None
    parsed.faults.refuse("the document")
    return Written(given, definition)


def as_written(given: Json) -> Json:
    """Without what only our answers have: whoever reads a workflow can send it back as it came."""
    if not isinstance(given, dict):
        return given
    added = {"version": int, "metadata": dict}
    return {
        name: value
        for name, value in given.items()
        if not (name in added and isinstance(value, added[name]))
        and not (name in ("name", "description") and value == "")
    }


def _joined(invalid: Invalid, parsed: Parsed) -> Invalid:
    """One refusal for the faults of the text and those of the workflow, in the order of the text."""
    if not parsed.faults.count:
        return invalid
    faults = sorted((*parsed.faults.listed, *invalid.faults), key=lambda fault: (fault.line, fault.column))
    listed = faults[:FAULTS_MAX]
    more = "" if len(listed) == len(faults) else f"; the first {len(listed)} are listed"
    return Invalid(f"the document has {len(faults)} faults{more}", listed)
