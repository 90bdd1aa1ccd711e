"""The rows of the table of routes that are about webhooks that come in."""

from __future__ import annotations

from typing import Final

from windlass.gateway import inbound_shapes as shapes
from windlass.gateway.inbound_deliveries import NAME_OF_ROUTE, InboundDeliveries
from windlass.gateway.inbound_hooks import InboundHooks
from windlass.gateway.parameters import Key
from windlass.gateway.routes import API, FOUND, OWNED, SENT, Parameter, Route
from windlass.gateway.shapes import Page

AREA: Final = "Hooks"
ONE: Final = f"{API}/inbound-hooks/{{hook}}"

_NUMBER: Final = Parameter(
    "Idempotency-Key", Key, "the same delivery again under it acts once; also Webhook-Id", header=True
)


def table(hooks: InboundHooks, deliveries: InboundDeliveries) -> list[Route]:
    return [
        Route(
            method="POST",
            path=f"{API}/hooks/{{hook}}",
            handler=deliveries.receive,
            name=NAME_OF_ROUTE,
            needs="open",
            by_secret=True,
            summary="start a run or send it a signal, with the secret of the hook",
            area=AREA,
            body=shapes.Delivered,
            answers={202: shapes.Taken},
            errors=(*SENT, *OWNED),
            parameters=(_NUMBER,),
        ),
        Route(
            method="GET",
            path=f"{API}/inbound-hooks",
            handler=hooks.index,
            name="listInboundHooks",
            needs="operate",
            summary="which hooks there are; never their secrets",
            area=AREA,
            answers={200: Page[shapes.InboundHook]},
        ),
        Route(
            method="GET",
            path=ONE,
            handler=hooks.read,
            name="getInboundHook",
            needs="operate",
            summary="what one of them does",
            area=AREA,
            answers={200: shapes.InboundHook},
            errors=FOUND,
        ),
        Route(
            method="PUT",
            path=ONE,
            handler=hooks.put,
            name="putInboundHook",
            needs="operate",
            summary="let programs outside start runs or send signals; a new secret is shown this once",
            area=AREA,
            body=shapes.InboundAsked,
            answers={200: shapes.InboundMade, 201: shapes.InboundMade},
            errors=(*SENT, 409),
        ),
        Route(
            method="DELETE",
            path=ONE,
            handler=hooks.delete,
            name="deleteInboundHook",
            needs="operate",
            summary="take nothing more from it",
            area=AREA,
            answers={200: shapes.InboundDeleted},
            errors=FOUND,
        ),
    ]
