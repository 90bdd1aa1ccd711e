"""Runs over HTTP: start, wait, read, list, follow, stop."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.gateway.house import NO_GRANTS, ONE_STEP, House, finish, house
from windlass.core.errors import Unavailable, Unknown
from windlass.core.names import run_key
from windlass.core.orders import Purge, Sleep, Strand
from windlass.core.task import Failure, Json, Outcome, Success, Task
from windlass.engine.node import NodeSettings

RUNS = "/api/v1/runs"
EXECUTE = "/api/v1/workflows/one/execute"
SLOW = {"id": "slow", "steps": {"a": {"kind": "shell", "with": {"command": "x"}}}}
JSON_TYPE = {"Content-Type": "application/json"}


def play(
    scene: Callable[[House], Awaitable[None]],
    work: Callable[[Task], Outcome | None] = finish,
    settings: NodeSettings | None = None,
) -> None:
    async def whole() -> None:
        async with house(work, settings=settings) as home:
            await scene(home)

    asyncio.run(whole())


@pytest.mark.accepts("S0.29")
def test_execute_starts_a_run_and_names_it_in_the_words_of_v05() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        answer = await home.ask("POST", EXECUTE)
        assert answer.status == 200
        assert answer.json["executionId"] == answer.json["runId"]
        assert answer.json["executionId"].startswith("exec_")
        assert answer.json["message"] == "Workflow execution started"
        assert (answer.json["workflowId"], answer.json["version"]) == ("one", 1)
        assert answer.json["status"] == "started"
        assert answer.json["startTime"].endswith("Z")
        read = await home.ask("GET", f"{RUNS}/{answer.json['runId']}")
        assert (read.status, read.json["startedAt"]) == (200, answer.json["startTime"])

    play(scene)


def test_who_waits_gets_the_result() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = await home.execute("one", wait="10s")
        assert (run["status"], run["output"], run["error"]) == ("succeeded", {"only": 42}, None)
        assert run["endTime"] >= run["startTime"]

    play(scene)


def test_who_waits_for_a_failure_hears_why() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = await home.execute("one")
        assert run["status"] == "failed"
        assert run["error"] == {"type": "ValueError", "message": "no", "step": "only"}

    play(scene, lambda task: Failure("ValueError", "no"))


def test_who_waits_too_short_hears_that_it_runs() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        run = await home.execute("slow", wait="10ms")
        assert (run["status"], run["output"], run["endTime"]) == ("running", None, None)

    play(scene)


def test_a_wait_goes_on_after_a_gap_in_the_news() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        waiting = asyncio.create_task(home.execute("slow"))
        task = await home.hands.taken.get()
        home.node.followers.gap(lambda key: True)
        home.hands.finish(task, Success("done"))
        assert (await waiting)["output"] == {"a": "done"}

    play(scene)


def test_an_end_that_was_missed_is_found_after_a_gap() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        waiting = asyncio.create_task(home.execute("slow"))
        task = await home.hands.taken.get()
        tell = home.node.followers.tell
        home.node.followers.tell = lambda *_: None  # type: ignore[method-assign]  # news get lost
        await home.node.report(home.hands.id, task, Success("done"), home.node.clock.now())
        home.node.followers.tell = tell  # type: ignore[method-assign]
        home.node.followers.gap(lambda key: True)
        assert (await waiting)["status"] == "succeeded"

    play(scene)


def test_when_the_door_closes_those_who_wait_hear_what_is_known() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        waiting = asyncio.create_task(home.execute("slow", wait="5m"))
        await home.hands.taken.get()
        async with asyncio.timeout(5):
            await home.close_door()
            assert (await waiting)["status"] == "running"

    play(scene)


def test_the_same_id_and_request_start_once_and_answer_the_same() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        body = {"runId": "mine", "input": {"b": 1, "a": [2]}, "labels": {"team": "x"}, "priority": 3}
        turned = {"priority": 3, "labels": {"team": "x"}, "input": {"a": [2], "b": 1}, "runId": "mine"}
        first, again = await home.ask("POST", EXECUTE, body), await home.ask("POST", EXECUTE, turned)
        assert (first.status, again.status, again.json) == (200, 200, first.json)
        assert first.json["executionId"] == "mine"
        waited = await home.execute("one", body)
        assert (waited["status"], waited["output"]) == ("succeeded", {"only": 42})
        assert len((await home.ask("GET", RUNS)).json["items"]) == 1

    play(scene)


@pytest.mark.parametrize(
    "other", [{"input": 2}, {"context": {"a": 1}}, {"priority": 1}, {"labels": {"a": "b"}}, {"version": 1}]
)
def test_the_same_id_with_another_request_is_a_conflict(other: dict[str, Json]) -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "one", "steps": {"only": {"kind": "noop"}}})
        await home.ask("PUT", "/api/v1/workflows/one", ONE_STEP)
        await home.execute("one", {"runId": "mine"})
        answer = await home.ask("POST", EXECUTE, {"runId": "mine", **other})
        assert answer.status == 409

    play(scene)


def test_an_idempotency_key_names_the_run() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        key = {"Idempotency-Key": "order 4711"}
        first = await home.ask("POST", EXECUTE, headers=key)
        again = await home.ask("POST", EXECUTE, headers=key)
        other = await home.ask("POST", EXECUTE, headers={"Idempotency-Key": "order 4712"})
        conflict = await home.ask("POST", EXECUTE, {"input": 1}, headers=key)
        assert again.json == first.json
        assert other.json["runId"] != first.json["runId"]
        assert conflict.status == 409

    play(scene)


def test_the_newest_version_runs_unless_another_is_asked_for() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        await home.ask("PUT", "/api/v1/workflows/one", {"steps": {"two": {"kind": "noop"}}})
        assert (await home.execute("one"))["output"] == {"two": None}
        assert (await home.execute("one", {"version": 1}))["output"] == {"only": 42}
        missing = await home.ask("POST", EXECUTE, {"version": 3})
        assert missing.status == 404

    play(scene)


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        ({"inptu": 1}, "/inptu", "did you mean `input`?"),
        ({"context": [1]}, "/context", "expected an object"),
        ({"labels": {"a": 1}}, "/labels/a", "put it in quotes"),
        ({"priority": 101}, "/priority", "from -100 to 100"),
        ({"runId": "a b"}, "/runId", "letters, digits"),
        ({"runId": ""}, "/runId", "use 1 to 200"),
        ([], "", "an object"),
        ({"input": {"deep": ["\0"]}}, "/input/deep/0", "NUL"),
        ({"context": {"a": 2**80}}, "/context/a", "64 bit"),
    ],
)
def test_what_is_wrong_with_a_request_is_told_with_its_place(body: Json, pointer: str, words: str) -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        answer = await home.ask("POST", EXECUTE, body)
        assert answer.status == 422
        (detail,) = answer.json["details"]
        assert detail["pointer"] == pointer
        assert words in detail["message"]
        assert (await home.ask("GET", RUNS)).json["items"] == []

    play(scene)


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b'{"input": NaN}', 422, "NaN is no JSON; write null"),
        (b'{"input": "\\ud800"}', 422, "lone surrogate"),
        (b'{"input": 1, "input": 2, "x": 1}', 422, "`input` is given twice"),
        (b'{"input": ' + b"[" * 70 + b"]" * 70 + b"}", 422, "nested deeper"),
        (b'{"input": ' + b"[" * 70_000 + b"]" * 70_000 + b"}", 422, "nested deeper"),
        (b'{"input": "\xff"}', 400, "no UTF-8"),
        (b'{"input": ', 400, "this is no JSON"),
        (b"input=1", 400, "this is no JSON"),
    ],
)
def test_a_body_that_no_store_could_keep_or_that_is_no_json(data: bytes, status: int, words: str) -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        answer = await home.ask("POST", EXECUTE, data=data, headers=JSON_TYPE)
        assert answer.status == status, answer.text
        assert words in answer.json["details"][0]["message"]

    play(scene)


def test_numbers_and_backslashes_that_only_look_bad_are_taken() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        good = {"text": "\\u0000 and 99999999999999999999", "max": 2**63 - 1, "float": 9.5e18}
        deep: Json = []
        for _ in range(60):
            deep = [deep, "]]}}"]
        run = await home.execute("one", {"input": {**good, "deep": deep}})
        read = (await home.ask("GET", f"{RUNS}/{run['runId']}")).json
        assert read["input"] == {**good, "deep": deep}

    play(scene)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"context": {"a": "x" * 300_000}}, "`context` takes 300008 bytes"),
        ({"input": "x" * 8_400_000}, "8388608"),
        ({"input": "x" * 10_000_000}, "larger than this server takes"),
        ({"labels": {"a": "x" * 20_000}}, "`labels`"),
    ],
)
def test_what_is_too_large_says_how_large_it_may_be(body: Json, words: str) -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        answer = await home.ask("POST", EXECUTE, body)
        assert (answer.status, answer.json["error"]) == (413, "Too large")
        assert words in answer.json["message"]

    play(scene)


def test_an_input_of_eight_megabytes_is_taken() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        assert (await home.execute("one", {"input": ["x" * 1000] * 8_000}))["status"] == "succeeded"

    play(scene)


@pytest.mark.parametrize("query", ["wait=6m", "wait=soon", "wait=-1s"])
def test_a_wait_has_a_limit_and_a_unit(query: str) -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        answer = await home.ask("POST", f"{EXECUTE}?{query}")
        assert answer.status == 422
        assert "wait" in answer.json["message"]

    play(scene)


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [(Unknown("it may have happened"), 504, None), (Unavailable("try again", 2.4), 503, "3")],
)
def test_what_may_have_happened_is_never_told_as_not_decided(
    error: Exception, status: int, retry_after: str | None
) -> None:
    async def scene(home: House) -> None:
        async def fail(*_: object, **__: object) -> None:
            raise error

        await home.save(ONE_STEP)
        home.node.router.send = fail  # type: ignore[assignment]
        answer = await home.ask("POST", EXECUTE)
        assert (answer.status, answer.headers.get("Retry-After")) == (status, retry_after)
        assert ("runId" in answer.json) == (status == 504)  # with it, asking again is safe

    play(scene)


def test_a_run_shows_its_steps() -> None:
    async def scene(home: House) -> None:
        await home.save(
            {
                "id": "three",
                "steps": {
                    "a": {"kind": "noop", "with": {"value": [1]}},
                    "b": {"kind": "shell", "with": {"command": "x"}, "needs": ["a"]},
                    "c": {"kind": "noop", "needs": ["b"]},
                },
            }
        )
        body = {"input": {"day": 1}, "context": {"k": "v"}, "labels": {"team": "x"}, "priority": 2}
        run = (await home.execute("three", body, wait=None))["runId"]
        await home.hands.taken.get()
        view = (await home.ask("GET", f"{RUNS}/{run}")).json
        assert (view["id"], view["workflow"], view["version"], view["status"]) == (run, "three", 1, "running")
        assert {name: view[name] for name in body} == body
        assert (view["endedAt"], view["durationSeconds"], view["output"], view["error"]) == (None,) * 4
        a, b, c = view["steps"]
        assert (a["id"], a["kind"], a["status"], a["output"], a["attempts"]) == (
            "a",
            "noop",
            "succeeded",
            [1],
            1,
        )
        assert (a["worker"], b["status"] in ("queued", "running"), b["needs"]) == ("hands", True, ["a"])
        assert (c["status"], c["attempts"], c["startedAt"]) == ("waiting", 0, None)
        assert sum(view["counts"].values()) == 3

    play(scene)


def test_a_run_that_nobody_started_is_not_found() -> None:
    async def scene(home: House) -> None:
        for method, path in [
            ("GET", ""),
            ("GET", "/events"),
            *(("POST", f"/{w}") for w in ("cancel", "pause")),
        ]:
            answer = await home.ask(method, f"{RUNS}/nobody{path}")
            assert (answer.status, answer.json["error"]) == (404, "Run not found")
            assert answer.json["runId"] == "nobody"

    play(scene)


def test_a_run_is_paused_resumed_and_cancelled() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        run = (await home.execute("slow", wait=None))["runId"]
        await home.hands.taken.get()
        pause = await home.ask("POST", f"{RUNS}/{run}/pause")
        assert (pause.status, pause.json) == (200, {"id": run, "status": "paused"})
        assert (await home.ask("GET", f"{RUNS}/{run}")).json["pausedAt"] is not None
        assert (await home.ask("POST", f"{RUNS}/{run}/resume")).json["status"] == "running"
        cancel = await home.ask("POST", f"{RUNS}/{run}/cancel", {"reason": "wrong day"})
        assert cancel.json == {"id": run, "status": "cancelled"}
        assert (await home.hands.stopped.get())[1:] == (run, "a", 1)
        view = (await home.ask("GET", f"{RUNS}/{run}")).json
        assert view["error"] == {"type": "Cancelled", "message": "wrong day"}
        late = await home.ask("POST", f"{RUNS}/{run}/pause")
        assert (late.status, "already ended" in late.json["message"]) == (409, True)

    play(scene)


def test_one_idempotency_key_serves_different_commands() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        run = (await home.execute("slow", wait=None))["runId"]
        key = {"Idempotency-Key": "k"}
        statuses = [
            (await home.ask("POST", f"{RUNS}/{run}/{word}", headers=key)).json["status"]
            for word in ("pause", "resume", "pause", "cancel", "cancel")
        ]
        assert statuses == ["paused", "running", "running", "cancelled", "cancelled"]

    play(scene)


def test_a_reason_that_is_no_text_is_refused() -> None:
    async def scene(home: House) -> None:
        await home.save(SLOW)
        run = (await home.execute("slow", wait=None))["runId"]
        answer = await home.ask("POST", f"{RUNS}/{run}/cancel", {"reason": 1, "why": "x"})
        assert answer.status == 422
        assert [detail["pointer"] for detail in answer.json["details"]] == ["/why", "/reason"]

    play(scene)


def test_runs_are_listed_newest_first_page_by_page() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        ids = [(await home.execute("one", {"labels": {"n": str(i % 2)}}))["runId"] for i in range(5)]
        seen: list[str] = []
        after = ""
        while True:
            page = (await home.ask("GET", f"{RUNS}?limit=2{after}")).json
            seen += [item["id"] for item in page["items"]]
            if page["next"] is None:
                break
            after = f"&after={page['next']}"
        assert seen == ids[::-1]
        odd = (await home.ask("GET", f"{RUNS}?label=n=1&workflow=one&status=succeeded")).json["items"]
        assert [item["id"] for item in odd] == [ids[3], ids[1]]
        assert odd[0].keys() >= {"id", "workflow", "version", "status", "startedAt", "endedAt", "labels"}
        for nothing in ("workflow=two", "status=failed", "label=n=2"):
            assert (await home.ask("GET", f"{RUNS}?{nothing}")).json == {"items": [], "next": None}

    play(scene)


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=1001", "status=done", "label=x", "after=???"])
def test_a_list_that_makes_no_sense_is_refused(query: str) -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", f"{RUNS}?{query}")
        assert answer.status == 422
        assert f"`{query.partition('=')[0]}`" in answer.json["message"]

    play(scene)


def test_the_events_of_a_run_are_read_page_by_page() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = (await home.execute("one"))["runId"]
        first = (await home.ask("GET", f"{RUNS}/{run}/events?limit=3")).json
        rest = (await home.ask("GET", f"{RUNS}/{run}/events?limit=3&after={first['next']}")).json
        assert [event["seq"] for event in first["items"] + rest["items"]] == [1, 2, 3, 4]
        assert (first["next"], rest["next"], rest["purged"]) == (3, None, False)
        types = [event["type"] for event in first["items"] + rest["items"]]
        assert types == ["RunStarted", "StepQueued", "StepSucceeded", "RunEnded"]
        done = first["items"][2]
        assert (done["step"], done["attempt"], done["value"], done["worker"]) == ("only", 1, 42, "hands")
        assert done["at"].endswith("Z") and done["startedAt"].endswith("Z")

    play(scene, settings=NO_GRANTS)


def test_more_events_than_one_read_takes_come_in_order() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "wide", "steps": {f"s{i}": {"kind": "noop"} for i in range(40)}})
        run = (await home.execute("wide"))["runId"]
        page = (await home.ask("GET", f"{RUNS}/{run}/events?limit=1000")).json
        assert [event["seq"] for event in page["items"]] == list(range(1, 83))
        assert page["next"] is None

    play(scene, settings=NO_GRANTS)


def test_a_page_of_large_events_ends_early() -> None:
    async def scene(home: House) -> None:
        steps = {f"s{i}": {"kind": "noop", "needs": [f"s{i - 1}"] if i else []} for i in range(40)}
        await home.save({"id": "heavy", "steps": steps})
        run = (await home.execute("heavy"))["runId"]
        page = (await home.ask("GET", f"{RUNS}/{run}/events?limit=1000")).json
        assert len(page["items"]) < 82
        assert page["next"] == page["items"][-1]["seq"]

    play(scene, lambda task: Success("x" * 1_000_000))


def test_the_events_of_one_step_are_found_among_those_of_all_page_by_page() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "wide", "steps": {f"s{i}": {"kind": "noop"} for i in range(300)}})
        run = (await home.execute("wide"))["runId"]
        page = (await home.ask("GET", f"{RUNS}/{run}/events?step=s299")).json
        assert [event["type"] for event in page["items"]] == ["StepQueued", "StepSucceeded"]
        assert {event["step"] for event in page["items"]} == {"s299"}
        assert (page["next"], page["purged"]) == (None, False)
        first = (await home.ask("GET", f"{RUNS}/{run}/events?step=s299&limit=1")).json
        rest = (await home.ask("GET", f"{RUNS}/{run}/events?step=s299&after={first['next']}")).json
        assert first["items"] + rest["items"] == page["items"]
        assert (await home.ask("GET", f"{RUNS}/{run}/events?step=none")).json["items"] == []

    play(scene, settings=NO_GRANTS)


def test_looking_for_the_events_of_one_step_ends_early_where_events_are_large() -> None:
    async def scene(home: House) -> None:
        steps = {f"s{i}": {"kind": "noop", "needs": [f"s{i - 1}"] if i else []} for i in range(40)}
        await home.save({"id": "heavy", "steps": steps})
        run = (await home.execute("heavy"))["runId"]
        found, after, pages = list[str](), 0, 0
        while after is not None:
            page = (await home.ask("GET", f"{RUNS}/{run}/events?step=s39&after={after}")).json
            found += [event["type"] for event in page["items"]]
            after, pages = page["next"], pages + 1
        assert found == ["StepQueued", "StepSucceeded"]
        assert pages > 4

    play(scene, lambda task: Success("x" * 1_000_000), NO_GRANTS)


def test_a_purged_run_is_shown_by_its_row() -> None:
    async def scene(home: House) -> None:
        await home.save(ONE_STEP)
        run = (await home.execute("one", {"labels": {"team": "x"}}))["runId"]
        await home.node.router.send(run_key(run), Purge())
        view = await home.ask("GET", f"{RUNS}/{run}")
        assert view.status == 200
        assert (view.json["status"], view.json["purged"], view.json["steps"]) == ("succeeded", True, [])
        assert view.json["labels"] == {"team": "x"}
        events = await home.ask("GET", f"{RUNS}/{run}/events")
        assert (events.status, events.json) == (200, {"items": [], "next": None, "purged": True})

    play(scene)


def test_a_stuck_run_says_what_holds_it_up() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "later", "steps": {"a": {"kind": "wait", "with": {"for": "1h"}}}})
        run = (await home.execute("later", wait=None))["runId"]
        await home.node.router.send(run_key(run), Sleep())
        await home.node.router.send(run_key(run), Strand("KeyError: 'x'"))
        view = await home.ask("GET", f"{RUNS}/{run}")
        assert (view.status, view.json["status"]) == (200, "stuck")
        assert view.json["error"] == {"type": "Stuck", "message": "KeyError: 'x'"}
        assert [step["id"] for step in view.json["steps"]] == ["a"]
        cancel = await home.ask("POST", f"{RUNS}/{run}/cancel")
        assert (cancel.status, cancel.json["error"]) == (409, "Stuck")

    play(scene)


def test_a_stuck_run_that_cannot_even_be_read_is_shown_by_its_row() -> None:
    async def scene(home: House) -> None:
        async def fail(*_: object) -> None:
            raise KeyError("x")

        await home.save({"id": "later", "steps": {"a": {"kind": "wait", "with": {"for": "1h"}}}})
        run = (await home.execute("later", wait=None))["runId"]
        await home.node.router.send(run_key(run), Sleep())
        await home.node.router.send(run_key(run), Strand("KeyError: 'x'"))
        home.node.store.load = fail  # type: ignore[method-assign, assignment]
        view = await home.ask("GET", f"{RUNS}/{run}")
        assert (view.status, view.json["status"], view.json["steps"]) == (200, "stuck", [])

    play(scene)


def test_a_fault_of_ours_is_told_without_its_insides_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(home: House) -> None:
        async def fail(*_: object) -> None:
            raise RuntimeError("secret")

        home.node.store.runs = fail  # type: ignore[assignment]
        answer = await home.ask("GET", RUNS, headers={"X-Request-Id": "abc-1"})
        assert (answer.status, answer.json["error"]) == (500, "Internal error")
        assert "secret" not in answer.text
        assert answer.json["requestId"] == answer.headers["X-Request-Id"] == "abc-1"

    play(scene)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.exc_info is not None and "secret" in str(record.exc_info[1])


def test_a_path_or_method_that_does_not_exist_is_answered_in_json() -> None:
    async def scene(home: House) -> None:
        missing = await home.ask("GET", "/api/v2/everything")
        assert (missing.status, missing.json["error"]) == (404, "Not found")
        wrong = await home.ask("PATCH", RUNS)
        assert (wrong.status, wrong.headers["Allow"]) == (405, "GET,HEAD")
        assert missing.headers["X-Request-Id"] != wrong.headers["X-Request-Id"]

    play(scene)


@pytest.mark.accepts("S0.71")
def test_the_probes_tell_a_live_process_from_one_that_has_joined() -> None:
    async def scene(home: House) -> None:
        ready = await home.ask("GET", "/health/ready")
        assert (ready.status, ready.text) == (200, "ready\n")
        home.node.ready.clear()
        live, starting = await home.ask("GET", "/health/live"), await home.ask("GET", "/health/ready")
        assert (live.status, starting.status, starting.text) == (200, 503, "starting\n")
        home.node.ready.set()
        home.node.committer.tally.busy = "disk is full"
        busy = await home.ask("GET", "/health/ready", headers={"Accept": "application/json"})
        assert (busy.status, busy.json) == (503, {"status": "journal busy: disk is full"})
        assert (await home.ask("GET", "/health/live")).status == 200

    play(scene)


def test_the_root_lists_every_path() -> None:
    async def scene(home: House) -> None:
        answer = await home.ask("GET", "/")
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/plain")
        for path in ("/api/v1/workflows/{workflow}/execute", "/health/ready", "/metrics"):
            assert path in answer.text
        assert (await home.ask("HEAD", "/")).status == 200

    play(scene)
