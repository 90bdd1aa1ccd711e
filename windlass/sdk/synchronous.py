"""The client with what programs that have workflows in Python want of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from windlass.core.task import Json
from windlass.core.vocabulary import ENDED
from windlass.sdk.authoring import typed
from windlass.sdk.authoring.workflows import Workflow
from windlass.sdk.client import Applied, Client, new_run_id

LOOK_S, LOOK_MAX_S = 0.02, 1.0
# A stuck run has not ended, but nothing more happens before a person looks at it.
OVER: Final = frozenset({*ENDED, "stuck"})

AnyWorkflow = Workflow[..., Any]  # Any: of any types


class NotInTime(TimeoutError):
    """The run has not ended within the time. It goes on."""


@dataclass(slots=True)
class SyncClient(Client):
    """`Client(…).sync()`: the same requests for programs without an event loop. Not for several threads."""

    def save(self, workflow: AnyWorkflow | Mapping[str, Json]) -> Applied:
        """Create the workflow, or make this its next version if it differs from the newest.

        Those that it calls as functions are saved before it.
        """
        if not isinstance(workflow, Workflow):
            return self._save(workflow)
        documents, todo = dict[str, Mapping[str, Json]](), [workflow]
        while todo:
            one = todo.pop()
            documents[one.id], children = one.compiled()
            todo += [child for name, child in children.items() if name not in documents]
        *_, saved = [self._save(document) for document in reversed(documents.values())]
        return saved

    def _save(self, document: Mapping[str, Json]) -> Applied:
        body = json.dumps(dict(document), ensure_ascii=False).encode()
        return self.apply(str(document.get("id", "")), body, "application/json")

    def begin(
        self,
        workflow: AnyWorkflow | str,
        input: Json = None,
        *,
        run_id: str | None = None,
        priority: int = 0,
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """Start a run of a workflow that is kept there, and answer its id.

        The input may hold what annotations know: dataclasses, dates and so on.
        """
        ident = workflow.id if isinstance(workflow, Workflow) else workflow
        run = run_id or new_run_id(ident)
        self.start(ident, run_id=run, input=typed.write(input), priority=priority, labels=labels)
        return run

    def wait(self, run: str, *, within_s: float | None = None) -> Json:
        """The run, once it has ended or is stuck. Raises NotInTime."""
        give_up_at = None if within_s is None else self.clock() + within_s
        pause_s = LOOK_S
        while True:
            seen = self.run(run)
            if seen["status"] in OVER:
                return seen
            if give_up_at is not None and self.clock() >= give_up_at:
                raise NotInTime(f"run {run} is still {seen['status']} after {within_s:g} s; it goes on")
            self.sleep(pause_s)
            pause_s = min(pause_s * 1.5, LOOK_MAX_S)
