"""The envelope dialect: `{type, request_id, payload}`, with the payload as base64 of the JSON inside.

    worker                                   node
      │◄──────── execute_sync: run this        │
      │ result: what came out ────────────────►│
      │ {"Type": "responseDuration", …} ──────►│

With `?result=callback` it is `execute`, which the worker answers by `ack`, and whose result comes by HTTP.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from windlass.gateway import dialect
from windlass.gateway.dialect import Execution, Misspoken, Words
from windlass.gateway.dialect_raw import Members, RawDialect, members, request
from windlass.wire.crew import Progress


class EnvelopeDialect(RawDialect):
    """Results come back on the same connection."""

    program = "envelope client"

    def hear(self, text: str) -> Words:
        said = members(text)
        kind, id = str(said.get("type", "")).lower(), said.get("request_id")
        match kind, id:
            case "responseduration", _:
                return self.alive()
            case "ack", str():
                return Words(node=(Progress(dialect.read_id(id).token),))
            case "result", str():
                return self.result(id, _unpacked(said.get("payload")))
            case _:
                raise Misspoken(
                    f"nobody knows the type {dialect.shown(kind)}, with this request_id or at all"
                )

    def scold(self, message: str) -> Words:
        return Words(client=(_envelope("error", "", {"err": message}),))

    def _execute(self, wanted: Execution) -> str:
        return _envelope("execute_sync", wanted.id, request(wanted))


class CallbackDialect(EnvelopeDialect):
    """Results come by HTTP."""

    def _execute(self, wanted: Execution) -> str:
        return _envelope("execute", wanted.id, request(wanted, self._post(wanted.id)))


def _envelope(kind: str, id: str, inside: Members) -> str:
    payload = base64.b64encode(msgspec.json.encode(inside)).decode()
    return msgspec.json.encode({"type": kind, "request_id": id, "payload": payload}).decode()


def _unpacked(payload: object) -> Members:
    if not isinstance(payload, str):
        raise Misspoken("payload is missing")
    try:
        return members(base64.b64decode(payload, validate=True))
    except binascii.Error as error:
        raise Misspoken(f"payload is no base64: {error}") from None
