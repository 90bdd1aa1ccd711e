"""The part of the client that steers runs: signals, approvals, and a run once more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from windlass.core.task import Json
from windlass.sdk.sending import Sending, encoded, path_to

RUNS: Final = "runs"


class _Same:
    """Stands for the input of the old run."""

    def __repr__(self) -> str:
        return "SAME"


SAME: Final = _Same()


class Steering(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    def signal(self, run: str, name: str, data: Json = None, *, key: str | None = None) -> Json:
        """Send a run what a step waits for, or will wait for: {id, status}. The same `key` sends it once."""
        body = encoded({"name": name, "data": data})
        return self._send("POST", path_to(RUNS, run, "signal"), body, key=key)

    def approve(self, run: str, step: str, *, comment: str = "") -> Json:
        """Say yes to a step that waits for approval: the step as it is then."""
        return self._send("POST", path_to(RUNS, run, "steps", step, "approve"), _comment(comment))

    def reject(self, run: str, step: str, *, comment: str = "") -> Json:
        """Say no: the step fails with `Rejected`."""
        return self._send("POST", path_to(RUNS, run, "steps", step, "reject"), _comment(comment))

    def rerun(
        self,
        run: str,
        *,
        from_: Sequence[str] = (),  # these run again, and all that comes after them
        patch: Mapping[str, Json] | None = None,  # results to take instead of running a step
        skip: Sequence[str] = (),
        input: Json | _Same = SAME,
        version: int | None = None,
        run_id: str | None = None,
        key: str | None = None,
    ) -> Json:
        """Run it once more, as a new run that shares what came before: {runId, rerunOf, kept, …}.

        Without `from_`, what did not end well runs again; with another input, everything does.
        """
        asked: dict[str, Json] = {"from": list(from_), "patch": dict(patch or {}), "skip": list(skip)}
        asked = {name: value for name, value in asked.items() if value}
        asked |= {} if isinstance(input, _Same) else {"input": input}
        asked |= {} if version is None else {"version": version}
        asked |= {} if run_id is None else {"runId": run_id}
        return self._send("POST", path_to(RUNS, run, "rerun"), encoded(asked), key=key)

    def steps(
        self, run: str, *, of: str | None = None, status: str | None = None, after: int = 0, limit: int = 1000
    ) -> Json:
        """One page of its steps, also those made while it goes on: {items, next}."""
        asked = {"of": of, "status": status, "after": after, "limit": limit}
        return self._send("GET", path_to(RUNS, run, "steps"), query=asked)

    def all_steps(
        self, run: str, *, of: str | None = None, status: str | None = None
    ) -> Iterator[dict[str, Json]]:
        """Every step that there is now."""
        following: int | None = 0
        while following is not None:
            page = self.steps(run, of=of, status=status, after=following)
            yield from page["items"]
            following = page["next"]

    def schema(self) -> Json:
        """The JSON Schema of workflow documents, for editors."""
        return self._send("GET", path_to("schema"))


def _comment(words: str) -> bytes:
    return encoded({"comment": words} if words else {})
