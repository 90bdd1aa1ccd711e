"""The rows of the table of routes that are about webhooks."""

from __future__ import annotations

from typing import Final

from windlass.gateway import webhook_shapes as shapes
from windlass.gateway.parameters import Key
from windlass.gateway.routes import API, FOUND, SENT, Parameter, Route
from windlass.gateway.shapes import Page
from windlass.gateway.webhooks import Webhooks

AREA: Final = "Webhooks"
ONE: Final = f"{API}/webhooks/{{webhook}}"

_KEY: Final = Parameter("Idempotency-Key", Key, "the same request again under it acts once", header=True)


def table(webhooks: Webhooks) -> list[Route]:
    return [
        Route(
            method="POST",
            path=f"{API}/webhooks",
            handler=webhooks.create,
            name="createWebhook",
            needs="operate",
            summary="tell an address when runs fail, are stuck, or are well again",
            area=AREA,
            body=shapes.WebhookAsked,
            answers={201: shapes.WebhookMade},
            errors=(*SENT, 409),
            parameters=(_KEY,),
        ),
        Route(
            method="GET",
            path=f"{API}/webhooks",
            handler=webhooks.index,
            name="listWebhooks",
            needs="operate",
            summary="which webhooks there are; never what they sign with",
            area=AREA,
            answers={200: Page[shapes.Webhook]},
        ),
        Route(
            method="DELETE",
            path=ONE,
            handler=webhooks.delete,
            name="deleteWebhook",
            needs="operate",
            summary="tell it nothing more",
            area=AREA,
            answers={200: shapes.WebhookDeleted},
            errors=FOUND,
        ),
        Route(
            method="POST",
            path=f"{ONE}/test",
            handler=webhooks.test,
            name="testWebhook",
            needs="operate",
            summary="send it one event now, and say what came back",
            area=AREA,
            answers={200: shapes.WebhookTested},
            errors=FOUND,
        ),
    ]
