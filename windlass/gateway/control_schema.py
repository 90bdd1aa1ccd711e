"""What steps say under `with` that the engine itself carries out, and what workflows say of their runs."""

from __future__ import annotations

from typing import Final, get_args

from windlass.core import control_steps, limit_fields, timetable
from windlass.core.definition import StepKind
from windlass.core.inputs import InputType
from windlass.core.limit_key import KEY_MAX, MOST_MAX
from windlass.gateway.schema_parts import (
    Schema,
    about,
    condition,
    either,
    members,
    object_,
    text,
    texts,
    whole,
)

KINDS: Final[tuple[StepKind, ...]] = tuple(control_steps.KEYS)
_TIME: Final = text(examples=["2026-01-01T08:00:00Z"])


def schema(kind: StepKind, duration: Schema, body: Schema) -> Schema:
    """Of one of these kinds; `body` is the step that a map or a loop repeats."""
    match kind:
        case "approval":
            return _approval(duration)
        case "signal":
            return _signal(duration)
        case "workflow":
            return _child()
        case "map":
            return _map(body)
        case "loop":
            return _loop(duration, body)
        case "switch":
            return _switch()
        case _:
            raise AssertionError(f"{kind} is carried out by workers")


def inputs() -> Schema:
    kinds = {"enum": list(get_args(InputType))}
    spec = object_(
        {
            "type": about(kinds, "What it is; any unless it is said"),
            "required": about({"type": "boolean"}, "A run cannot begin without it"),
            "default": {"description": "What it is where nothing was given"},
            "description": about({"type": "string"}, "For people"),
            "pattern": about(text(), "What all of a text has to match (RE2)"),
            "enum": {"description": "It is one of these", "type": "array", "minItems": 1},
            "min": about({"type": "number"}, "Of a number; of the length of a text or a list"),
            "max": about({"type": "number"}, "Of a number; of the length of a text or a list"),
        }
    )
    return {
        "description": "What a run may be started with, by name: a type, or more about it",
        "type": "object",
        "additionalProperties": {"anyOf": [kinds, spec]},
    }


def concurrency(*, step: bool) -> Schema:
    conflicts = ("queue",) if step else limit_fields.CONFLICTS
    what = "steps" if step else "runs"
    fields = object_(
        {
            "key": _key(),
            "limit": about(whole(1, MOST_MAX), "So many at once"),
            "on_conflict": about({"enum": list(conflicts)}, "What becomes of one too many; queue: it waits"),
        },
        required=["limit"],
    )
    return about({"anyOf": [whole(1, MOST_MAX), fields]}, f"At most so many {what} at once, across all runs")


def rate(duration: Schema) -> Schema:
    fields = object_(
        {
            "key": _key(),
            "limit": about(whole(1, MOST_MAX), "So many in a period"),
            "per": about(duration, "The period"),
        },
        required=["limit", "per"],
    )
    short = text(pattern="^[0-9]{1,9} ?/ ?[^/ ]{1,50}$", examples=["10/1m"])
    return about({"anyOf": [short, fields]}, "At most so many begin in a period, across all runs")


def _key() -> Schema:
    # With an expression it may be longer as it is written than as it comes out.
    return about(text(), f"What shares the limit; at most {KEY_MAX} characters, and may hold expressions")


def schedule(duration: Schema) -> Schema:
    fields = object_(
        {
            "cron": about(text(examples=["0 2 * * *", "@daily"]), "5, 6 or 7 fields, or @daily and the like"),
            "every": about(duration, "Each time this long after the time before"),
            "timezone": about(text(examples=["Europe/Berlin"]), "Of cron; UTC unless it is said"),
            "overlap": about(
                {"enum": list(timetable.OVERLAPS)}, "If the run before still goes on: skip unless it is said"
            ),
            "catch_up": about(duration, "Times missed for no longer than this are made up for"),
            "start": about(_TIME, "Not before this time"),
            "end": about(_TIME, "Not after this time"),
            "enabled": about({"type": "boolean"}, "Whether it is on"),
            "input": {"description": "What its runs are started with"},
            "labels": members(),
        },
        oneOf=either("cron", "every"),
    )
    short = text(examples=["0 2 * * *", "30m"])
    return about({"anyOf": [short, fields]}, "When runs begin by themselves")


def _approval(duration: Schema) -> Schema:
    return object_(
        {
            "prompt": about(text(), "What is asked; may hold expressions"),
            "who": about(
                texts(minItems=1, maxItems=control_steps.WHO_MAX),
                "Who may say yes or no: names of tokens and users; everybody who may steer runs, unless said",
            ),
            "timeout": about(duration, "How long it waits; for ever, unless it is said"),
            "on_timeout": about({"enum": list(control_steps.ON_TIMEOUT)}, "What becomes of it then"),
        },
        dependentRequired={"on_timeout": ["timeout"]},
    )


def _signal(duration: Schema) -> Schema:
    return object_(
        {
            "name": about(
                text(pattern=f"^{control_steps.SIGNAL}$"), "Of the signal; the step's id unless said"
            ),
            "timeout": about(duration, "How long it waits; for ever, unless it is said"),
            "default": {"description": "What it gives when the time is over; without, it fails"},
        },
        dependentRequired={"default": ["timeout"]},
    )


def _child() -> Schema:
    return object_(
        {
            "workflow": about(text(pattern=f"^{control_steps.WORKFLOW}$"), "The id of the workflow to run"),
            "version": about(whole(1, control_steps.VERSION_MAX), "The newest, unless it is said"),
            "input": {"description": "What it is started with; may hold expressions"},
            "wait": about({"type": "boolean"}, "false: the step is done when the run has begun"),
        },
        required=["workflow"],
    )


def _map(body: Schema) -> Schema:
    one = text(pattern=r"^\s*\$\{\{[\s\S]*\}\}\s*$", examples=["${{ inputs.files }}"])
    return object_(
        {
            "over": about({"anyOf": [{"type": "array"}, one]}, "A list, or an expression that gives one"),
            "max_parallel": {
                **about(whole(1, control_steps.PARALLEL_MAX), "So many items at once"),
                "default": control_steps.PARALLEL_UNSAID,
            },
            "step": about(body, "What is done for each; it sees `item` and `index`"),
        },
        required=["over", "step"],
    )


def _loop(duration: Schema, body: Schema) -> Schema:
    return object_(
        {
            "until": condition("It is over when this is true after a turn; `item` is what the turn gave"),
            "while": condition("Another turn only if this is true before it"),
            "max": about(whole(1, control_steps.TURNS_MAX), "Turns, at most"),
            "delay": about(duration, "Between two turns"),
            "step": about(body, "What is done in each turn; it sees `item` and `index`"),
        },
        required=["max", "step"],
        oneOf=either("until", "while"),
    )


def _switch() -> Schema:
    case = object_(
        {
            "when": condition("The first case for which this is true is taken"),
            "then": about(texts(), "Steps that run then; those of other cases are skipped"),
        },
        required=["when", "then"],
    )
    return object_(
        {
            "cases": {"type": "array", "items": case, "minItems": 1, "maxItems": control_steps.CASES_MAX},
            "default": about(texts(), "Steps that run if no case is true"),
        },
        required=["cases"],
    )
