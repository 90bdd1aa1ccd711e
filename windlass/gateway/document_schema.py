"""The workflow document as a JSON Schema: for editors, and for the description of the API.

`core.document` decides what is sound; this says the same as far as a schema can. It never refuses what the
core takes, and refuses unknown keys and kinds as the core does: tests compare the two.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from windlass.core import code_step, document, durations, kinds, secret_refs
from windlass.core.assign.policy import STRATEGIES
from windlass.core.definition import Retry, StepKind
from windlass.core.task import Json

Schema = dict[str, Json]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: Final = r"[0-9]+(\.[0-9]+)?"
_UNITS: Final = ("w", "d", "h", "m", "s", "ms")
_DURATION: Final = f"^{_NUMBER}$|^{''.join(f'({_NUMBER}{unit})?' for unit in _UNITS)}$"
_ID: Final = "^[A-Za-z0-9._:-]+$"
_SIZE: Final = r"^\s*[0-9]{1,12}\s*([KkMmGgTt]?[Ii]?[Bb])?\s*$"

DurationText = Annotated[str, Meta(pattern=_DURATION, min_length=1)]


def schema() -> Schema:
    """One that stands for itself."""
    parts = definitions("#/$defs/{}")
    return {
        "$schema": DIALECT,
        "title": "A Windlass workflow",
        **parts.pop("WorkflowDocument"),
        "$defs": {name: parts[name] for name in sorted(parts)},
    }


def definitions(ref: str) -> dict[str, Schema]:
    """The document and all its parts by name; `ref` says how one names another."""

    def to(name: str) -> Schema:
        return {"$ref": ref.format(name)}

    return {
        "WorkflowDocument": _workflow(to("DocumentStep"), to("Duration"), to("Assign")),
        "DocumentStep": {
            "description": "One step of the graph; `kind` says what it does",
            "oneOf": [to(_step_name(kind)) for kind in kinds.KINDS],
        },
        **{_step_name(kind): _step(kind, to("Retry"), to("Duration"), to("Assign")) for kind in kinds.KINDS},
        "Retry": _retry(to("Duration")),
        "Assign": _assign(),
        "Duration": {
            "description": "A length of time: 500ms, 20s, 2m, 1h30m, 1d; a number counts seconds",
            "anyOf": [
                {"type": "string", "pattern": _DURATION, "minLength": 1},
                {"type": "number", "minimum": 0, "maximum": durations.SECONDS_MAX},
            ],
            "examples": ["20s", "1h30m"],
        },
    }


def _workflow(step: Schema, duration: Schema, assign: Schema) -> Schema:
    by_id = {
        "type": "object",
        "propertyNames": {"pattern": _ID, "maxLength": document.STEP_ID_MAX},
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
    return _object(
        {
            "id": _about(
                _text(pattern=_ID, maxLength=document.WORKFLOW_ID_MAX), "What it is called; never changes"
            ),
            "name": _about({"type": "string"}, "For people"),
            "description": _about({"type": "string"}, "What it is for"),
            "steps": _about({"anyOf": [by_id, listed]}, "By their ids, or a list in which each has an `id`"),
            "deadline": _about(duration, "A run that takes longer fails"),
            "queue_timeout": _about(
                duration, "A step waits no longer for a worker: then the run is cancelled"
            ),
            "max_parallel": _about(
                _whole(1, document.PARALLEL_MAX), "At most so many steps of a run at once"
            ),
            "assign": assign,
        },
        required=["id", "steps"],
    )


def _step(kind: StepKind, retry: Schema, duration: Schema, assign: Schema) -> Schema:
    options = _WITH[kind]
    if kind == "wait":
        options = {**options, "properties": {**options["properties"], "for": duration}}
    if kind == "code":
        options = {**options, "properties": {**options["properties"], "limits": _limits(duration)}}
    fields: Schema = {
        "id": _about(_text(pattern=_ID, maxLength=document.STEP_ID_MAX), "Only where steps are a list"),
        "kind": {"const": kind},
        "with": options,
        "needs": _about(_texts(), "The steps that have to end well before it begins"),
        "retry": retry,
        "timeout": _about(duration, "For each attempt, from its start"),
        "timeout_total": _about(duration, "Over all attempts, from when it could begin"),
        "requires": _about(_texts(), "What a worker has to offer"),
        "priority": _about(_whole(-document.PRIORITY_MAX, document.PRIORITY_MAX), "Higher goes first"),
        "labels": _members(),
        "on_failure": _about(
            {"anyOf": [{"enum": ["fail", "skip"]}, _object({"fallback": _text()}, required=["fallback"])]},
            "What becomes of the run: it fails, goes on without it, or another step takes its place",
        ),
        "on_lost": _about(
            {"anyOf": [{"enum": ["retry", "fail"]}, _whole(0, document.LOSSES_MAX)]},
            "When its worker went away in the middle of it; a number: so often it is tried again",
        ),
        "assign": assign,
        "executor": _about(_text(), "One more thing that a worker has to offer"),
        "requiredCapabilities": _about(_texts(), "The same as `requires`"),
    }
    silence = "An attempt that tells nothing of itself for so long has failed"
    only_python: Schema = {"description": "Only steps of kind python tell that they are alive", "not": {}}
    fields["heartbeat_timeout"] = _about(duration, silence) if kind == "python" else only_python
    return _object(fields, required=["kind"] if kind == "noop" else ["kind", "with"])


def _limits(duration: Schema) -> Schema:
    size: Schema = {
        "anyOf": [{"type": "string", "pattern": _SIZE}, {"type": "integer", "minimum": 0}],
        "examples": ["256MB"],
    }
    fields: Schema = {
        "timeout": _about(duration, "How long it may take; 30s, or the timeout of the step"),
        "cpu": _about(duration, "Of processor time; as long as it may take, unless it is said"),
        "cores": _about(_number(*code_step.CORES), "Processors that it may keep busy at once"),
        "memory": _about(size, "All its processes together; 256MiB unless it is said"),
        "processes": _about(_whole(*code_step.PROCESSES), "At the same time, threads included"),
        "open_files": _about(_whole(*code_step.OPEN_FILES), "At the same time; 256 unless it is said"),
        "disk": _about(size, "What it may write"),
        "inodes": _about(_whole(*code_step.INODES), "Files and folders that it may make"),
        "output": _about(size, "Of stdout and of stderr, each; 1MiB unless it is said"),
        "network": _about({"type": "boolean"}, "Whether it may use the network"),
    }
    return _about(_object(fields), "What the program may use; a worker has bounds of its own")


def _retry(duration: Schema) -> Schema:
    usual = Retry()
    fields: Schema = {
        "attempts": {
            **_about(_whole(1, document.ATTEMPTS_MAX), "All of them, the first included"),
            "default": document.ATTEMPTS_UNSAID,
        },
        "backoff": _about(duration, f"The first pause; {durations.show(usual.backoff_s)} unless it is said"),
        "factor": {
            **_about(
                {"type": "number", "minimum": 1, "maximum": document.FACTOR_MAX},
                "From one pause to the next",
            ),
            "default": usual.factor,
        },
        "max": _about(duration, f"The longest pause; {durations.show(usual.max_s)} unless it is said"),
        "not_on": _about(_texts(), "Names of exceptions that trying again does not help against"),
    }
    return _about(_object(fields), "How often it is tried, and how far apart")


def _assign() -> Schema:
    strategy: Schema = {
        "anyOf": [{"enum": list(STRATEGIES)}, _text(pattern="^[^:]+:[^:]+$", examples=["placing:by_rack"])]
    }
    affinity = _about(_text(), "Tasks with the same key go to the same worker while it has room")
    fields = _object({"strategy": strategy, "affinity": affinity}, minProperties=1)
    return _about({"anyOf": [strategy, fields]}, "How a worker is chosen among those that could do it")


def _step_name(kind: StepKind) -> str:
    return f"{kind.capitalize()}Step"


def _object(properties: Schema, required: list[str] | None = None, **more: Json) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return {**made, "required": required} if required else made


def _about(schema: Schema, description: str) -> Schema:
    return {"description": description, **schema}


def _text(**more: Json) -> Schema:
    return {"type": "string", "minLength": 1, **more}


def _texts() -> Schema:
    return {"anyOf": [_text(), {"type": "array", "items": _text()}]}


def _members(**more: Json) -> Schema:
    return {"type": "object", "additionalProperties": {"type": "string"}, **more}


def _whole(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _number(low: float, high: float) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high}


def _either(one: str, other: str) -> list[Schema]:
    return [{"required": [one]}, {"required": [other]}]


# Where the door takes a URL, a part of it may be a secret.
_SECRET: Final = rf"\{{\{{\s*secrets\.{secret_refs.NAME}\s*\}}\}}"
_URL_SIGN: Final = rf"(?:{_SECRET}|[^\u0000-\u0020\u007f])"
_METHOD: Final = "|".join("".join(f"[{c}{c.lower()}]" for c in method) for method in kinds.METHODS)

_WITH: Final[dict[StepKind, Schema]] = {
    "python": _object(
        {
            "call": _about(_text(pattern="^[^:]+:[^:]+$", examples=["reports:crunch"]), "module:function"),
            "args": _about({"type": "object"}, "Its arguments by name"),
        },
        required=["call"],
    ),
    "http": _object(
        {
            "url": _about(
                _text(pattern=rf"^(?:[Hh][Tt][Tt][Pp][Ss]?://{_URL_SIGN}|{_SECRET}){_URL_SIGN}*$"),
                "Where to, e.g. https://example.org/sales",
            ),
            "method": {
                "description": "GET unless it is said",
                # The first for editors, which offer it; the second because the case does not matter.
                "anyOf": [{"enum": list(kinds.METHODS)}, {"type": "string", "pattern": f"^({_METHOD})$"}],
            },
            "headers": _members(propertyNames={"pattern": r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}),
            "body": _about({"type": "string"}, "What to send as text"),
            "json": {"description": "What to send as JSON, in place of a body"},
        },
        required=["url"],
        **{"not": {"required": ["body", "json"]}},
    ),
    "shell": _object(
        {
            "argv": {
                "description": "The program and its arguments",
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
            },
            "command": _about(_text(), "One line for the shell"),
            "env": _members(propertyNames={"pattern": "^[^=]+$"}),
            "cwd": _about(_text(), "The folder to run it in"),
            "stdin": _about({"type": "string"}, "What it reads"),
        },
        oneOf=_either("argv", "command"),
    ),
    "code": _object(
        {
            "language": _about(
                _text(pattern=f"^{code_step.LANGUAGE}$", examples=["python", "golang"]),
                "What a worker has to offer; go, py and js are short for golang, python and javascript",
            ),
            "version": _about(
                _text(pattern=f"^{code_step.VERSION}$", examples=["3.11"]), "How its version has to begin"
            ),
            # The bound counts bytes, a schema characters: so many bytes may be fewer characters, never more.
            "code": _about(_text(maxLength=code_step.CODE_BYTES_MAX), "The program"),
            "stdin": _about({"type": "string"}, "What it reads"),
            "files": {
                "description": "What it finds in its folder: a text for each name, or its bytes in base64",
                "type": "object",
                "propertyNames": {
                    "pattern": f"^{code_step.FILE_NAME}$",
                    "maxLength": code_step.FILE_NAME_MAX,
                },
                "additionalProperties": {
                    "anyOf": [
                        {"type": "string"},
                        _object({"base64": {"type": "string"}}, required=["base64"]),
                    ]
                },
                "maxProperties": code_step.FILES_MAX,
            },
            "outputs": _about(_texts(), "Files that it leaves in its folder, for the output of the step"),
            "limits": {},
            "protections": {
                "description": "What the sandbox has to hold: it is run nowhere else",
                "anyOf": [
                    {"enum": list(code_step.PROTECTIONS)},
                    {"type": "array", "items": {"enum": list(code_step.PROTECTIONS)}},
                ],
            },
        },
        required=["language", "code"],
    ),
    "wait": _object(
        {"for": {}, "until": _about(_text(examples=["2026-01-01T08:00:00Z"]), "A time with its zone")},
        oneOf=_either("for", "until"),
    ),
    "noop": _object({"value": {"description": "What it hands on"}}),
}
