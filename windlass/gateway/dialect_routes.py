"""The rows of the table of routes that are about older workers."""

from __future__ import annotations

from typing import Final

from windlass.gateway import dialect_shapes as shapes
from windlass.gateway.dialects import Dialects
from windlass.gateway.routes import FOUND, SENT, Parameter, Route, WebSocket

AREA: Final = "Workers"
JSON, OLDER, CALLBACK = PATHS = ("/ws/v1", "/ws", "/ws/callback/{callback}")


def table(dialects: Dialects) -> list[Route]:
    return [
        Route(
            method="GET",
            path=JSON,
            handler=dialects.json,
            name="connectJsonClient",
            needs="work",
            summary="for workers of the JSON dialect, by WebSocket",
            area=AREA,
            answers={101: WebSocket},
            errors=(400, 426),
            head=False,
        ),
        Route(
            method="GET",
            path=OLDER,
            handler=dialects.older,
            name="connectOlderClient",
            needs="work",
            summary="for workers of older dialects, by WebSocket; ?weight, ?proto, ?result",
            area=AREA,
            answers={101: WebSocket},
            errors=(400, 426),
            parameters=(
                Parameter("weight", int, "how much it is to be given, compared with others"),
                Parameter("proto", str, "raw, envelope or json; envelope if there is a weight, else json"),
                Parameter("result", str, "socket or callback: where the results of envelopes go"),
            ),
            head=False,
        ),
        Route(
            method="POST",
            path=CALLBACK,
            handler=dialects.callback,
            name="sendResult",
            # Whoever knows the address was given the task: it cannot be guessed, and is good for one result.
            needs="open",
            summary="the result of a task, from workers that send it by HTTP",
            area=AREA,
            body=shapes.ExecuteResponse,
            answers={200: shapes.ResultKept},
            errors=(*SENT, *FOUND),
        ),
    ]
