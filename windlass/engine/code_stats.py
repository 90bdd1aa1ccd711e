"""How code did, by language: what metrics show, and how long the next one will take by what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.core.events import AttemptFailed, RunEnded, RunEvent, StepSucceeded
from windlass.core.needs import CODE, language_of
from windlass.core.run_model import Run
from windlass.core.spread import Spread
from windlass.core.task import Json
from windlass.core.task_fold import TIMEOUTS

SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
LANGUAGES_MAX: Final = 100  # with numbers of their own: users may name as many as they like
OTHER: Final = "other"
NEWEST: Final = 0.2  # the weight of the newest among all that were measured


@dataclass(slots=True)
class CodeStats:
    total: Counter[tuple[str, str]] = field(default_factory=Counter)  # by language and status
    spreads: dict[str, Spread] = field(default_factory=dict)  # of seconds, by language
    _usual_s: dict[str, float] = field(default_factory=dict)

    def note(self, language: str, status: str, seconds: float | None = None) -> None:
        """One has ended so (completed, failed, timeout, cancelled); `seconds`: if it ran, for how long."""
        name = language if language in self.spreads or len(self.spreads) < LANGUAGES_MAX else OTHER
        spread = self.spreads.setdefault(name, Spread(SECONDS))
        self.total[name, status] += 1
        if seconds is None:
            return
        spread.note(seconds)
        before = self._usual_s.get(name)
        self._usual_s[name] = seconds if before is None else before + NEWEST * (seconds - before)

    def count(self, run: Run, events: Sequence[RunEvent]) -> None:
        """What was kept of a run; attempts that go to another worker have not ended."""
        for event in events:
            match event:
                case StepSucceeded():
                    self._ended(run, run.at(event.step), "completed", event.value)
                case AttemptFailed(failure=failure) if not failure.elsewhere:
                    status = "timeout" if failure.type in TIMEOUTS else "failed"
                    self._ended(run, run.at(event.step), status, event.value)
                case RunEnded(status="cancelled"):
                    for i, state in enumerate(run.steps):
                        if state.phase == "cancelled":
                            self._ended(run, i, "cancelled", None)
                case _:
                    pass

    def _ended(self, run: Run, i: int, status: str, told: Json) -> None:
        step = run.step(i)
        if step.kind == CODE:
            seconds = told.get("timeS") if isinstance(told, dict) else None
            known = isinstance(seconds, int | float)
            self.note(language_of(str(step.with_["language"])), status, seconds if known else None)

    def usual_s(self, language: str) -> float | None:
        """How long one takes, the newest counting most; None: nothing is known."""
        return self._usual_s.get(language)
