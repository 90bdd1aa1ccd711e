"""What schedules give their runs, over HTTP: told when it is said, not when the first run is refused."""

from __future__ import annotations

from typing import Any

from tests.gateway.house import ONE_STEP, House
from tests.gateway.test_schedules import ALL, NIGHTLY, in_a_house, put, read


async def change(home: House, document: Any) -> None:
    answer = await home.ask("PUT", f"/api/v1/workflows/{document['id']}", document)
    assert answer.status == 200, answer.text


@in_a_house
async def test_an_input_that_no_run_can_begin_with_is_refused_when_it_is_set_and_when_it_is_fired(
    home: House,
) -> None:
    await change(home, {**ONE_STEP, "inputs": {"day": {"type": "string", "required": True}}})
    unfit = await home.ask("PUT", f"{ALL}/one", {**NIGHTLY, "input": {"day": 5}})
    assert (unfit.status, unfit.json["details"][0]["pointer"]) == (422, "/input/day")
    none = await home.ask("PUT", f"{ALL}/one", NIGHTLY)
    assert none.status == 422 and "`day` (text) is missing" in none.json["details"][0]["message"]
    added = await home.ask("POST", f"{ALL}/add", {"workflowId": "one", "scheduleType": "cron"})
    assert added.status == 400 and "`day` (text) is missing" in added.json["error"]
    assert (await home.ask("GET", ALL)).json["count"] == 0
    await put(home, "one", {**NIGHTLY, "input": {"day": "a"}})
    fired = await home.ask("POST", f"{ALL}/one/trigger", {"input": {"dya": "b"}})
    assert fired.status == 422 and "did you mean `day`" in fired.json["details"][0]["message"]
    await change(home, {**ONE_STEP, "inputs": {"day": "integer"}})
    past = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-03T00:00:00Z"}
    assert (await home.ask("POST", f"{ALL}/one/backfill", past)).status == 422
    assert (await home.ask("POST", f"{ALL}/one/trigger")).status == 422
    assert (await read(home, "one"))["fired"] == 0


@in_a_house
async def test_a_document_whose_schedule_cannot_begin_a_run_is_refused_with_the_place(home: House) -> None:
    inputs = {"inputs": {"day": {"type": "string", "required": True}}}
    for schedule, pointer in ((NIGHTLY, "/schedule/input"), ("@daily", "/schedule/input")):
        answer = await home.ask(
            "POST", "/api/v1/workflows", {**ONE_STEP, "id": "w", **inputs, "schedule": schedule}
        )
        assert (answer.status, answer.json["details"][0]["pointer"]) == (422, pointer), answer.text
    wrong = {**ONE_STEP, "id": "w", **inputs, "schedule": {**NIGHTLY, "input": {"day": 5}}}
    answer = await home.ask("POST", "/api/v1/workflows", wrong)
    assert (answer.status, answer.json["details"][0]["pointer"]) == (422, "/schedule/input/day")
    nodes = [{"id": "a", "nodeType": "noop"}]
    metadata = {"schedule": {"scheduleType": "fixed_rate", "interval": "1h"}}
    drawn = {"id": "w", "nodes": nodes, "metadata": metadata, "windlass": inputs}
    answer = await home.ask("POST", "/api/v1/workflows", drawn)
    assert (answer.status, answer.json["details"][0]["pointer"]) == (422, "/metadata/schedule/input")
    await home.save({**ONE_STEP, "id": "w", **inputs, "schedule": {**NIGHTLY, "enabled": False}})


@in_a_house
async def test_a_graph_that_is_not_finished_is_not_fired(home: House) -> None:
    await home.save({"id": "w", "nodes": [{"id": "a", "nodeType": "noop"}]})
    await put(home, "w", NIGHTLY)
    await change(home, {"id": "w", "nodes": []})
    answer = await home.ask("POST", f"{ALL}/w/trigger")
    assert answer.status == 409 and "has no nodes" in answer.json["message"]
