"""The part of the client that is about schedules: when workflows run by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windlass.core.task import Json
from windlass.sdk.sending import Sending, encoded, path_to

SCHEDULES: Final = "schedules"
DEFAULT: Final = "default"  # the one that a document can bring along


class _Own:
    """Stands for the schedule's own input."""

    def __repr__(self) -> str:
        return "OWN"


OWN: Final = _Own()


class Schedules(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    def schedules(self, *, workflow: str | None = None, limit: int = 100, after: str | None = None) -> Json:
        """One page, by the ids of workflows: {items: [{id, workflow, name, next, …}], next}."""
        query = {"workflow": workflow, "limit": limit, "after": after}
        return self._send("GET", path_to(SCHEDULES), query=query)

    def schedule(self, workflow: str, name: str = DEFAULT) -> Json:
        """{id, cron, every, timezone, paused, next, openRuns, last, history, …}."""
        return self._send("GET", path_to(SCHEDULES, workflow, name))

    def set_schedule(self, workflow: str, timetable: Mapping[str, Json], name: str = DEFAULT) -> Json:
        """Make it, or change it: {cron: "0 2 * * *", timezone: Europe/Berlin}, or {every: 30m}."""
        return self._send("PUT", path_to(SCHEDULES, workflow, name), encoded(dict(timetable)))

    def delete_schedule(self, workflow: str, name: str = DEFAULT) -> Json:
        return self._send("DELETE", path_to(SCHEDULES, workflow, name))

    def pause_schedule(self, workflow: str, name: str = DEFAULT) -> Json:
        return self._send("POST", path_to(SCHEDULES, workflow, name, "pause"), b"{}")

    def resume_schedule(self, workflow: str, name: str = DEFAULT) -> Json:
        """What was due meanwhile is not made up for."""
        return self._send("POST", path_to(SCHEDULES, workflow, name, "resume"), b"{}")

    def trigger_schedule(
        self,
        workflow: str,
        name: str = DEFAULT,
        *,
        input: Json | _Own = OWN,
        overlap: str | None = None,  # skip, queue or allow; None: as the schedule says
        key: str | None = None,
    ) -> Json:
        """Fire now: {runId, queued}. The same `key` fires once."""
        asked: dict[str, Json] = {} if isinstance(input, _Own) else {"input": input}
        asked |= {} if overlap is None else {"overlap": overlap}
        return self._send("POST", path_to(SCHEDULES, workflow, name, "trigger"), encoded(asked), key=key)

    def backfill_schedule(
        self,
        workflow: str,
        start: str,  # 2026-01-01T00:00:00Z
        end: str,
        name: str = DEFAULT,
        *,
        dry_run: bool = False,
        overlap: str = "allow",  # many at once; queue: one after another
    ) -> Json:
        """Fire for all times that were due in a past range: {count, times}. `dry_run`: only say which."""
        asked = {"start": start, "end": end, "dryRun": dry_run, "overlap": overlap}
        return self._send("POST", path_to(SCHEDULES, workflow, name, "backfill"), encoded(asked))

    def next_times(
        self, workflow: str, name: str = DEFAULT, *, count: int = 5, after: str | None = None
    ) -> Json:
        """When it is due: {timezone, next, local}."""
        return self._send(
            "GET", path_to(SCHEDULES, workflow, name, "next"), query={"count": count, "after": after}
        )

    def preview_schedule(
        self, timetable: Mapping[str, Json], *, count: int = 5, after: str | None = None
    ) -> Json:
        """When it would be due; nothing is kept."""
        asked = {**timetable, "count": count, "after": after}
        return self._send("POST", path_to(SCHEDULES, "preview"), encoded(asked), key="")
