"""What the Python child is asked: a task, of which large values may have been left out.

The child keeps values of earlier requests. A request that names one which it does not have is answered with
MISSING, and is made again, whole.
"""

from __future__ import annotations

from typing import Final

import msgspec

from windlass.core.task import Task


class Request(Task, frozen=True, omit_defaults=True):
    places: dict[str, str] = msgspec.field(default_factory=dict)  # of large values: see wire.bulk
    bodies: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)

    def own_bodies(self) -> dict[str, bytes]:
        """Without the rest of the request, of which they are a part."""
        return {name: bytes(body) for name, body in self.bodies.items()}


_encode: Final = msgspec.json.Encoder().encode
_decoder: Final[msgspec.json.Decoder[Request]] = msgspec.json.Decoder(Request)


def encode(task: Task, places: dict[str, str], bodies: dict[str, bytes]) -> bytes:
    raw = {name: msgspec.Raw(body) for name, body in bodies.items()}
    fields = {name: getattr(task, name) for name in Task.__struct_fields__}
    return _encode(Request(**fields, places=places, bodies=raw))


def decode(body: bytes) -> Request:
    return _decoder.decode(body)
