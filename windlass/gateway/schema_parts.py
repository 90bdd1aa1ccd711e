"""The parts that the schema of documents is made of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from windlass.core.task import Json

Schema = dict[str, Json]

ID: Final = "^[A-Za-z0-9._:-]+$"
EXPRESSION: Final = r"\$\{\{"


def object_(properties: Schema, required: list[str] | None = None, **more: Json) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return {**made, "required": required} if required else made


def about(schema: Schema, description: str) -> Schema:
    return {"description": description, **schema}


def text(**more: Json) -> Schema:
    return {"type": "string", "minLength": 1, **more}


def texts(**more: Json) -> Schema:
    """A list, or one alone."""
    return {"anyOf": [text(), {"type": "array", "items": text(), **more}]}


def members(**more: Json) -> Schema:
    return {"type": "object", "additionalProperties": {"type": "string"}, **more}


def whole(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def number(low: float, high: float) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high}


def either(one: str, other: str) -> list[Schema]:
    return [{"required": [one]}, {"required": [other]}]


def condition(description: str) -> Schema:
    """An expression, bare or inside `${{ }}`; YAML makes something else of true and false."""
    return about({"anyOf": [text(), {"type": "boolean"}]}, description)


def filled(options: Schema, expression: Schema, fixed: Collection[str] = ()) -> Schema:
    """An object whose members may be expressions instead, at every depth, but for those that are fixed."""
    made = {
        name: part if name in fixed else _or(part, expression) for name, part in options["properties"].items()
    }
    return {**options, "properties": made}


def _or(schema: Schema, expression: Schema) -> Schema:
    inner = _inside(schema, expression)
    description = {"description": inner.pop("description")} if "description" in inner else {}
    if not inner or inner == {"type": "string"} or inner == text():
        return {**description, **inner}  # takes an expression anyway
    return {**description, "anyOf": [inner, expression]}


def _inside(schema: Schema, expression: Schema) -> Schema:
    made = dict(schema)
    if "properties" in made:
        made["properties"] = {name: _or(part, expression) for name, part in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _or(made[key], expression)
    if "anyOf" in made:
        made["anyOf"] = [_inside(part, expression) for part in made["anyOf"]]
    return made
