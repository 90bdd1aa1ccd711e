"""A schedule: every night at two in Berlin, summer and winter.

windlass up examples/nightly.py
windlass schedule list
windlass run nightly -i day=2026-01-01
windlass schedule backfill nightly 2026-01-01T00:00:00Z 2026-01-08T00:00:00Z

A run that was missed because nothing ran at that time is made up for within six hours. One that still runs
when the next is due makes that one be skipped.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from windlass import StepContext, step, workflow


@step
def which(ctx: StepContext, day: str) -> str:
    """The day that is meant: the one before the run was due, however late it comes; or what was asked for.

    `ctx` comes first, and is no argument: it says which run, step and attempt this is.
    """
    due = ctx.labels.get("scheduled_at")
    at = datetime.fromisoformat(due) if due else datetime.now(UTC)
    return day or str(at.date() - timedelta(days=1))


@step(retries=3, backoff="1m")
def count(ctx: StepContext, day: str) -> int:
    print(f"{ctx.workflow}, attempt {ctx.attempt}: counting {day}")
    return date.fromisoformat(day).toordinal() % 100


@workflow(
    schedule={"cron": "0 2 * * *", "timezone": "Europe/Berlin", "overlap": "skip", "catch_up": "6h"},
    deadline="4h",
)
def nightly(day: str = "") -> dict[str, object]:
    meant = which(day)
    return {"day": meant, "visitors": count(meant)}
