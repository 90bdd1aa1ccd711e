"""Which programs can read a document: older ones take nothing that is new to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.core.definition import Definition, Step, StepKind
from windlass.core.inputs import InputSpec
from windlass.core.task import Json

LEVEL: Final = 4  # that knows of expressions, limits across runs, and of more kinds than these
NULL_LEVEL: Final = 6  # that knows null as the default of whatever type
OLD_KINDS: Final[frozenset[StepKind]] = frozenset({"python", "http", "shell", "code", "wait", "noop"})
OLD_KEYS: Final = frozenset(
    {"id", "name", "description", "steps", "deadline", "max_parallel", "assign", "queue_timeout"}
)


def level_of(document: Mapping[str, Json], definition: Definition) -> int:
    """That all nodes must have to know what the document says: older ones take no key that is new to them."""
    if definition.inputs is not None and any(map(_may_be_null, definition.inputs.specs)):
        return NULL_LEVEL
    if not OLD_KEYS.issuperset(document):
        return LEVEL
    whole = (definition.inputs, definition.output, definition.schedule)
    new = bool(definition.limits) or any(part is not None for part in whole)
    return LEVEL if new or any(map(_is_new, definition.steps)) else 1


def _may_be_null(spec: InputSpec) -> bool:
    return spec.has_default and spec.default is None and (spec.type != "any" or bool(spec.enum))


def _is_new(step: Step) -> bool:
    said = step.when is not None or step.undo is not None or bool(step.limits)
    return step.kind not in OLD_KINDS or step.templated or said
