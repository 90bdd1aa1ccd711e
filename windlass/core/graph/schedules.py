"""`metadata.schedule` of a graph as the `schedule` of a document of steps, and back."""

from __future__ import annotations

from typing import Final, NamedTuple

from windlass.core.faults import Faults, found
from windlass.core.fields import Fields
from windlass.core.graph.places import Places
from windlass.core.task import Json

AT: Final = "/metadata/schedule"
TYPES: Final = ("fixed_rate", "fixed_delay", "cron", "immediate")


class Said(NamedTuple):
    """A schedule as graphs say it."""

    type: str
    enabled: bool
    interval: str = ""
    cron: str = ""


def read(document: dict[str, Json], faults: Faults) -> Said | None:
    """None if there is none. One that is switched off may be incomplete."""
    metadata = document.get("metadata")
    given = metadata.get("schedule") if isinstance(metadata, dict) else None
    if given is None:
        return None
    if not isinstance(given, dict):
        faults.add(
            AT,
            "expected an object such as {scheduleType: cron, cronExpression: '0 2 * * *'}, "
            f"found {found(given)}",
        )
        return None
    present = {key: value for key, value in given.items() if value is not None}
    enabled = present.get("enabled", True)
    if enabled in ("true", "false"):
        enabled = enabled == "true"
    fields = Fields(present, AT, faults, present)
    if not isinstance(enabled, bool):
        fields.wrong("enabled", f"expected true or false, found {found(enabled)}")
        return None
    return _read(fields, enabled)


def _read(fields: Fields, enabled: bool) -> Said | None:
    quiet = Fields(fields.given, fields.at, fields.faults if enabled else Faults(), fields.given)
    if not quiet.has("scheduleType"):
        quiet.missing("scheduleType", f"write one of {', '.join(TYPES)}")
    kind = quiet.choice("scheduleType", TYPES)
    key, example = ("cronExpression", "0 2 * * *") if kind == "cron" else ("interval", "30m")
    if kind is None or kind == "immediate":
        return Said("immediate", enabled)
    if not quiet.has(key):
        quiet.missing(key, f'write e.g. {key}: "{example}"')
    value = quiet.given.get(key)
    # How often, in seconds, may be a number.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else quiet.text(key, "text")
    if text is None:
        return None
    return Said(kind, enabled, cron=text) if kind == "cron" else Said(kind, enabled, interval=text)


def meant(said: Said, places: Places) -> dict[str, Json] | None:
    """The same in the words of a document of steps; None for what is started by hand."""
    if said.type == "immediate":
        return None
    places.put("/schedule", AT)
    places.put("/schedule/every", f"{AT}/interval")
    places.put("/schedule/cron", f"{AT}/cronExpression")
    when: dict[str, Json] = {"cron": said.cron} if said.type == "cron" else {"every": said.interval}
    return when if said.enabled else {**when, "enabled": False}


def drawn(schedule: Json) -> dict[str, Json] | None:
    """A schedule of a document of steps as graphs say it; None if they have no words for it."""
    given = {"cron": schedule} if isinstance(schedule, str) and " " in schedule.strip() else schedule
    if not isinstance(given, dict):
        return None
    enabled = given.get("enabled", True)
    when = {key: value for key, value in given.items() if key != "enabled"}
    if not isinstance(enabled, bool) or not all(isinstance(value, str) for value in when.values()):
        return None
    match list(when):
        case ["cron"]:
            return {"enabled": enabled, "scheduleType": "cron", "cronExpression": when["cron"]}
        case ["every"]:
            return {"enabled": enabled, "scheduleType": "fixed_rate", "interval": when["every"]}
        case _:
            return None
