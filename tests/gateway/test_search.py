"""Searches over HTTP: runs by the beginning of an id or a part of a workflow's; workflows page by page."""

import asyncio
from urllib.parse import quote

from tests.gateway.house import House, house
from windlass.core.task import Json

RUNS, WORKFLOWS = "/api/v1/runs", "/api/v1/workflows"


def workflow(ident: str, **more: Json) -> dict[str, Json]:
    return {"id": ident, "steps": {"only": {"kind": "noop"}}, **more}


async def found(home: House, query: str) -> list[str]:
    answer = await home.ask("GET", f"{RUNS}?{query}")
    assert answer.status == 200, answer.json
    return [run["id"] for run in answer.json["items"]]


def test_runs_are_found_by_the_beginning_of_their_id_and_by_a_part_of_their_workflow() -> None:
    async def play() -> None:
        async with house() as home:
            for ident in ("Night.Report", "orders"):
                await home.save(workflow(ident))
            for ident, run in (("Night.Report", "a-1"), ("orders", "a-2"), ("orders", "b-1")):
                body = {"runId": run, "labels": {"team": run[0]}}
                await home.ask("POST", f"{WORKFLOWS}/{ident}/execute?wait=5s", body)
            assert await found(home, "search=a-") == ["a-2", "a-1"]
            assert await found(home, "search=A-") == []
            assert await found(home, "search=-1") == []
            assert await found(home, "search=night.r") == ["a-1"]
            assert await found(home, "search=ORDER&label=team=b") == ["b-1"]
            assert await found(home, "search=a-&workflow=orders&status=succeeded") == ["a-2"]
            assert await found(home, "search=") == ["b-1", "a-2", "a-1"]
            for odd in ("%", "_", "'", '"', "\\", "*", "\0", "ß", "工"):
                assert await found(home, f"search={quote(odd)}") == [], odd
            first = (await home.ask("GET", f"{RUNS}?search=orders&limit=1")).json
            assert [run["id"] for run in first["items"]] == ["b-1"]
            assert await found(home, f"search=orders&limit=1&after={first['next']}") == ["a-2"]

    asyncio.run(play())


def test_a_search_that_is_too_long_is_refused_with_its_length() -> None:
    async def play() -> None:
        async with house() as home:
            for path in (RUNS, WORKFLOWS):
                assert (await home.ask("GET", f"{path}?search={'x' * 200}")).status == 200
                answer = await home.ask("GET", f"{path}?search={'x' * 201}")
                assert answer.status == 422
                assert answer.json["message"] == "`search`: at most 200 characters, found 201"

    asyncio.run(play())


def test_a_page_of_workflows_has_what_a_list_shows() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(workflow("b", name="Bees", description="Counts them"))
            await home.save({"id": "a", "steps": [{"id": "x", "kind": "noop"}, {"id": "y", "kind": "noop"}]})
            await home.save(workflow("c", schedule={"every": "1h"}))
            await home.save(workflow("d", schedule={"every": "1h"}))
            await home.ask("POST", "/api/v1/schedules/d/pause")
            for run in ("first", "second"):
                await home.ask("POST", f"{WORKFLOWS}/b/execute?wait=5s", {"runId": run})
            page = (await home.ask("GET", f"{WORKFLOWS}?limit=2")).json
            assert [item["id"] for item in page["items"]] == ["a", "b"]
            a, b = page["items"]
            assert (a["steps"], a["lastRun"], a["nextTime"], a["schedulePaused"]) == (2, None, None, False)
            assert (b["name"], b["description"], b["version"]) == ("Bees", "Counts them", 1)
            (newest,) = (await home.ask("GET", f"{RUNS}?workflow=b&limit=1")).json["items"]
            assert b["lastRun"] == newest
            rest = (await home.ask("GET", f"{WORKFLOWS}?limit=2&after={page['next']}")).json
            assert ([item["id"] for item in rest["items"]], rest["next"]) == (["c", "d"], None)
            c, d = rest["items"]
            due = (await home.ask("GET", "/api/v1/schedules?workflow=c")).json["items"][0]["next"][0]
            assert (c["nextTime"], c["schedulePaused"]) == (due, False)
            assert (d["nextTime"], d["schedulePaused"]) == (None, True)

    asyncio.run(play())


def test_workflows_are_found_by_words_of_their_id_name_and_description() -> None:
    async def play() -> None:
        async with house() as home:
            await home.save(workflow("nightly-report", name="Nightly", description="Sums up a day"))
            await home.save(workflow("etl", description="Loads orders"))
            await home.save({"id": "drawn", "nodes": [], "edges": [], "name": "A day drawn"})
            for words, ids in {
                "DAY nightly": ["nightly-report"],
                "day": ["drawn", "nightly-report"],
                "orders": ["etl"],
                "orders day": [],
                " ": ["drawn", "etl", "nightly-report"],
            }.items():
                page = (await home.ask("GET", f"{WORKFLOWS}?search={quote(words)}")).json
                assert [item["id"] for item in page["items"]] == ids, words
            assert isinstance((await home.ask("GET", WORKFLOWS)).json, list)

    asyncio.run(play())


def test_pages_of_found_workflows_show_each_once() -> None:
    async def play() -> None:
        async with house() as home:
            for n in range(7):
                await home.save(workflow(f"w{n}", name="even" if n % 2 == 0 else "odd"))
            seen, after = list[str](), ""
            while True:
                page = (await home.ask("GET", f"{WORKFLOWS}?limit=2&search=even&after={after}")).json
                seen += [item["id"] for item in page["items"]]
                if (after := page["next"]) is None:
                    break
            assert seen == ["w0", "w2", "w4", "w6"]

    asyncio.run(play())
