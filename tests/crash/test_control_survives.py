"""Runs that wait for others, repeat, take back and share limits, under an engine that is killed again and
again: each of them ends as it should, what has ended is not done once more, and no limit is exceeded."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.core.errors import Refused, Unavailable, Unknown
from windlass.core.task import Json
from windlass.sdk.client import Client

# What is aimed at, one kill each: a run of this workflow is to be in the middle of it.
AIMS = ("parent", "asks", "maps", "polls", "saga", "seats")
KILLS = len(AIMS)
BEGUN = dict.fromkeys(AIMS, 1) | {"seats": 4, "calls": 4}  # runs, before each kill
WITHIN_S = 60.0
ITEMS, TURNS, SEATS, PER_SECOND = 12, 5, 2, 3
TOLD = 'echo "$WINDLASS_RUN $WINDLASS_STEP {what} $(date +%s.%N)" >> "$0"'

Step = tuple[str, str]  # run, step


class Mark(NamedTuple):
    run: str
    step: str
    what: str  # begin, end
    at: float


@dataclass
class Seen:
    """What is on disk while no engine is there."""

    at: float
    ended: Counter[Step]
    begun: Counter[Step]
    in_the_middle: set[str]  # workflows


@dataclass
class Story:
    data: Path
    crashes: list[Seen] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.data.parent / "marks.txt"

    def marks(self) -> list[Mark]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [Mark(run, step, what, float(at)) for run, step, what, at in map(str.split, lines)]

    def begun(self) -> Counter[Step]:
        return Counter((mark.run, mark.step) for mark in self.marks() if mark.what == "begin")

    def has_made(self, marks: int) -> bool:
        return len(self.marks()) >= marks

    def rows(self, question: str) -> list[Any]:  # Any: as SQLite gives them
        file = f"file:{quote(str(self.data / 'windlass.db'))}?mode=ro"
        with closing(sqlite3.connect(file, uri=True, timeout=10)) as cx:
            return cx.execute(question).fetchall()

    def look(self) -> Seen:
        done = "SELECT entity, body ->> '$.step' FROM events WHERE type = 'StepSucceeded'"
        ended = Counter((entity.split("/", 2)[2], step) for entity, step in self.rows(done))
        caught = {name for name in AIMS for run in runs_of(name) if self.is_amid(name, run)}
        return Seen(time.time(), ended, self.begun(), caught)

    def is_amid(self, workflow: str, run: str) -> bool:
        """Whether the run has begun what this workflow is about, and has not ended it."""
        asked = f"SELECT type, body ->> '$.step' FROM events WHERE entity = 'run/default/{run}'"
        facts: Counter[tuple[str, str]] = Counter(map(tuple, self.rows(asked)))
        ended = Counter(step.partition("[")[0] for type, step in facts if type == "StepSucceeded")
        match workflow:
            case "parent":
                return ("ChildStarted", "call") in facts and ("ChildEnded", "call") not in facts
            case "asks":
                return ("StepAwaits", "ask") in facts and not ended["ask"]
            case "maps":
                return 2 <= ended["each"] < ITEMS
            case "polls":
                return 2 <= ended["poll"] < TURNS
            case "saga":
                return ended["undo:c"] > ended["undo:a"]
            case _:
                return bool(facts) and not any(type == "PermitGranted" for type, _ in facts)  # it waits

    def all_settled(self) -> bool:
        return self.rows("SELECT count(*) FROM runs WHERE settled = 0") == [(0,)]

    def events(self, entity: str, type: str) -> list[dict[str, Any]]:
        asked = f"SELECT body FROM events WHERE entity = '{entity}' AND type = '{type}' ORDER BY seq"
        return [json.loads(body) for (body,) in self.rows(asked)]

    # What the runs do.

    def step(self, ms: int = 40, *needs: str, **more: Json) -> dict[str, Json]:
        begin, end = TOLD.format(what="begin"), TOLD.format(what="end")
        work = ["sh", "-c", f"{begin}; sleep {ms / 1000}; {end}", str(self.file)]
        return {"kind": "shell", "with": {"argv": work}, "needs": list(needs), **more}

    def body(self, ms: int) -> dict[str, Json]:
        """The same without a place in a graph: what is repeated, or what takes back."""
        return {key: value for key, value in self.step(ms).items() if key != "needs"}

    def documents(self) -> dict[str, dict[str, Json]]:
        each = {"over": list(range(ITEMS)), "max_parallel": 2, "step": self.body(60)}
        turns = {"until": f"index == {TURNS - 1}", "max": 9, "delay": "200ms", "step": self.body(30)}
        undo = {"undo": self.body(400)}
        steps: dict[str, dict[str, Json]] = {
            "child": {"work": self.step(1_500)},
            "parent": {
                "first": self.step(),
                "call": {"kind": "workflow", "with": {"workflow": "child"}, "needs": ["first"]},
                "last": self.step(40, "call"),
            },
            "asks": {
                "first": self.step(),
                "ask": {"kind": "approval", "with": {"prompt": "?"}, "needs": ["first"]},
                "last": self.step(40, "ask"),
            },
            "maps": {"each": {"kind": "map", "with": each}, "last": self.step(40, "each")},
            "polls": {"poll": {"kind": "loop", "with": turns}, "last": self.step(40, "poll")},
            "saga": {
                "a": self.step(40, **undo),
                "b": self.step(40, "a", **undo),
                "c": self.step(40, "b", **undo),
                "boom": {"kind": "shell", "with": {"argv": ["false"]}, "needs": ["c"]},
            },
            "seats": {"sit": self.step(500)},
            "calls": {"call": self.step(20, rate={"key": "api", "limit": PER_SECOND, "per": "1s"})},
        }
        made: dict[str, dict[str, Json]] = {
            name: {"id": name, "steps": found} for name, found in steps.items()
        }
        made["seats"]["concurrency"] = {"key": "seat", "limit": SEATS}
        made["tick"] = {
            "id": "tick",
            "steps": {"only": {"kind": "noop"}},
            "schedule": {"every": "1s", "catch_up": "1h", "overlap": "allow"},
        }
        return made


def runs_of(workflow: str, round: int | None = None) -> list[str]:
    rounds = range(KILLS) if round is None else [round]
    return [f"{workflow}-{n}-{m}" for n in rounds for m in range(BEGUN[workflow])]


def begin(client: Client, story: Story, round: int) -> None:
    """One more of each; the one that is aimed at last, so that nobody is late to see it."""
    if round == 0:
        for name, document in story.documents().items():
            client.apply(name, json.dumps(document).encode(), "application/json")
    for workflow in sorted(BEGUN, key=AIMS[round].__eq__):
        for run in runs_of(workflow, round):
            client.start(workflow, run_id=run)


def approve(client: Client, run: str) -> bool:
    """True: it is decided. It does not wait for that yet, or is being opened: ask again."""
    if any(step["id"] == "ask" and step["status"] == "succeeded" for step in client.run(run)["steps"]):
        return True
    try:
        client.approve(run, "ask")
    except (Refused, Unavailable, Unknown):
        return False
    return True


def test_whatever_runs_were_in_the_middle_of_goes_on_over_several_kills(tmp_path: Path) -> None:
    story = Story(tmp_path / "data")
    for n, aim in enumerate(AIMS):
        with serving(story.data, "--slots", "8") as (up, client):
            # Given runs in the middle of everything, one of them for certain
            if n:
                (asking,) = runs_of("asks", n - 1)
                wait_until(partial(approve, client, asking), WITHIN_S)
            begin(client, story, n)
            wait_until(partial(story.is_amid, aim, runs_of(aim, n)[-1]), WITHIN_S)
            # When the engine is killed, and started again on the same data
            up.stop(signal.SIGKILL)  # only that one pid, and no word of warning
        story.crashes.append(story.look())
    with serving(story.data, "--slots", "8") as (_, client):
        client.pause_schedule("tick")
        wait_until(partial(approve, client, runs_of("asks")[-1]), WITHIN_S)
        wait_until(lambda: client.schedule("tick")["openRuns"] == 0, WITHIN_S)
        wait_until(story.all_settled, WITHIN_S)
        seen = {run: client.run(run) for workflow in BEGUN for run in runs_of(workflow)}
        limits = client.limits()["items"]
    # Then every run has ended as it should,
    wanted = {run: "failed" if run.startswith("saga") else "succeeded" for run in seen}
    assert {run: view["status"] for run, view in seen.items()} == wanted
    # nothing that was recorded as ended before a kill was done again after it,
    last = story.look()
    assert set(last.ended.values()) == {1}
    for crash in story.crashes:
        again = [step for step in crash.ended if last.begun[step] != crash.begun[step]]
        assert again == [], f"recorded as ended, and yet done again: {again}"
    assert {name for crash in story.crashes for name in crash.in_the_middle} == set(AIMS)
    assert any(count > 1 for count in last.begun.values()), "no step was cut off: the kills prove nothing"
    # and each kind has kept its promise.
    check_children(story, seen)
    check_repeats(seen, last)
    check_undone(story, seen)
    check_limits(story, limits)
    check_schedule(story)


def check_children(story: Story, seen: dict[str, Any]) -> None:
    """One for each parent, whatever happened between."""
    meant = [
        step["childRun"] for run in runs_of("parent") for step in seen[run]["steps"] if step["id"] == "call"
    ]
    there = [run for (run,) in story.rows("SELECT id FROM runs WHERE workflow = 'child'")]
    assert len(there) == KILLS and sorted(there) == sorted(meant)


def check_repeats(seen: dict[str, Any], last: Seen) -> None:
    for workflow, step, count in (("maps", "each", ITEMS), ("polls", "poll", TURNS)):
        for run in runs_of(workflow):
            made = {view["id"]: view["status"] for view in seen[run]["steps"] if view["of"] == step}
            assert made == {f"{step}[{n}]": "succeeded" for n in range(count)}
            assert all(last.begun[run, name] for name in made)


def check_undone(story: Story, seen: dict[str, Any]) -> None:
    """All of it, the last first, and the next only when the one before had ended."""
    for run in runs_of("saga"):
        views = {view["id"]: view["status"] for view in seen[run]["steps"]}
        assert [views[f"undo:{step}"] for step in "abc"] == ["succeeded"] * 3
        marks = [mark for mark in story.marks() if mark.run == run and mark.step.startswith("undo:")]
        for earlier, later in (("undo:c", "undo:b"), ("undo:b", "undo:a")):
            ends = [mark.at for mark in marks if (mark.step, mark.what) == (earlier, "end")]
            begins = [mark.at for mark in marks if (mark.step, mark.what) == (later, "begin")]
            assert max(ends) <= min(begins)


def check_limits(story: Story, limits: list[dict[str, Any]]) -> None:
    moments: list[tuple[float, int]] = []
    marks = [mark for mark in story.marks() if mark.step == "sit"]
    for mark in marks:
        if mark.what == "begin":
            ends = [crash.at for crash in story.crashes if crash.at > mark.at]
            ends += [
                end.at for end in marks if end.what == "end" and end.run == mark.run and end.at > mark.at
            ]
            moments += [(mark.at, 1), (min(ends), -1)]
    at_once = most = 0
    for _, change in sorted(moments):
        at_once += change
        most = max(most, at_once)
    assert most == SEATS
    given = [event["at"] for event in story.events("limit/default/rate:api", "PermitGiven")]
    assert len(given) >= len(runs_of("calls"))
    assert all(later - earlier >= 1.0 for earlier, later in zip(given, given[PER_SECOND:], strict=False))
    assert {(limit["held"], limit["waiting"]) for limit in limits} <= {(0, 0)}


def check_schedule(story: Story) -> None:
    """Every second from the first to the last has its run, and only one."""
    dues = [event["due"] for event in story.events("workflow/default/tick", "Fired")]
    assert dues == [dues[0] + n for n in range(len(dues))] and len(dues) > KILLS
    runs = dict(story.rows("SELECT id, status FROM runs WHERE workflow = 'tick'"))
    assert runs == {f"tick:{datetime.fromtimestamp(due, UTC):%Y%m%dT%H%M%SZ}": "succeeded" for due in dues}
