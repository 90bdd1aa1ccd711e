"""Ids on the command line: what they are called, and how a shell completes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from windlass.cli.screen import clean
from windlass.cli.shared import named_ca, named_namespace, named_server, token
from windlass.core.errors import WindlassError
from windlass.core.task import Json
from windlass.sdk.client import DEFAULT_URL, Client

ASK_S: Final = 1.0  # a shell waits for this; better nothing than late
RUNS_SHOWN: Final = 100


class _Id(StringParamType):
    """Text. Completed by asking the server, silently: whoever presses the tab key wants no errors."""

    def __init__(
        self, name: str, ask: Callable[[Client], list[tuple[str, str]]], *, file: bool = False
    ) -> None:
        self.name = name
        self._ask = ask
        self._file = file

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        files = [CompletionItem(incomplete, type="file")] if self._file else []
        try:
            with Client(
                named_server(ctx) or DEFAULT_URL,
                ASK_S,
                patience_s=0.0,
                busy_s=0.0,
                ca=named_ca(ctx),
                token=token(),
                namespace=named_namespace(ctx),
            ) as server:
                found = self._ask(server)
        except (WindlassError, LookupError, TypeError):
            return files
        items = [CompletionItem(id, help=clean(about)) for id, about in found if id.startswith(incomplete)]
        return files + items


def _workflows(server: Client) -> list[tuple[str, str]]:
    answer: Json = server.workflows()
    items = answer["items"] if isinstance(answer, dict) else answer
    return [(str(item["id"]), str(item.get("description") or "")) for item in items]


def _runs(server: Client) -> list[tuple[str, str]]:
    items = server.runs(limit=RUNS_SHOWN)["items"]
    return [(item["id"], f"{item['workflow']} {item['status']}") for item in items]


def _workers(server: Client) -> list[tuple[str, str]]:
    return [(item["id"], f"{item['state']} at {item['node']}") for item in server.workers()["items"]]


RUN: Final = _Id("run", _runs)
WORKER: Final = _Id("worker", _workers)
WORKFLOW: Final = _Id("workflow", _workflows)
FILE_OR_WORKFLOW: Final = _Id("workflow", _workflows, file=True)
