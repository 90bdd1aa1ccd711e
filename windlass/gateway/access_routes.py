"""The rows of the table of routes that are about who may come in, and who did what."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from windlass.gateway import access_shapes as shapes
from windlass.gateway import namespaces, parameters
from windlass.gateway.audit import Audit
from windlass.gateway.namespaces import Spaces
from windlass.gateway.routes import API, FOUND, SENT, Parameter, Route
from windlass.gateway.shapes import Page
from windlass.gateway.tokens import Tokens

AREA: Final = "Access"


def table(tokens: Tokens, audit: Audit) -> list[Route]:
    return [*_tokens(tokens), *_login(tokens), _audit(audit), namespaces.route(Spaces(tokens.node))]


def _tokens(tokens: Tokens) -> list[Route]:
    return [
        Route(
            method="POST",
            path=f"{API}/tokens",
            handler=tokens.create,
            name="createToken",
            needs="administer",
            summary="make a token; it is shown this once",
            area=AREA,
            body=shapes.TokenWanted,
            answers={201: shapes.TokenMade},
            errors=SENT,
        ),
        Route(
            method="GET",
            path=f"{API}/tokens",
            handler=tokens.index,
            name="listTokens",
            needs="administer",
            summary="all tokens, and when each was used last",
            area=AREA,
            answers={200: Page[shapes.TokenItem]},
        ),
        Route(
            method="DELETE",
            path=f"{API}/tokens/{{token}}",
            handler=tokens.revoke,
            name="revokeToken",
            needs="administer",
            summary="refuse a token from now on, on every node within a second",
            area=AREA,
            answers={200: shapes.TokenItem},
            errors=FOUND,
        ),
    ]


def _login(tokens: Tokens) -> list[Route]:
    return [
        Route(
            method="POST",
            path=f"{API}/login",
            handler=tokens.login,
            name="login",
            needs="open",
            forgives=True,
            summary="keep a token in a cookie, for pages",
            area=AREA,
            body=shapes.Login,
            answers={200: shapes.Whoami},
            errors=SENT,
        ),
        Route(
            method="POST",
            path=f"{API}/logout",
            handler=tokens.logout,
            name="logout",
            needs="open",
            forgives=True,
            summary="forget that cookie",
            area=AREA,
            answers={200: shapes.Whoami},
        ),
        Route(
            method="GET",
            path=f"{API}/whoami",
            handler=tokens.whoami,
            name="whoami",
            needs="open",
            summary="who I am here, and what I may speak of",
            area=AREA,
            answers={200: shapes.Whoami},
        ),
    ]


def _audit(audit: Audit) -> Route:
    return Route(
        method="GET",
        path=f"{API}/audit",
        handler=audit.index,
        name="readAudit",
        needs="administer",
        summary="who did what, newest first; ?who= &act= &thing= &since= &failed=true &before=",
        area=AREA,
        answers={200: Page[shapes.AuditItem]},
        parameters=(
            Parameter("who", str, "how the name of who did it begins"),
            Parameter("act", str, "the name of a route"),
            Parameter("thing", str, "as kind/id"),
            Parameter("of", str, "only of this namespace"),
            Parameter("since", str, "ISO 8601, or seconds or milliseconds since 1970"),
            Parameter("until", str, "the same"),
            Parameter("failed", bool, "only what was refused or went wrong"),
            Parameter("limit", parameters.Limit, "at most so many; 100 unless it is said"),
            Parameter(
                "before",
                Annotated[int, Meta(ge=1, le=parameters.NUMBER_MAX)],
                "what `next` of the page before said",
            ),
        ),
    )
