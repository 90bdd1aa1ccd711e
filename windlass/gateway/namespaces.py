"""Which namespaces there are, over HTTP: all that have something in them, or the caller's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from windlass.core.roles import EVERYWHERE
from windlass.engine.node import Node
from windlass.engine.reading import in_time
from windlass.gateway import answers, callers
from windlass.gateway.access_shapes import NamespaceItem, Namespaces
from windlass.gateway.routes import API, Route

LISTED_MAX: Final = 1_000
COUNTED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Spaces:
    node: Node

    async def index(self, request: web.Request) -> web.Response:
        own = callers.of(request).namespace
        only = None if own == EVERYWHERE else own
        found = await in_time(self.node.registry.namespaces(only, limit=LISTED_MAX, counted=COUNTED))
        items = [
            NamespaceItem(name=row.name, workflows=row.workflows, open_runs=row.open_runs) for row in found
        ]
        if only is not None and not items:  # nothing is in it yet
            items = [NamespaceItem(name=only, workflows=0, open_runs=0)]
        return answers.json(Namespaces(items=items))


def route(spaces: Spaces) -> Route:
    return Route(
        method="GET",
        path=f"{API}/namespaces",
        handler=spaces.index,
        name="listNamespaces",
        live=True,
        needs="see",
        summary="those that have workflows, runs or tokens, by name; a token of one sees that one",
        area="Access",
        answers={200: Namespaces},
    )
