"""The log of who did what."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.gateway.access import Locked, locked
from tests.gateway.house import ONE_STEP, house
from tests.waiting import until_asked
from windlass.core.task import Json
from windlass.gateway.audit import OFTEN
from windlass.gateway.lock import HEADER
from windlass.journal import StoreBusy
from windlass.registry import AuditRow

AUDIT = "/api/v1/audit"


async def lines(here: Locked, admin: str, query: str = "") -> list[Json]:
    page = await here.ask(admin, "GET", f"{AUDIT}{query}")
    assert page.status == 200, page.text
    return list(page.json["items"])


def test_changes_starts_and_refusals_are_written_down_with_who_what_where_and_outcome() -> None:
    async def play() -> None:
        async with locked() as here:
            admin = await here.token("admin", name="boss")
            reader = await here.token("read", "team", name="looker")
            saved = await here.ask(
                admin,
                "POST",
                "/api/v1/workflows",
                ONE_STEP,
                headers={HEADER: "team", "X-Request-Id": "req-1"},
            )
            assert saved.status == 201
            # A change is answered after its line is kept.
            (line,) = await lines(here, admin, "?act=createWorkflow")
            assert line["who"].endswith(" boss") and line["role"] == "admin"
            assert (line["namespace"], line["thing"], line["outcome"]) == ("team", "workflow/one", 201)
            assert line["address"] == "127.0.0.1" and line["requestId"] == "req-1"
            start = "/api/v1/workflows/one/execute"
            assert (
                await here.ask(admin, "POST", start, {"runId": "r"}, headers={HEADER: "team"})
            ).status == 200
            assert (await here.ask(reader, "POST", start)).status == 403
            assert (await here.ask(None, "GET", "/api/v1/runs")).status == 401

            async def written() -> bool:
                return len(await lines(here, admin)) == 4

            await until_asked(written)
            newest = await lines(here, admin)
            assert [(each["act"], each["outcome"]) for each in newest] == [
                ("listRuns", 401),
                ("executeWorkflow", 403),
                ("executeWorkflow", 200),
                ("createWorkflow", 201),
            ]
            assert newest[2]["thing"] == "run/r"
            run = await here.ask(admin, "GET", "/api/v1/runs/r", headers={HEADER: "team"})
            assert run.json["startedBy"] == admin.split("_")[1]
            assert [each["outcome"] for each in await lines(here, admin, "?failed=true")] == [401, 403]
            assert [each["act"] for each in await lines(here, admin, "?of=team&act=createWorkflow")]
            number = reader.split("_")[1]
            assert [each["outcome"] for each in await lines(here, admin, f"?who={number}")] == [403]

    asyncio.run(play())


def test_it_is_read_in_pages_and_by_admins_only() -> None:
    async def play() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            for _ in range(5):
                assert (await here.ask(admin, "POST", "/api/v1/tokens", {"role": "read"})).status == 201
            seen: list[int] = []
            before = ""
            while True:
                page = (await here.ask(admin, "GET", f"{AUDIT}?limit=2{before}")).json
                seen += [item["n"] for item in page["items"]]
                if page["next"] is None:
                    break
                before = f"&before={page['next']}"
            assert len(seen) == 5 and seen == sorted(seen, reverse=True)
            for role in ("operator", "read"):
                assert (await here.ask(await here.token(role, "*"), "GET", AUDIT)).status == 403

    asyncio.run(play())


def test_looking_is_not_written_down_nor_is_what_anyone_does_on_an_open_server() -> None:
    async def play() -> None:
        async with locked() as here:
            admin = await here.token("admin")
            assert (await here.ask(admin, "GET", "/api/v1/tokens")).status == 200
            assert await lines(here, admin) == []
        async with house() as home:
            await home.save(ONE_STEP)
            assert (await home.ask("POST", "/api/v1/tokens", {"role": "read"})).status == 201
            # But what an admin does is, who it was or not.
            items = (await home.ask("GET", AUDIT)).json["items"]
            assert [(item["who"], item["act"]) for item in items] == [("anyone", "createToken")]

    asyncio.run(play())


def test_lines_wait_while_the_database_is_busy_and_nothing_is_held_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play() -> None:
        async with locked() as here:
            admin, registry = await here.token("admin"), here.home.node.registry
            write = registry.write_audit

            async def busy(rows: Sequence[AuditRow]) -> None:
                raise StoreBusy("the disk is full")

            monkeypatch.setattr(registry, "write_audit", busy)
            assert (await here.ask(admin, "POST", "/api/v1/tokens", {"role": "read"})).status == 201
            monkeypatch.setattr(registry, "write_audit", write)

            async def written() -> bool:
                return len(await lines(here, admin)) == 1

            await until_asked(written)

    asyncio.run(play())


def test_nobody_fills_the_log_by_being_refused() -> None:
    async def play() -> None:
        async with locked() as here:
            admin, reader = await here.token("admin"), await here.token("read")
            for _ in range(int(OFTEN.burst) + 50):
                assert (await here.ask(reader, "GET", "/api/v1/tokens")).status == 403

            async def written() -> bool:
                return len(await lines(here, admin, "?limit=1000")) >= OFTEN.burst

            await until_asked(written)
            assert len(await lines(here, admin, "?limit=1000")) < OFTEN.burst + 50

    asyncio.run(play())
