"""`-i K=V`, as the workflow that is there declares its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from windlass.cli.values import typed
from windlass.core import graph
from windlass.core.errors import NotFound
from windlass.core.faults import Faults
from windlass.core.task import Json
from windlass.sdk.client import Client


def given(server: Client, workflow: str, said: Mapping[str, str]) -> dict[str, Json]:
    """A text stays a text where one is wanted, also one that reads as a number."""
    return typed(said, declared(server, workflow)) if said else {}


def declared(server: Client, workflow: str) -> dict[str, Json]:
    """The inputs of a workflow that is there already; if it is not, whoever starts it will be told."""
    try:
        document = server.workflow(workflow)
    except NotFound:
        return {}
    inputs = graph.meant(document, Faults()).document.get("inputs")
    return inputs if isinstance(inputs, dict) else {}
