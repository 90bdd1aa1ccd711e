"""What steps that a worker runs, and waits, say under `with`, as JSON Schemas."""

from __future__ import annotations

from typing import Final

from windlass.core import code_step, kinds, pipeline_step, secret_refs
from windlass.core.definition import StepKind
from windlass.core.stage_types import ROLES, STAGE_TYPES
from windlass.gateway.schema_parts import (
    Schema,
    about,
    either,
    filled,
    members,
    number,
    object_,
    text,
    texts,
    whole,
)

# Where no expression can be: it could change what a step is, or be run as code.
FIXED: Final[dict[StepKind, tuple[str, ...]]] = {
    "python": ("call",),
    "shell": ("command",),
    "code": ("code", "language", "version", "protections"),
}

_SIZE: Final = r"^\s*[0-9]{1,12}\s*([KkMmGgTt]?[Ii]?[Bb])?\s*$"


def schema(kind: StepKind, duration: Schema, expression: Schema) -> Schema:
    options = _WITH[kind]
    if kind == "wait":
        options = {**options, "properties": {**options["properties"], "for": duration}}
    if kind == "code":
        options = {**options, "properties": {**options["properties"], "limits": _limits(duration)}}
    return filled(options, expression, FIXED.get(kind, ()))


def _limits(duration: Schema) -> Schema:
    size: Schema = {
        "anyOf": [{"type": "string", "pattern": _SIZE}, {"type": "integer", "minimum": 0}],
        "examples": ["256MB"],
    }
    fields: Schema = {
        "timeout": about(duration, "How long it may take; 30s, or the timeout of the step"),
        "cpu": about(duration, "Of processor time; as long as it may take, unless it is said"),
        "cores": about(number(*code_step.CORES), "Processors that it may keep busy at once"),
        "memory": about(size, "All its processes together; 256MiB unless it is said"),
        "processes": about(whole(*code_step.PROCESSES), "At the same time, threads included"),
        "open_files": about(whole(*code_step.OPEN_FILES), "At the same time; 256 unless it is said"),
        "disk": about(size, "What it may write"),
        "inodes": about(whole(*code_step.INODES), "Files and folders that it may make"),
        "output": about(size, "Of stdout and of stderr, each; 1MiB unless it is said"),
        "network": about({"type": "boolean"}, "Whether it may use the network"),
    }
    return about(object_(fields), "What the program may use; a worker has bounds of its own")


# Where the door takes a URL, a part of it may be a secret.
_SECRET: Final = rf"\{{\{{\s*secrets\.{secret_refs.NAME}\s*\}}\}}"
_URL_SIGN: Final = rf"(?:{_SECRET}|[^\u0000-\u0020\u007f])"
_METHOD: Final = "|".join("".join(f"[{c}{c.lower()}]" for c in method) for method in kinds.METHODS)

_STAGES: Final = list(dict.fromkeys(kind.node_type for kind in STAGE_TYPES if not kind.missing))

_WITH: Final[dict[StepKind, Schema]] = {
    "python": object_(
        {
            "call": about(text(pattern="^[^:]+:[^:]+$", examples=["reports:crunch"]), "module:function"),
            "args": about({"type": "object"}, "Its arguments by name"),
        },
        required=["call"],
    ),
    "http": object_(
        {
            "url": about(
                text(pattern=rf"^(?:[Hh][Tt][Tt][Pp][Ss]?://{_URL_SIGN}|{_SECRET}){_URL_SIGN}*$"),
                "Where to, e.g. https://example.org/sales",
            ),
            "method": {
                "description": "GET unless it is said",
                # The first for editors, which offer it; the second because the case does not matter.
                "anyOf": [{"enum": list(kinds.METHODS)}, {"type": "string", "pattern": f"^({_METHOD})$"}],
            },
            "headers": members(propertyNames={"pattern": r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}),
            "body": about({"type": "string"}, "What to send as text"),
            "json": {"description": "What to send as JSON, in place of a body"},
        },
        required=["url"],
        **{"not": {"required": ["body", "json"]}},
    ),
    "shell": object_(
        {
            "argv": {
                "description": "The program and its arguments",
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
            },
            "command": about(text(), "One line for the shell"),
            "env": members(propertyNames={"pattern": "^[^=]+$"}),
            "cwd": about(text(), "The folder to run it in"),
            "stdin": about({"type": "string"}, "What it reads"),
        },
        oneOf=either("argv", "command"),
    ),
    "code": object_(
        {
            "language": about(
                text(pattern=f"^{code_step.LANGUAGE}$", examples=["python", "golang"]),
                "What a worker has to offer; go, py and js are short for golang, python and javascript",
            ),
            "version": about(
                text(pattern=f"^{code_step.VERSION}$", examples=["3.11"]), "How its version has to begin"
            ),
            # The bound counts bytes, a schema characters: so many bytes may be fewer characters, never more.
            "code": about(text(maxLength=code_step.CODE_BYTES_MAX), "The program"),
            "stdin": about({"type": "string"}, "What it reads"),
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
                        object_({"base64": {"type": "string"}}, required=["base64"]),
                    ]
                },
                "maxProperties": code_step.FILES_MAX,
            },
            "outputs": about(texts(), "Files that it leaves in its folder, for the output of the step"),
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
    "pipeline": object_(
        {
            "stages": {
                "description": "What the rows go through",
                "type": "array",
                "items": object_(
                    {
                        "id": text(maxLength=pipeline_step.ID_MAX),
                        "type": about({"enum": list(ROLES)}, "Whether rows begin, go through or end there"),
                        "nodeType": about(text(examples=_STAGES), "What it does"),
                        "config": {"description": "What it is told", "type": ["object", "null"]},
                    },
                    required=["id", "nodeType"],
                ),
                "minItems": 1,
                "maxItems": pipeline_step.STAGES_MAX,
            },
            "edges": {
                "description": "Along which the rows flow",
                "type": "array",
                "items": object_({"from": text(), "to": text()}, required=["from", "to"]),
                "maxItems": pipeline_step.EDGES_MAX,
            },
        },
        required=["stages", "edges"],
    ),
    "wait": object_(
        {"for": {}, "until": about(text(examples=["2026-01-01T08:00:00Z"]), "A time with its zone")},
        oneOf=either("for", "until"),
    ),
    "noop": object_({"value": {"description": "What it hands on"}}),
}
