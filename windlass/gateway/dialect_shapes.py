"""What older workers send over HTTP, and what they are answered."""

from __future__ import annotations

import msgspec

from windlass.gateway.shapes import Shape


class ExecuteResponse(msgspec.Struct, rename="camel"):
    """What came out of a piece of code. Keys may be of any case; what is not known is ignored."""

    id: str = ""
    uid: int = 0
    grpc_code: str = ""
    result: str = ""
    call_back_url: str = ""
    err: str = ""  # why it could not be run; empty: it was


class ResultKept(Shape):
    kept: bool = True
