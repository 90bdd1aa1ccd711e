"""A run as it goes: from its events to the lines that people read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rich.text import Text

from windlass.cli.screen import between, clean, moment, short, took
from windlass.core.task import Json

NAMES_SHOWN: Final = 3


@dataclass(slots=True)
class Progress:
    """What is known of a run from the events seen so far."""

    steps: int  # how many the workflow has
    ended: str = ""  # the run's outcome, once it has one
    done: int = 0
    paused: bool = False
    _at_work: dict[str, Json] = field(default_factory=dict)  # step → when it started, or was queued
    _failed: dict[str, str] = field(default_factory=dict)  # step → how its last attempt failed

    def note(self, event: dict[str, Json]) -> Text | None:
        """Take an event in; the line to print for it, if it is worth one."""
        step, at = str(event.get("step", "")), event["at"]
        match event["type"]:
            case "StepQueued" | "StepGranted" | "WaitStarted" as kind:
                self._at_work[step] = at
                if kind == "WaitStarted":
                    return _line("…", "dim", step, f"waits until {_time(event.get('due'))}")
            case "StepSucceeded":
                self.done += 1
                lasted = self._lasted(step, event)
                # Of thousands of items, those are told that went wrong.
                return None if _is_item(step) else _line("✓", "green", step, took(lasted))
            case "StepSkipped":
                self.done += 1
                return None if _is_item(step) else _line("↷", "dim", step, f"skipped: {event.get('reason')}")
            case "StepAwaits":
                self._at_work[step] = at
                until = f" until {_time(event['due'])}" if event.get("due") else ""
                return _line(
                    "…", "yellow", step, f"waits for somebody{until}; `windlass explain` says for whom"
                )
            case "ChildStarted":
                self._at_work[step] = at
                return _line("…", "dim", step, f"began the run {event.get('run')}")
            case "MapStarted":
                count = len(event.get("items") or [])
                self.steps += count
                self._at_work[step] = at
                return _line("…", "dim", step, f"{count:,} item{'s' * (count != 1)}")
            case "TurnStarted":
                self.steps += 1
                self._at_work[step] = at
            case "UndoStarted":
                self._at_work.clear()
                return _line("↶", "yellow", "undo", "what was done is taken back")
            case "AttemptFailed":
                # What follows tells what comes of it: another attempt, or the step's failure.
                self._failed[step] = f"attempt {event.get('attempt')}: {_words(event)}"
            case "RetryScheduled":
                self._at_work.pop(step, None)
                words = self._failed.pop(step, "")
                return _line("↻", "yellow", step, f"{words}; tries again at {_time(event.get('due'))}")
            case "AttemptLost":
                self._at_work.pop(step, None)  # what follows tells whether it starts again
                return _line("↻", "yellow", step, f"its worker is gone: {event.get('reason')}")
            case "StepParked":
                words = f"parked: {event.get('reason')}; `windlass release` lets it go on"
                return _line("‖", "yellow", step, words)
            case "StepFailed":
                self.done += 1
                self._at_work.pop(step, None)
                self._failed.pop(step, None)
                return _line("✗", "red", step, f"{_words(event)}{_policy(event)}")
            case "RunPaused":
                self.paused = True
                return _line("‖", "yellow", "paused", "`windlass resume` lets it go on")
            case "RunResumed":
                self.paused = False
                return _line("▶", "cyan", "resumed", "")
            case "RunEnded":
                self.ended = str(event.get("status"))
        return None

    def summary(self) -> str:
        """What is going on right now, in a few words."""
        names = list(self._at_work)
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        state = "paused" if self.paused else ", ".join(names[:NAMES_SHOWN]) + more or "waiting"
        return f"{state} ({self.done} of {self.steps} done)"

    def _lasted(self, step: str, event: dict[str, Json]) -> float | None:
        started = event.get("startedAt") or self._at_work.get(step)
        self._at_work.pop(step, None)
        return between(started, event["at"])


def _is_item(step: str) -> bool:
    return step.endswith("]")


def _line(sign: str, style: str, step: str, words: str) -> Text:
    return Text.assemble(("  " + sign + " ", style), f"{step:<24} ", (clean(words), "dim"))


def _words(event: dict[str, Json]) -> str:
    failure = event.get("failure") or {}
    return short(f"{failure.get('type', 'failed')}: {failure.get('message', '')}", 100)


def _policy(event: dict[str, Json]) -> str:
    return {"skip": " (skipped: the run goes on)", "fallback": " (its fallback takes over)"}.get(
        str(event.get("policy")), ""
    )


def _time(value: Json) -> str:
    at = moment(value)
    return f"{at:%H:%M:%S}" if at else "later"
