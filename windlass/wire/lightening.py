"""Takes the large values out of a task: see wire.bulk."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

from windlass.core.task import Json, Task
from windlass.wire.bulk import INPUT, LARGE_BYTES, PARENTS, Name, Recent

NAME_BYTES: Final = 16

_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Light:
    task: Task  # without its large values
    places: dict[str, Name] = field(default_factory=dict)  # where which of them belongs
    bodies: dict[Name, bytes] = field(default_factory=dict)  # of all of them, as JSON
    fresh: set[Name] = field(default_factory=set)  # those that were not met lately

    def encode(self) -> bytes:
        return _encode(self.task)

    def bodies_but(self, known: Container[Name]) -> dict[Name, bytes]:
        """Of those that whoever knows these does not know."""
        return {name: body for name, body in self.bodies.items() if name not in known}


@dataclass(slots=True)
class _Met:
    value: Json  # held, so that nothing else gets its identity
    name: Name
    body: bytes


class Lightener:
    """Lightens tasks. A value that was met lately is known again by its identity, without a look into it."""

    def __init__(self) -> None:
        self._met: dict[int, _Met] = {}
        self._identities: dict[Name, int] = {}
        self._recent = Recent()

    def lighten(self, task: Task) -> Light:
        """Raises what encoding raises: TypeError, ValueError, OverflowError."""
        light = Light(task)
        given = self._take_out(INPUT, task.input, light)
        parents = {step: self._take_out(PARENTS + step, value, light) for step, value in task.parents.items()}
        light.task = msgspec.structs.replace(task, input=given, parents=parents)
        for name in self._recent.shrink(spare=light.bodies):
            del self._met[self._identities.pop(name)]
        return light

    def _take_out(self, place: str, value: Json, light: Light) -> Json:
        """What is left of it in the task."""
        if value is None or isinstance(value, bool | int | float):
            return value
        met = self._met.get(id(value))
        if met is None:
            body = _encode(value)
            if len(body) < LARGE_BYTES:
                return msgspec.Raw(body)  # it need not be encoded twice
            met = self._meet(value, body, light)
        self._recent.use(met.name, len(met.body))
        light.places[place] = met.name
        light.bodies[met.name] = met.body
        return None

    def _meet(self, value: Json, body: bytes, light: Light) -> _Met:
        name = blake2b(body, digest_size=NAME_BYTES).hexdigest()
        identity = self._identities.get(name)
        if identity is None:
            light.fresh.add(name)
        else:  # the same content as before, in another object
            del self._met[identity]
        self._identities[name] = id(value)
        met = self._met[id(value)] = _Met(value, name, body)
        return met
