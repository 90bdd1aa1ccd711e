"""A workflow's versions: listed, guarded against overwriting, and checked before they exist."""

import asyncio
import io
from collections.abc import Awaitable, Callable

import pytest

from tests.gateway.house import ONE_STEP, House, house
from windlass.core import kinds
from windlass.core.task import Json

PATH = "/api/v1/workflows"
YAML = {"Content-Type": "application/yaml"}


def play(scene: Callable[[House], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with house() as home:
            await scene(home)

    asyncio.run(whole())


def document(value: Json) -> Json:
    return {"id": "one", "steps": {"only": {"kind": "noop", "with": {"value": value}}}}


async def versions(home: House, query: str = "") -> Json:
    answer = await home.ask("GET", f"{PATH}/one/versions{query}")
    assert answer.status == 200, answer.text
    return answer.json


def test_versions_are_listed_newest_first_with_their_time_and_hash() -> None:
    async def scene(home: House) -> None:
        await home.save(document(1))
        for value in (2, 2, 1):
            await home.ask("PUT", f"{PATH}/one", document(value))
        page = await versions(home)
        assert [item["version"] for item in page["items"]] == [3, 2, 1]
        third, second, first = page["items"]
        assert third["hash"] == first["hash"] != second["hash"]
        assert third["createdAt"] >= second["createdAt"] >= first["createdAt"] > "2026"
        assert page["next"] is None

    play(scene)


WRITTEN = "# why it is there\nid: one\nsteps:\n  only: {kind: noop} # nothing to do\n"


async def text(home: House, query: str = "") -> Json:
    answer = await home.ask("GET", f"{PATH}/one/text{query}")
    assert answer.status == 200, answer.text
    return answer.json["version"], answer.json["text"]


def test_yaml_is_given_back_as_it_was_written_comments_and_all() -> None:
    async def scene(home: House) -> None:
        await home.ask("POST", PATH, data=WRITTEN, headers=YAML)
        assert await text(home) == (1, WRITTEN)
        await home.ask("PUT", f"{PATH}/one", document(1))
        assert await text(home) == (2, None)
        assert await text(home, "?version=1") == (1, WRITTEN)
        answer = await home.ask("GET", f"{PATH}/one/text?version=7")
        assert answer.status == 404 and "has no version 7" in answer.text
        await home.ask("DELETE", f"{PATH}/one")
        assert (await home.ask("GET", f"{PATH}/one/text")).status == 404

    play(scene)


def test_another_comment_is_a_version_and_the_same_as_json_is_none() -> None:
    async def scene(home: House) -> None:
        await home.ask("POST", PATH, data=WRITTEN, headers=YAML)
        for number, written in enumerate((WRITTEN, WRITTEN + "# more", WRITTEN), 1):
            for _ in range(2):
                answer = await home.ask("PUT", f"{PATH}/one", data=written, headers=YAML)
                assert answer.json["version"] == number
        plain = await home.ask("PUT", f"{PATH}/one", {"id": "one", "steps": {"only": {"kind": "noop"}}})
        assert (plain.json["version"], plain.json["changed"]) == (3, False)
        assert await text(home) == (3, WRITTEN)

    play(scene)


def test_what_no_person_writes_is_kept_as_what_it_says() -> None:
    async def scene(home: House) -> None:
        large = WRITTEN + "# x\n" * 256 * 1024
        await home.ask("POST", PATH, data=io.BytesIO(large.encode()), headers=YAML)
        assert await text(home) == (1, None)

    play(scene)


def test_versions_from_far_beyond_the_newest_begin_with_the_newest() -> None:
    async def scene(home: House) -> None:
        await home.save(document(1))
        assert await versions(home, f"?after={2**53}") == await versions(home)

    play(scene)


def test_versions_come_page_by_page_and_a_deletion_is_none() -> None:
    async def scene(home: House) -> None:
        await home.save(document(0))
        for value in range(1, 25):
            await home.ask("PUT", f"{PATH}/one", document(value))
            if value % 10 == 0:
                await home.ask("DELETE", f"{PATH}/one")
                await home.save(document(value))
        seen: list[int] = []
        query = "?limit=4"
        while query:
            page = await versions(home, query)
            seen += [item["version"] for item in page["items"]]
            query = "" if page["next"] is None else f"?limit=4&after={page['next']}"
        assert seen == list(range(27, 0, -1))

    play(scene)


def test_what_happens_to_schedules_is_no_version() -> None:
    async def scene(home: House) -> None:
        await home.save(document(1))
        await home.ask("PUT", "/api/v1/schedules/one", {"every": "1h"})
        for _ in range(15):
            await home.ask("POST", "/api/v1/schedules/one/pause")
            await home.ask("POST", "/api/v1/schedules/one/resume")
        await home.ask("PUT", f"{PATH}/one", document(2))
        page = await versions(home, "?limit=2")
        assert [item["version"] for item in page["items"]] == [2, 1]
        assert page["next"] is None

    play(scene)


def test_a_workflow_that_is_gone_has_no_versions_to_show() -> None:
    async def scene(home: House) -> None:
        await home.save(document(0))
        await home.ask("DELETE", f"{PATH}/one")
        for name in ("one", "nobody", "no%20such"):
            answer = await home.ask("GET", f"{PATH}/{name}/versions")
            assert (answer.status, answer.json["error"]) == (404, "Workflow not found")

    play(scene)


def test_a_version_is_its_tag() -> None:
    async def scene(home: House) -> None:
        await home.save(document(0))
        assert (await home.ask("GET", f"{PATH}/one")).headers["ETag"] == '"1"'
        changed = await home.ask("PUT", f"{PATH}/one", document(1))
        assert changed.headers["ETag"] == (await home.ask("GET", f"{PATH}/one")).headers["ETag"] == '"2"'
        assert (await home.ask("GET", f"{PATH}/one?version=1")).headers["ETag"] == '"1"'

    play(scene)


def test_somebody_elses_change_is_never_overwritten() -> None:
    async def scene(home: House) -> None:
        await home.save(document(0))
        read = (await home.ask("GET", f"{PATH}/one")).headers["ETag"]
        mine = await home.ask("PUT", f"{PATH}/one", document("mine"), headers={"If-Match": read})
        late = await home.ask("PUT", f"{PATH}/one", document("late"), headers={"If-Match": read})
        assert (mine.status, mine.json["version"]) == (200, 2)
        assert (late.status, late.json["error"]) == (412, "Precondition failed")
        assert (late.json["workflowId"], late.json["version"]) == ("one", 2)
        newest = (await home.ask("GET", f"{PATH}/one")).json
        assert newest["steps"] == document("mine")["steps"]

    play(scene)


def test_the_same_change_under_the_same_key_passes_again() -> None:
    async def scene(home: House) -> None:
        await home.save(document(0))
        headers = {"If-Match": '"1"', "Idempotency-Key": "k"}
        first = await home.ask("PUT", f"{PATH}/one", document(1), headers=headers)
        again = await home.ask("PUT", f"{PATH}/one", document(1), headers=headers)
        assert (first.status, again.status, again.json["version"]) == (200, 200, 2)

    play(scene)


@pytest.mark.parametrize(
    ("tag", "status"),
    [
        ("*", 200),
        ('"1"', 200),
        ('"7", "1"', 200),
        ('"7", "8"', 412),
        ('"0"', 412),
        ('W/"1"', 412),
        ('"abc"', 412),
        ("1", 422),
        ('"1', 422),
    ],
)
def test_what_a_tag_lets_pass(tag: str, status: int) -> None:
    async def scene(home: House) -> None:
        await home.save(document(0))
        answer = await home.ask("PUT", f"{PATH}/one", document(1), headers={"If-Match": tag})
        assert answer.status == status, answer.text
        missing = await home.ask(
            "PUT", f"{PATH}/two", {"steps": ONE_STEP["steps"]}, headers={"If-Match": tag}
        )
        assert missing.status == (422 if status == 422 else 404)

    play(scene)


def test_a_sound_document_is_valid_and_not_kept() -> None:
    async def scene(home: House) -> None:
        text = "id: three\nsteps: {a: {kind: noop}, b: {kind: noop}, c: {kind: noop, needs: [a]}}\n"
        answer = await home.ask("POST", f"{PATH}/validate", data=text, headers=YAML)
        assert (answer.status, answer.json) == (200, {"valid": True, "workflowId": "three", "steps": 3})
        assert (await home.ask("GET", PATH)).json == []

    play(scene)


def test_every_fault_of_a_document_is_told_before_it_is_saved() -> None:
    async def scene(home: House) -> None:
        text = "id: bad\nsteps:\n  a: {kind: nop}\n  b: {kind: noop, needs: [c]}\n"
        answer = await home.ask("POST", f"{PATH}/validate", data=text, headers=YAML)
        assert answer.status == 422
        places = [(detail["pointer"], detail["line"]) for detail in answer.json["details"]]
        assert places == [("/steps/a/kind", 3), ("/steps/b/needs/0", 4)]

    play(scene)


def test_the_kinds_of_steps_are_listed_with_what_they_take() -> None:
    async def scene(home: House) -> None:
        types = (await home.ask("GET", f"{PATH}/node-types")).json
        assert [kind["kind"] for kind in types["kinds"]] == list(kinds.KINDS)
        for kind in types["kinds"]:
            step = {"kind": kind["kind"], "with": {"nothing-like-it": 1}}
            answer = await home.ask("POST", f"{PATH}/validate", {"id": "x", "steps": {"a": step}})
            told = next(d["message"] for d in answer.json["details"] if d["pointer"].endswith("-like-it"))
            assert told.endswith(f"known here: {', '.join(kind['with'])}")

    play(scene)


def test_a_workflow_may_be_named_like_a_path() -> None:
    async def scene(home: House) -> None:
        await home.save({"id": "validate", "steps": ONE_STEP["steps"]})
        assert (await home.ask("GET", f"{PATH}/validate")).json["id"] == "validate"
        assert (await home.execute("validate"))["status"] == "succeeded"

    play(scene)
