"""How a run went, as tests look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from windlass.core.task import Json


@dataclass(frozen=True, slots=True)
class StepResult:
    status: str
    output: Json
    attempts: int
    error: Json


@dataclass(frozen=True, slots=True)
class RunResult:
    """`output` is the workflow's, `error` says why it failed, `took` is the time that passed for the run."""

    status: str
    output: Json
    error: Json
    took: timedelta
    steps: dict[str, StepResult]
    events: list[dict[str, Json]] = field(repr=False)
    view: dict[str, Json] = field(repr=False)  # the run as the API shows it

    @property
    def ok(self) -> bool:
        return self.status == "succeeded"


def result_of(view: dict[str, Json], events: list[dict[str, Json]], took_s: float) -> RunResult:
    return RunResult(
        status=view["status"],
        output=view["output"],
        error=view["error"],
        took=timedelta(seconds=round(took_s, 3)),
        steps={step["id"]: _step(step) for step in view["steps"]},
        events=events,
        view=view,
    )


def _step(step: dict[str, Json]) -> StepResult:
    return StepResult(
        status=step["status"],
        output=step["output"],
        attempts=step["attempts"],
        error=step["error"],
    )
