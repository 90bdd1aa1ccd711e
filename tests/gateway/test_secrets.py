"""Secrets over HTTP: what comes in never goes out, in no answer and in no row."""

import asyncio
import logging
import time

import pytest

from tests.gateway.house import House, house
from windlass.core.errors import NotFound, Unavailable
from windlass.core.task import Json
from windlass.engine.secrets import Secrets, hook_context
from windlass.journal import StoreError
from windlass.registry import HookRow, SecretRow
from windlass.registry.memory import MemoryRegistry
from windlass.vault import Keyring, Locked, key_id

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
VALUE = "correct horse"


async def put(home: House, name: str, value: Json, **headers: str) -> Json:
    answer = await home.ask("PUT", f"/api/v1/secrets/{name}", {"value": value}, headers=headers)
    assert answer.status in (200, 201), answer.text
    assert VALUE not in answer.text
    return answer.json


def test_a_secret_is_set_listed_changed_and_deleted_but_never_told() -> None:
    async def story() -> None:
        async with house(keyring=Keyring([NEW])) as home:
            first = await home.ask("PUT", "/api/v1/secrets/DB", {"value": VALUE})
            assert first.status == 201
            assert first.json["version"] == 1 and first.json["key"] == key_id(NEW)
            assert (await put(home, "DB", "another value"))["version"] == 2
            await put(home, "API", VALUE)
            listed = await home.ask("GET", "/api/v1/secrets")
            assert [item["name"] for item in listed.json["items"]] == ["API", "DB"]
            assert set(listed.json["items"][0]) == {"name", "version", "key", "updatedAt", "updatedBy"}
            assert (await home.ask("DELETE", "/api/v1/secrets/DB")).status == 200
            assert (await home.ask("DELETE", "/api/v1/secrets/DB")).status == 404
            row = await home.node.registry.secret("default", "API")
            assert row is not None and VALUE.encode() not in row.sealed
            assert await home.node.secrets.open("default", {"API"}) == {"API": VALUE}

    asyncio.run(story())


