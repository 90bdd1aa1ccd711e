"""A workflow document as somebody wrote it: found sound, or refused with every fault and its place."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core import document, graph, newer_rules, schedule_input, secret_refs
from windlass.core.definition import Definition
from windlass.core.errors import Invalid
from windlass.core.faults import FAULTS_MAX, Faults
from windlass.core.task import Json
from windlass.gateway import text
from windlass.gateway.text import Kind, Parsed


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
        definition = document.read(given)
        # Not in `read`, by which what is stored is read again: its rules may only loosen.
        meant = graph.meant(given, Faults())
        secret_refs.check(meant.document, meant.faults)
        newer_rules.check(meant.document, meant.faults)
        schedule_input.check(definition, meant.faults)
        meant.faults.refuse("the workflow")
    except Invalid as invalid:
        raise _joined(text.located(invalid, parsed), parsed) from None
    parsed.faults.refuse("the document")
    return Written(given, definition)


def as_written(given: Json) -> Json:
    """Without what only our answers have: whoever reads a workflow can send it back as it came.

    Of a graph they have nothing but what was written.
    """
    if not isinstance(given, dict):
        return given
    if graph.is_graph(given):
        return dict(given)
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
