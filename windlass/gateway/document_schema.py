"""The workflow document as a JSON Schema: for editors, and for the description of the API.

`core.document` decides what is sound; this says the same as far as a schema can. It never refuses what the
core takes of a new document, and refuses unknown keys and kinds as the core does: tests compare the two.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from windlass.core import control_steps, document, durations, kinds, step_fields
from windlass.core.assign.policy import STRATEGIES
from windlass.core.definition import Retry, StepKind
from windlass.core.newer_rules import NO_RETRY
from windlass.gateway import control_schema, graph_schema, with_schemas
from windlass.gateway.schema_parts import (
    EXPRESSION,
    ID,
    Schema,
    about,
    condition,
    members,
    object_,
    text,
    texts,
    whole,
)

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: Final = r"[0-9]+(\.[0-9]+)?"
_UNITS: Final = ("w", "d", "h", "m", "s", "ms")
_DURATION: Final = f"^{_NUMBER}$|^{''.join(f'({_NUMBER}{unit})?' for unit in _UNITS)}$"
# They can do without anything under `with`.
_BARE: Final[frozenset[StepKind]] = frozenset({"noop", "approval", "signal"})
_REPEATED: Final = "A step that is done for each item, or in each turn; it needs no others"
_UNDO: Final = "A step that takes back what another one did; it needs no others"

DurationText = Annotated[str, Meta(pattern=_DURATION, min_length=1)]


class _Refs:
    """How one part names another."""

    def __init__(self, ref: str) -> None:
        self._ref = ref

    def __call__(self, name: str) -> Schema:
        return {"$ref": self._ref.format(name)}


def schema() -> Schema:
    """One that stands for itself: of steps, or a graph of nodes and edges."""
    ref = "#/$defs/{}"
    parts = definitions(ref) | graph_schema.definitions(ref)
    del parts["GraphChange"]
    return {
        "$schema": DIALECT,
        "title": "A Windlass workflow",
        "type": "object",
        "if": {"required": ["nodes"], "not": {"required": ["steps"]}},
        "then": {"$ref": ref.format("GraphDocument")},
        "else": {"$ref": ref.format("WorkflowDocument")},
        "$defs": {name: parts[name] for name in sorted(parts)},
    }


def definitions(ref: str, *, deep: bool = True) -> dict[str, Schema]:
    """The document of steps and all its parts by name; `ref` says how one names another.

    Not `deep`: of steps only the kinds are told, for those who try all that could be sent.
    """
    to = _Refs(ref)
    return {
        **(_steps(to) if deep else _outline()),
        "WorkflowDocument": _workflow(to),
        "Assign": _assign(),
        "Concurrency": control_schema.concurrency(step=False),
        "Rate": control_schema.rate(to("Duration")),
        "Duration": {
            "description": "A length of time: 500ms, 20s, 2m, 1h30m, 1d; a number counts seconds",
            "anyOf": [
                {"type": "string", "pattern": _DURATION, "minLength": 1},
                {"type": "number", "minimum": 0, "maximum": durations.SECONDS_MAX},
            ],
            "examples": ["20s", "1h30m"],
        },
    }


def _steps(to: _Refs) -> dict[str, Schema]:
    return {
        **_inner(to),
        "DocumentStep": {
            "description": "One step of the graph; `kind` says what it does",
            "oneOf": [to(_name(kind, "Step")) for kind in kinds.KINDS],
        },
        **{_name(kind, "With"): _with(kind, to) for kind in kinds.KINDS},
        **{_name(kind, "Step"): _step(kind, step_fields.STEP_KEYS, to) for kind in kinds.KINDS},
        "Retry": _retry(to("Duration")),
        "StepConcurrency": control_schema.concurrency(step=True),
        "Expression": about(
            {"type": "string", "pattern": EXPRESSION}, "Text with an expression: ${{ inputs.day }}"
        ),
    }


def _inner(to: _Refs) -> dict[str, Schema]:
    """Steps that are part of others."""
    inner = control_steps.BODY_KINDS
    return {
        "RepeatedStep": about({"oneOf": [to(_name(kind, "Body")) for kind in inner]}, _REPEATED),
        "UndoStep": about({"oneOf": [to(_name(kind, "Undo")) for kind in inner]}, _UNDO),
        **{_name(kind, "Body"): _step(kind, step_fields.BODY_KEYS, to) for kind in inner},
        **{_name(kind, "Undo"): _step(kind, step_fields.WORK_KEYS, to) for kind in inner},
    }


def _outline() -> dict[str, Schema]:
    said: Schema = {
        "type": "object",
        "properties": {"kind": {"enum": list(kinds.KINDS)}, "with": {"type": "object"}},
        "required": ["kind"],
    }
    return {"DocumentStep": about(said, "One step of the graph; /api/v1/schema has all of what it may say")}


def _workflow(to: _Refs) -> Schema:
    step, duration = to("DocumentStep"), to("Duration")
    by_id = {
        "type": "object",
        "propertyNames": {"pattern": ID, "maxLength": step_fields.STEP_ID_MAX},
        "additionalProperties": step,
        "minProperties": 1,
        "maxProperties": document.STEPS_MAX,
    }
    listed = {
        "type": "array",
        "items": {"allOf": [step, {"type": "object", "required": ["id"]}]},
        "minItems": 1,
        "maxItems": document.STEPS_MAX,
    }
    return object_(
        {
            "id": about(
                text(pattern=ID, maxLength=document.WORKFLOW_ID_MAX), "What it is called; never changes"
            ),
            "name": about({"type": "string"}, "For people"),
            "description": about({"type": "string"}, "What it is for"),
            "steps": about({"anyOf": [by_id, listed]}, "By their ids, or a list in which each has an `id`"),
            "inputs": control_schema.inputs(),
            "output": {"description": "What a run answers; may hold expressions over all steps"},
            "deadline": about(duration, "A run that takes longer fails"),
            "queue_timeout": about(
                duration, "A step waits no longer for a worker: then the run is cancelled"
            ),
            "max_parallel": about(whole(1, document.PARALLEL_MAX), "At most so many steps of a run at once"),
            "concurrency": to("Concurrency"),
            "rate": to("Rate"),
            "schedule": control_schema.schedule(duration),
            "assign": to("Assign"),
        },
        required=["id", "steps"],
    )


def _step(kind: StepKind, keys: tuple[str, ...], to: _Refs) -> Schema:
    """A step of this kind, where these keys may be said of one."""
    known = _keys(kind, to)
    fields = {key: known[key] for key in keys}
    if keys is not step_fields.STEP_KEYS and "on_failure" in fields:
        fields["on_failure"] = about({"enum": ["fail", "skip"]}, "skip: null stands where its output would")
    return object_(fields, required=["kind"] if kind in _BARE else ["kind", "with"])


def _keys(kind: StepKind, to: _Refs) -> Schema:
    duration = to("Duration")
    silence = "An attempt that tells nothing of itself for so long has failed"
    only_python: Schema = {"description": "Only steps of kind python tell that they are alive", "not": {}}
    fallback = object_({"fallback": text()}, required=["fallback"])
    return {
        "id": about(text(pattern=ID, maxLength=step_fields.STEP_ID_MAX), "Only where steps are a list"),
        "kind": {"const": kind},
        "with": to(_name(kind, "With")),
        "needs": about(texts(), "The steps that have to end well before it begins"),
        "when": condition("It is skipped unless this is true, e.g. ${{ steps.check.output.ok }}"),
        "retry": to("Retry") if kind not in NO_RETRY else {"description": NO_RETRY[kind], "not": {}},
        "timeout": about(duration, "For each attempt, from its start"),
        "timeout_total": about(duration, "Over all attempts, from when it could begin"),
        "requires": about(texts(), "What a worker has to offer"),
        "priority": about(whole(-step_fields.PRIORITY_MAX, step_fields.PRIORITY_MAX), "Higher goes first"),
        "labels": members(),
        "on_failure": about(
            {"anyOf": [{"enum": ["fail", "skip"]}, fallback]},
            "What becomes of the run: it fails, goes on without it, or another step takes its place",
        ),
        "on_lost": about(
            {"anyOf": [{"enum": ["retry", "fail"]}, whole(0, step_fields.LOSSES_MAX)]},
            "When its worker went away in the middle of it; a number: so often it is tried again",
        ),
        "undo": about(to("UndoStep"), "Takes back what it did, if the run fails or is cancelled later"),
        "concurrency": to("StepConcurrency"),
        "rate": to("Rate"),
        "assign": to("Assign"),
        "executor": about(text(), "One more thing that a worker has to offer"),
        "requiredCapabilities": about(texts(), "The same as `requires`"),
        "heartbeat_timeout": about(duration, silence) if kind == "python" else only_python,
    }


def _with(kind: StepKind, to: _Refs) -> Schema:
    if kind in control_schema.KINDS:
        return control_schema.schema(kind, to("Duration"), to("RepeatedStep"))
    return with_schemas.schema(kind, to("Duration"), to("Expression"))


def _retry(duration: Schema) -> Schema:
    usual = Retry()
    fields: Schema = {
        "attempts": {
            **about(whole(1, step_fields.ATTEMPTS_MAX), "All of them, the first included"),
            "default": step_fields.ATTEMPTS_UNSAID,
        },
        "backoff": about(duration, f"The first pause; {durations.show(usual.backoff_s)} unless it is said"),
        "factor": {
            **about(
                {"type": "number", "minimum": 1, "maximum": step_fields.FACTOR_MAX},
                "From one pause to the next",
            ),
            "default": usual.factor,
        },
        "max": about(duration, f"The longest pause; {durations.show(usual.max_s)} unless it is said"),
        "not_on": about(texts(), "Names of exceptions that trying again does not help against"),
    }
    return about(object_(fields), "How often it is tried, and how far apart")


def _assign() -> Schema:
    strategy: Schema = {
        "anyOf": [{"enum": list(STRATEGIES)}, text(pattern="^[^:]+:[^:]+$", examples=["placing:by_rack"])]
    }
    affinity = about(text(), "Tasks with the same key go to the same worker while it has room")
    fields = object_({"strategy": strategy, "affinity": affinity}, minProperties=1)
    return about({"anyOf": [strategy, fields]}, "How a worker is chosen among those that could do it")


def _name(kind: StepKind, part: str) -> str:
    return f"{kind.capitalize()}{part}"
