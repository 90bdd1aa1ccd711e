"""The rows of the table of routes that are about limits across runs."""

from __future__ import annotations

from typing import Final

from windlass.gateway import limit_shapes as shapes
from windlass.gateway.limits import Limits
from windlass.gateway.routes import AFTER, API, FOUND, LIMIT, OWNED, SENT, Parameter, Route
from windlass.gateway.shapes import Page

AREA: Final = "Limits"
ALL: Final = f"{API}/limits"

_KEY: Final = Parameter("key", shapes.LimitName, "the key of the limit, as it is after expressions")


def table(limits: Limits) -> list[Route]:
    return [
        Route(
            method="GET",
            path=ALL,
            handler=limits.index,
            name="listLimits",
            live=True,
            needs="see",
            summary="limits across runs that are in use; ?limit= &after=",
            area=AREA,
            answers={200: Page[shapes.LimitItem]},
            parameters=(LIMIT, AFTER),
        ),
        Route(
            method="GET",
            path=f"{ALL}/concurrency",
            handler=limits.concurrency,
            name="getConcurrencyLimit",
            needs="see",
            summary="who holds a limit at once, and who waits for it; ?key=",
            area=AREA,
            answers={200: shapes.LimitView},
            errors=FOUND,
            parameters=(_KEY,),
        ),
        Route(
            method="GET",
            path=f"{ALL}/rate",
            handler=limits.rate,
            name="getRateLimit",
            needs="see",
            summary="what a rate has spent, and who waits for it; ?key=",
            area=AREA,
            answers={200: shapes.LimitView},
            errors=FOUND,
            parameters=(_KEY,),
        ),
        Route(
            method="POST",
            path=f"{ALL}/concurrency/release",
            handler=limits.release,
            name="releasePermit",
            needs="operate",
            summary="take a permit away from a run that will not give it back",
            area=AREA,
            body=shapes.PermitNamed,
            answers={200: shapes.PermitReleased},
            errors=(*SENT, *OWNED),
        ),
    ]
