"""Schedules over HTTP: in the shapes of v0.4, and with all that users need besides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from tests.gateway.access import locked
from tests.gateway.house import ONE_STEP, House, house
from tests.waiting import until_asked
from windlass.core.names import run_key

ALL = "/api/v1/schedules"
NIGHTLY = {"cron": "0 2 * * *", "timezone": "Europe/Berlin"}


def in_a_house(story: Callable[[House], Awaitable[None]]) -> Callable[[], None]:
    async def main() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            await story(home)

    def test() -> None:
        asyncio.run(main())

    test.__name__ = story.__name__
    return test


async def put(home: House, path: str, timetable: Any) -> Any:
    answer = await home.ask("PUT", f"{ALL}/{path}", timetable)
    assert answer.status in (200, 201), answer.text
    return answer.json


async def read(home: House, path: str) -> Any:
    answer = await home.ask("GET", f"{ALL}/{path}")
    assert answer.status == 200, answer.text
    return answer.json


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# As v0.4 has them.


@in_a_house
async def test_a_schedule_that_is_added_is_listed_and_fires(home: House) -> None:
    asked = {"workflowId": "one", "scheduleType": "fixed_rate", "interval": "1s"}
    added = await home.ask("POST", f"{ALL}/add", asked)
    assert added.status == 200
    assert added.json == {
        "message": "Schedule added successfully",
        "workflowId": "one",
        "scheduleType": "fixed_rate",
    }
    listed = (await home.ask("GET", ALL)).json
    assert (listed["schedules"], listed["count"]) == (["one"], 1)

    async def fired() -> bool:
        found = await read(home, "one")
        return bool(found["fired"] and found["last"]["status"] == "succeeded")

    await until_asked(fired)
    shown = await read(home, "one")
    run = shown["history"][-1]["run"]
    assert run.startswith("one:20")
    assert await home.node.store.run(home.node.shard_of(run), run_key(run)) is not None


@in_a_house
async def test_one_that_is_added_fires_though_the_one_before_was_paused(home: House) -> None:
    asked = {"workflowId": "one", "scheduleType": "fixed_rate", "interval": "1h"}
    for interval in ("1h", "1h", "2h"):
        assert (await home.ask("POST", f"{ALL}/add", {**asked, "interval": interval})).status == 200
        assert (await read(home, "one"))["paused"] is False
        await home.ask("POST", f"{ALL}/one/pause")


@in_a_house
async def test_orders_are_answered_as_v04_does(home: House) -> None:
    await home.ask("POST", f"{ALL}/add", {"workflowId": "one", "scheduleType": "cron"})
    assert (await read(home, "one"))["cron"] == "0 0 * * *", "unless it is said"
    for order, done in (("pause", "paused"), ("resume", "resumed"), ("stop", "stopped")):
        answer = await home.ask("POST", f"{ALL}/one/{order}")
        assert answer.status == 200
        assert answer.json == {"message": f"Schedule {done}", "workflowId": "one", "name": "default"}
    assert (await home.ask("GET", ALL)).json == {"schedules": [], "count": 0, "items": [], "next": None}


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        ("fixed_rate", {}, {"every": "1h", "cron": None}),
        ("fixed_delay", {"interval": "30m"}, {"every": "30m", "cron": None}),
        ("cron", {"cronExpression": "0 0 2 * * ?"}, {"every": None, "cron": "0 0 2 * * ?"}),
        ("cron", {"cronExpression": None}, {"every": None, "cron": "0 0 * * *"}),
        ("immediate", {}, {"every": None, "cron": None, "next": []}),
    ],
)
def test_each_type_of_v04_becomes_a_schedule(kind: str, more: Any, expected: Any) -> None:
    async def main() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            asked = {"workflowId": "one", "scheduleType": kind, **more}
            assert (await home.ask("POST", f"{ALL}/add", asked)).status == 200
            shown = await read(home, "one")
            assert {name: shown[name] for name in expected} == expected

    asyncio.run(main())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"workflowId": "one", "scheduleType": "weekly"}, "Unknown schedule type: 'weekly'"),
        ({"workflowId": "one"}, "Unknown schedule type"),
        ({"workflowId": "one", "scheduleType": ["cron"]}, "Unknown schedule type"),
        ({"workflowId": "one", "scheduleType": "fixed_rate", "interval": "often"}, "no duration"),
        ({"workflowId": "one", "scheduleType": "fixed_rate", "interval": "10ms"}, "at least 1s"),
        ({"workflowId": "one", "scheduleType": "fixed_rate", "interval": -1}, "zero or more"),
        ({"workflowId": "one", "scheduleType": "cron", "cronExpression": "61 * * * *"}, "61"),
        ({"workflowId": "one", "scheduleType": "cron", "cronExpression": 7}, "text"),
        ({"scheduleType": "cron"}, "workflowId"),
        ({"workflowId": 1, "scheduleType": "cron"}, "workflowId"),
    ],
)
def test_what_cannot_be_added_is_answered_with_400_and_the_error(asked: Any, words: str) -> None:
    async def main() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            answer = await home.ask("POST", f"{ALL}/add", asked)
            assert answer.status == 400, answer.text
            assert words in answer.json["error"]
            assert (await home.ask("GET", ALL)).json["count"] == 0

    asyncio.run(main())


@in_a_house
async def test_templates_are_those_of_v04_and_each_can_be_added(home: House) -> None:
    templates = (await home.ask("GET", f"{ALL}/templates")).json["templates"]
    whens = [template.get("interval") or template.get("cronExpression") for template in templates]
    assert whens == ["1d", "1h", "30m", "5m", "0 0 * * *", "0 * * * *"]
    for template in templates:
        asked = {name: value for name, value in template.items() if name != "name"}
        assert (await home.ask("POST", f"{ALL}/add", {"workflowId": "one", **asked})).status == 200


@in_a_house
async def test_what_is_not_there_is_404_whatever_is_asked_of_it(home: House) -> None:
    for path in ("nobody", "one", "one/weekly", "nobody/weekly", "a%2Fb"):
        for order in ("pause", "resume", "stop"):
            answer = await home.ask("POST", f"{ALL}/{path}/{order}")
            assert answer.status == 404, f"{path} {order}"
            keyed = await home.ask("POST", f"{ALL}/{path}/{order}", headers={"Idempotency-Key": "k"})
            assert keyed.status == 404, f"{path} {order}"
        assert (await home.ask("GET", f"{ALL}/{path}")).status == 404
        assert (await home.ask("GET", f"{ALL}/{path}/next")).status == 404
        assert (await home.ask("DELETE", f"{ALL}/{path}")).status == 404
        assert (await home.ask("POST", f"{ALL}/{path}/trigger", {})).status == 404
        backfill = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}
        assert (await home.ask("POST", f"{ALL}/{path}/backfill", backfill)).status == 404
    assert (await home.ask("PUT", f"{ALL}/nobody", NIGHTLY)).status == 404
    add = {"workflowId": "nobody", "scheduleType": "cron"}
    unknown = await home.ask("POST", f"{ALL}/add", add)
    assert (unknown.status, unknown.json["workflowId"]) == (404, "nobody")


# Ours.


@in_a_house
async def test_a_schedule_is_made_changed_and_removed(home: House) -> None:
    made = await home.ask("PUT", f"{ALL}/one/nightly", {**NIGHTLY, "labels": {"a": "b"}, "input": {"n": 1}})
    assert made.status == 201
    shown = made.json
    assert (shown["id"], shown["workflow"], shown["name"]) == ("one/nightly", "one", "nightly")
    assert (shown["cron"], shown["every"], shown["timezone"]) == ("0 2 * * *", None, "Europe/Berlin")
    assert (shown["overlap"], shown["catchUp"], shown["source"]) == ("skip", "1h", "api")
    assert (shown["input"], shown["labels"], shown["paused"]) == ({"n": 1}, {"a": "b"}, False)
    assert (shown["openRuns"], shown["runs"], shown["last"], shown["history"]) == (0, [], None, [])
    assert await read(home, "one/nightly") == shown
    changed = await home.ask(
        "PUT", f"{ALL}/one/nightly", {"every": "30m", "overlap": "queue", "catch_up": "2h"}
    )
    assert (changed.status, changed.json["every"], changed.json["cron"]) == (200, "30m", None)
    assert (changed.json["overlap"], changed.json["catchUp"], changed.json["input"]) == ("queue", "2h", None)
    gone = await home.ask("DELETE", f"{ALL}/one/nightly")
    assert gone.json == {"message": "Schedule removed", "workflowId": "one", "name": "nightly"}
    assert (await home.ask("GET", f"{ALL}/one/nightly")).status == 404


@in_a_house
async def test_what_is_read_can_be_sent_back_as_it_came(home: House) -> None:
    whole = {**NIGHTLY, "overlap": "allow", "catch_up": "5m", "end": "2090-01-01T00:00:00Z", "input": [1]}
    made = await put(home, "one", whole)
    assert await put(home, "one", made) == made


@in_a_house
async def test_what_is_said_of_enabled_holds_whoever_paused_or_resumed_it_before(home: House) -> None:
    assert (await put(home, "one", {**NIGHTLY, "enabled": False}))["paused"] is True
    await home.ask("POST", f"{ALL}/one/resume")
    assert (await put(home, "one", NIGHTLY))["paused"] is False
    assert (await put(home, "one", {**NIGHTLY, "enabled": False}))["paused"] is True
    await home.ask("POST", f"{ALL}/one/resume")
    assert (await put(home, "one", {**NIGHTLY, "enabled": False}))["paused"] is True
    assert (await put(home, "one", {**NIGHTLY, "enabled": True}))["paused"] is False
    await home.ask("POST", f"{ALL}/one/pause")
    assert (await put(home, "one", {**NIGHTLY, "overlap": "queue"}))[
        "paused"
    ] is True  # of which nothing is said
    assert (await put(home, "one", {**NIGHTLY, "enabled": True}))["paused"] is False


@in_a_house
async def test_the_next_five_times_are_those_of_the_time_zone(home: House) -> None:
    shown = await put(home, "one", NIGHTLY)
    assert len(shown["next"]) == 5
    assert seconds(shown["next"][0]) - time.time() <= 86_400
    told = await read(home, "one/next")
    assert told["next"] == shown["next"]
    assert all("T02:00:00+0" in local for local in told["local"])
    summer = await read(home, "one/default/next?count=3&after=2026-03-27T12:00:00Z")
    assert summer["next"] == ["2026-03-28T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]
    assert summer["local"][2] == "2026-03-30T02:00:00+02:00"
    for wrong in ("count=0", "count=101", "count=x", "after=soon"):
        assert (await home.ask("GET", f"{ALL}/one/next?{wrong}")).status == 422, wrong


@in_a_house
async def test_a_document_brings_its_own_schedule_along(home: House) -> None:
    await home.save({**ONE_STEP, "id": "own", "schedule": {**NIGHTLY, "enabled": False}})
    shown = await read(home, "own")
    assert (shown["name"], shown["source"], shown["paused"], shown["next"]) == (
        "default",
        "document",
        True,
        [],
    )
    await home.ask("POST", f"{ALL}/own/resume")
    assert len((await read(home, "own"))["next"]) == 5
    assert (await home.ask("DELETE", "/api/v1/workflows/own")).status == 200
    assert (await home.ask("GET", f"{ALL}/own")).status == 404
    assert (await home.ask("GET", ALL)).json["count"] == 0


@in_a_house
async def test_lists_come_in_pages_of_workflows(home: House) -> None:
    for name in ("c", "a", "b"):
        await home.save({**ONE_STEP, "id": name})
        await put(home, name, NIGHTLY)
    await put(home, "a/other", {"every": "1d"})
    first = (await home.ask("GET", f"{ALL}?limit=2")).json
    assert (first["schedules"], first["count"], first["next"]) == (["a", "b"], 2, "b")
    assert [item["id"] for item in first["items"]] == ["a", "a/other", "b"]
    second = (await home.ask("GET", f"{ALL}?limit=2&after=b")).json
    assert (second["schedules"], second["next"]) == (["c"], None)
    of_one = (await home.ask("GET", f"{ALL}?workflow=a")).json
    assert [item["name"] for item in of_one["items"]] == ["default", "other"]
    assert (await home.ask("GET", f"{ALL}?workflow=nobody")).json["items"] == []
    assert (await home.ask("GET", f"{ALL}?limit=0")).status == 422


@in_a_house
async def test_fired_by_hand_it_takes_the_input_that_is_given_or_its_own(home: House) -> None:
    await put(home, "one", {**NIGHTLY, "input": {"day": "own"}, "overlap": "allow"})

    async def input_of(body: Any) -> Any:
        answer = await home.ask("POST", f"{ALL}/one/trigger", body)
        assert (answer.status, answer.json["queued"]) == (200, False), answer.text
        run = (await home.ask("GET", f"/api/v1/runs/{answer.json['runId']}")).json
        assert run["labels"]["schedule"] == "default"
        return run["input"]

    assert await input_of(None) == {"day": "own"}
    assert await input_of({}) == {"day": "own"}
    assert await input_of({"input": {"day": "given"}}) == {"day": "given"}
    assert await input_of({"input": None}) is None
    history = (await read(home, "one"))["history"]
    assert [past["cause"] for past in history] == ["hand"] * 4


@in_a_house
async def test_the_same_key_fires_once(home: House) -> None:
    await put(home, "one", {**NIGHTLY, "overlap": "allow"})
    key = {"Idempotency-Key": "once"}
    told = [await home.ask("POST", f"{ALL}/one/trigger", {}, headers=key) for _ in range(3)]
    assert len({answer.json["runId"] for answer in told}) == 1
    assert (await read(home, "one"))["fired"] == 1


def test_what_overlaps_is_refused_queued_or_allowed() -> None:
    async def main() -> None:
        async with house(lambda task: None) as home:
            await home.save(ONE_STEP)
            await put(home, "one", NIGHTLY)
            first = await home.ask("POST", f"{ALL}/one/trigger", {})
            assert first.json["queued"] is False
            busy = await home.ask("POST", f"{ALL}/one/trigger", {})
            assert busy.status == 409
            assert "still open" in busy.json["message"]
            queued = await home.ask("POST", f"{ALL}/one/trigger", {"overlap": "queue"})
            assert queued.json["queued"] is True
            allowed = await home.ask("POST", f"{ALL}/one/trigger", {"overlap": "allow"})
            assert allowed.json["queued"] is False
            shown = await read(home, "one")
            assert (shown["openRuns"], shown["queued"]) == (2, 1)
            assert set(shown["runs"]) == {first.json["runId"], allowed.json["runId"]}

    asyncio.run(main())


@in_a_house
async def test_a_past_range_is_made_up_for_once(home: House) -> None:
    await put(home, "one", NIGHTLY)
    asked = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-03T23:00:00Z"}
    told = await home.ask("POST", f"{ALL}/one/backfill", {**asked, "dryRun": True})
    times = ["2026-01-01T01:00:00Z", "2026-01-02T01:00:00Z", "2026-01-03T01:00:00Z"]
    assert (told.json["started"], told.json["count"], told.json["times"]) == (False, 3, times)
    assert (await read(home, "one"))["fired"] == 0
    begun = await home.ask("POST", f"{ALL}/one/backfill", asked)
    assert (begun.json["started"], begun.json["times"]) == (True, times)

    async def done() -> bool:
        shown = await read(home, "one")
        return bool(shown["fired"] == 3 and not shown["openRuns"])

    await until_asked(done)
    runs = {item["id"] for item in (await home.ask("GET", "/api/v1/runs")).json["items"]}
    assert runs == {f"one:2026010{day}T010000Z" for day in (1, 2, 3)}


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"start": "yesterday"}, 422, "no time"),
        ({"start": "2026-01-01T00:00:00"}, 422, "time zone"),
        ({"start": 7}, 422, "str"),
        ({"overlap": "skip"}, 422, "skip"),
        ({"dry": True}, 422, "dry"),
        ({"end": "2025-01-01T00:00:00Z"}, 409, "later"),
        ({"end": "2099-01-01T00:00:00Z"}, 409, "past"),
        ({"end": "2026-01-01T00:30:00Z"}, 409, "nothing was due"),
        ({"start": "2000-01-01T00:00:00Z"}, 409, "more than 1000"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(change: Any, status: int, words: str) -> None:
    async def main() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            await put(home, "one", NIGHTLY)
            asked = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-03T00:00:00Z", **change}
            answer = await home.ask("POST", f"{ALL}/one/backfill", asked)
            assert answer.status == status, answer.text
            assert words in answer.text
            assert (await read(home, "one"))["fired"] == 0

    asyncio.run(main())


@in_a_house
async def test_a_preview_tells_times_and_keeps_nothing(home: House) -> None:
    asked = {**NIGHTLY, "count": 2, "after": "2026-06-01T12:00:00Z"}
    told = await home.ask("POST", f"{ALL}/preview", asked)
    assert told.json == {
        "timezone": "Europe/Berlin",
        "next": ["2026-06-02T00:00:00Z", "2026-06-03T00:00:00Z"],
        "local": ["2026-06-02T02:00:00+02:00", "2026-06-03T02:00:00+02:00"],
    }
    assert len((await home.ask("POST", f"{ALL}/preview", {"every": "30m"})).json["next"]) == 5
    assert (await home.ask("GET", ALL)).json["count"] == 0


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({}, ""),
        ({"cron": "0 2 * * *", "every": "1h"}, ""),
        ({"cron": "0 25 * * *"}, "/cron"),
        ({"cron": 7}, "/cron"),
        ({"every": "0s"}, "/every"),
        ({"every": "1h", "timezone": "Europe/Berln"}, "/timezone"),
        ({"every": "1h", "overlap": "never"}, "/overlap"),
        ({"every": "1h", "catch_up": "x"}, "/catch_up"),
        ({"every": "1h", "start": "soon"}, "/start"),
        ({"every": "1h", "enabled": "yes"}, "/enabled"),
        ({"every": "1h", "labels": {"a": 1}}, "/labels/a"),
        ({"every": "1h", "evry": "1h"}, "/evry"),
        ([], ""),
    ],
)
def test_faults_of_a_schedule_have_their_place_when_it_is_kept_and_in_a_preview(
    given: Any, pointer: str
) -> None:
    async def main() -> None:
        async with house() as home:
            await home.save(ONE_STEP)
            for method, path in (("PUT", "one"), ("PUT", "one/x"), ("POST", "preview")):
                answer = await home.ask(method, f"{ALL}/{path}", given)
                assert answer.status == 422, answer.text
                assert [fault["pointer"] for fault in answer.json["details"]] == [pointer]
            assert (await home.ask("GET", ALL)).json["count"] == 0

    asyncio.run(main())


@in_a_house
async def test_bodies_and_names_that_make_no_sense_are_refused(home: House) -> None:
    json = {"Content-Type": "application/json"}
    assert (await home.ask("PUT", f"{ALL}/one", data=b"{", headers=json)).status == 400
    assert (await home.ask("POST", f"{ALL}/add", data=b"{", headers=json)).status == 400
    assert (
        await home.ask("PUT", f"{ALL}/one", data=b"x", headers={"Content-Type": "text/plain"})
    ).status == 415
    yaml = {"Content-Type": "application/yaml"}
    assert (await home.ask("PUT", f"{ALL}/one", data=b"every: 1h", headers=yaml)).status == 201
    for name in ("next", "a%20b", "x" * 51):
        assert (await home.ask("PUT", f"{ALL}/one/{name}", {"every": "1h"})).status == 422, name
    for count in (0, 101, True, "5"):
        answer = await home.ask("POST", f"{ALL}/preview", {"every": "1h", "count": count})
        assert answer.status == 422, count
    assert (await home.ask("POST", f"{ALL}/one/trigger", {"input": "x" * 70_000})).status == 413
    assert (await home.ask("POST", f"{ALL}/one/trigger", {"inputs": 1})).status == 422
    assert (await home.ask("POST", f"{ALL}/one/trigger", {"overlap": "x"})).status == 422


@in_a_house
async def test_the_same_workflow_in_two_namespaces_has_two_schedules(home: House) -> None:
    theirs = {"X-Windlass-Namespace": "team"}
    await home.ask("POST", "/api/v1/workflows", ONE_STEP, headers=theirs)
    assert (await home.ask("PUT", f"{ALL}/one", {"every": "1h"}, headers=theirs)).status == 201
    assert (await home.ask("GET", f"{ALL}/one")).status == 404
    assert (await home.ask("GET", ALL)).json["count"] == 0
    listed = (await home.ask("GET", ALL, headers=theirs)).json
    assert listed["schedules"] == ["one"]


def test_who_may_only_start_runs_may_fire_but_not_change() -> None:
    async def main() -> None:
        async with locked() as here:
            admin, reader = await here.token("admin"), await here.token("read")
            submit = await here.token("submit")
            await here.ask(admin, "POST", "/api/v1/workflows", ONE_STEP)
            assert (await here.ask(admin, "PUT", f"{ALL}/one", NIGHTLY)).status == 201
            assert (await here.ask(reader, "GET", ALL)).json["count"] == 1
            assert (await here.ask(reader, "POST", f"{ALL}/preview", NIGHTLY)).status == 200
            assert (await here.ask(reader, "POST", f"{ALL}/one/trigger", {})).status == 403
            assert (await here.ask(submit, "POST", f"{ALL}/one/trigger", {})).status == 200
            for method, path in (("PUT", "one"), ("DELETE", "one"), ("POST", "one/pause"), ("POST", "add")):
                assert (await here.ask(submit, method, f"{ALL}/{path}", NIGHTLY)).status == 403

    asyncio.run(main())