def test_each_namespace_has_its_own() -> None:
    async def story() -> None:
        async with house(keyring=Keyring([NEW])) as home:
            await put(home, "DB", "one value", **{"X-Windlass-Namespace": "billing"})
            assert (await home.ask("GET", "/api/v1/secrets")).json["items"] == []
            assert await home.node.secrets.open("billing", {"DB"}) == {"DB": "one value"}
            with pytest.raises(NotFound, match="no secret DB in the namespace default; `windlass secret set"):
                await home.node.secrets.open("default", {"DB"})

    asyncio.run(story())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"value": "leak"', 400),
        (b"leak-leak", 400),
        (b'{"value": ["leak-leak"]}', 422),
        (b'{"value": 12345678}', 422),
        (b'{"value": "leak-leak", "more": 1}', 422),
        (b'{"value": "lea"}', 422),
        (b'{"value": "  lea  "}', 422),
        (b'{"value": "leak\\u0000leak"}', 422),
        (b'{"value": "leak-\\ud800"}', 400),
        (b'{"value": "' + b"leak" * 20_000 + b'"}', 422),
        (b'{"value": "' + "ж".encode() * 40_000 + b'"}', 413),
        (b'{"value": "' + b"leak" * 200_000 + b'"}', 413),
        (b"[" * 5000, 422),
    ],
)
def test_what_cannot_be_a_secret_is_refused_and_not_repeated(
    body: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with house(keyring=Keyring([NEW])) as home:
            path, kind = "/api/v1/secrets/DB", {"Content-Type": "application/json"}
            answer = await home.ask("PUT", path, data=body, headers=kind)
            assert answer.status == status, answer.text
            for part in ("leak", "lea  ", "12345678", "жж"):
                assert part not in answer.text
                assert part not in caplog.text
            assert await home.node.registry.secrets() == []

    with caplog.at_level(logging.DEBUG):
        asyncio.run(story())


def test_yaml_is_not_taken() -> None:
    async def story() -> None:
        async with house(keyring=Keyring([NEW])) as home:
            kind = {"Content-Type": "application/yaml"}
            answer = await home.ask("PUT", "/api/v1/secrets/DB", data="value: leak-leak", headers=kind)
            assert answer.status == 415 and "leak" not in answer.text

    asyncio.run(story())


@pytest.mark.parametrize("name", ["1st", "a b", "-a", "x" * 65, "a.b", "%D0%B6"])
def test_a_name_has_to_be_one_that_can_be_referred_to(name: str) -> None:
    async def story() -> None:
        async with house(keyring=Keyring([NEW])) as home:
            answer = await home.ask("PUT", f"/api/v1/secrets/{name}", {"value": VALUE})
            assert answer.status == 422 and VALUE not in answer.text
            assert (await home.ask("DELETE", f"/api/v1/secrets/{name}")).status == 404

    asyncio.run(story())


def test_a_node_without_a_key_says_what_to_set() -> None:
    async def story() -> None:
        async with house() as home:
            for method, path, body in (
                ("PUT", "/api/v1/secrets/DB", {"value": VALUE}),
                ("POST", "/api/v1/secrets:rotate", {}),
            ):
                answer = await home.ask(method, path, body)
                assert answer.status == 409
                assert "WINDLASS_SECRETS_KEY" in answer.text and VALUE not in answer.text
            assert (await home.ask("GET", "/api/v1/secrets")).status == 200

    asyncio.run(story())


def test_rotation_seals_all_with_the_new_key_and_the_old_one_may_go() -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        before = Secrets(registry, Keyring([OLD]), time.time)
        for namespace, name in (("default", "A"), ("default", "B"), ("billing", "A")):
            await before.set(namespace, name, f"{namespace} {name}", by="me")
        kept = Keyring([OLD]).seal(hook_context("billing", "h1"), "signs")
        row = {"id": "h1", "namespace": "billing", "url": "https://x.example", "on": ("failed",)}
        await registry.put_hook(HookRow(**row, key=kept.key, sealed=kept.sealed, created_at=1.0))  # type: ignore[arg-type]
        async with house(keyring=Keyring([NEW, OLD]), registry=registry) as home:
            answer = await home.ask("POST", "/api/v1/secrets:rotate", {})
            assert answer.json == {"resealed": 4, "key": key_id(NEW), "locked": []}
            again = await home.ask("POST", "/api/v1/secrets:rotate", {})
            assert again.json["resealed"] == 0
        after = Secrets(registry, Keyring([NEW]), time.time)
        assert await after.open("default", {"A", "B"}) == {"A": "default A", "B": "default B"}
        hook = await registry.hook("h1")
        assert hook is not None
        assert Keyring([NEW]).open(hook_context("billing", "h1"), hook.key, hook.sealed) == "signs"
        with pytest.raises(Locked):
            await before.open("billing", {"A"})
        row_now = await registry.secret("default", "A")
        assert row_now is not None and row_now.version == 1 and row_now.updated_by == "me"

    asyncio.run(story())


def test_what_cannot_be_opened_is_named_and_left_as_it_is() -> None:
    async def story() -> None:
        registry = MemoryRegistry()
        await Secrets(registry, Keyring([OLD]), time.time).set("default", "LOST", VALUE, by="me")
        async with house(keyring=Keyring([NEW]), registry=registry) as home:
            await put(home, "FINE", "a value")
            answer = await home.ask("POST", "/api/v1/secrets:rotate", {})
            assert answer.json == {"resealed": 0, "key": key_id(NEW), "locked": ["secret/default/LOST"]}
            with pytest.raises(Locked, match=key_id(OLD)):
                await home.node.secrets.open("default", {"LOST"})

    asyncio.run(story())


class Busy(MemoryRegistry):
    """Somebody sets the secret anew, with the old key, while it is being sealed."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile = 1

    async def reseal_secret(self, row: SecretRow) -> bool:
        if self.meanwhile:
            self.meanwhile -= 1
            await Secrets(self, Keyring([OLD]), time.time).set("default", "A", "newer value", by="other")
        return await super().reseal_secret(row)


def test_a_change_during_a_rotation_is_kept_and_sealed_too() -> None:
    async def story() -> None:
        registry = Busy()
        await Secrets(registry, Keyring([OLD]), time.time).set("default", "A", "older value", by="me")
        rotated = await Secrets(registry, Keyring([NEW, OLD]), time.time).rotate()
        assert (rotated.resealed, rotated.locked) == (1, ())
        after = Secrets(registry, Keyring([NEW]), time.time)
        assert await after.open("default", {"A"}) == {"A": "newer value"}

    asyncio.run(story())


class Away(MemoryRegistry):
    async def secret(self, namespace: str, name: str) -> SecretRow | None:
        raise StoreError("no connection")


def test_a_database_that_is_away_is_no_missing_secret() -> None:
    async def story() -> None:
        with pytest.raises(Unavailable, match="no connection"):
            await Secrets(Away(), Keyring([NEW]), time.time).open("default", {"A"})

    asyncio.run(story())
