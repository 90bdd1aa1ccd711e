"""The rows of the table of routes that are about secrets."""

from __future__ import annotations

from typing import Final

from windlass.gateway import secret_shapes as shapes
from windlass.gateway.routes import API, FOUND, SENT, Route
from windlass.gateway.secrets import Secrets
from windlass.gateway.shapes import Page

AREA: Final = "Secrets"
ONE: Final = f"{API}/secrets/{{secret}}"


def table(secrets: Secrets) -> list[Route]:
    return [
        Route(
            method="GET",
            path=f"{API}/secrets",
            handler=secrets.index,
            name="listSecrets",
            needs="operate",
            summary="which secrets there are; never what they are",
            area=AREA,
            answers={200: Page[shapes.SecretItem]},
        ),
        Route(
            method="PUT",
            path=ONE,
            handler=secrets.set,
            name="setSecret",
            needs="operate",
            summary="keep a secret, sealed, for steps that name it",
            area=AREA,
            body=shapes.SecretGiven,
            answers={200: shapes.SecretItem, 201: shapes.SecretItem},
            errors=(*SENT, 409),
        ),
        Route(
            method="DELETE",
            path=ONE,
            handler=secrets.delete,
            name="deleteSecret",
            needs="operate",
            summary="forget a secret",
            area=AREA,
            answers={200: shapes.SecretDeleted},
            errors=FOUND,
        ),
        Route(
            method="POST",
            path=f"{API}/secrets:rotate",
            handler=secrets.rotate,
            name="rotateSecrets",
            needs="administer",
            spans=True,
            summary="seal all secrets with the first key",
            area=AREA,
            answers={200: shapes.SecretsRotated},
            errors=(409,),
        ),
    ]
