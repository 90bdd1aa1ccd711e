"""Golden conversations of older workers: played as they are written down, against a real server.

`tests/golden/dialects/*.json` holds one conversation each: a list of turns, in order. `client` is what a
client says, `node` what it hears next; `as` names the client, if there are several. `start` starts a run of
one step, `run` is how it ends, and `waits` what it waits for. `<text>` stands for any text, `<text:a>` gives
it a name, and `{a}` stands for it later. `{"base64": …}` is JSON that travels as base64.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.house import House, house
from tests.gateway.test_v04 import alike, named
from tests.waiting import until_asked
from windlass.core.task import Json

GOLDEN = Path(__file__).parents[1] / "golden" / "dialects"
STORIES = sorted(GOLDEN.glob("*.json"))
HEAR_S = 10.0


@dataclass
class Stage:
    """Where a conversation is played."""

    home: House
    clients: dict[str, aiohttp.ClientWebSocketResponse] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    runs: int = 0

    async def play(self, turn: Json) -> None:
        who = turn.get("as", "first")
        match turn:
            case {"connect": path}:
                self.clients[who] = await self.connect(path)
            case {"disconnect": _}:
                await self.clients.pop(who).close()
            case {"client": said}:
                await self.clients[who].send_str(json.dumps(packed(said, self.names)))
            case {"says": text}:
                await self.clients[who].send_str(text)
            case {"ping": _}:
                await self.clients[who].ping()
            case {"node": expected}:
                await self.hear(who, expected)
            case {"start": step}:
                await self.start(step)
            case {"cancel": _}:
                answer = await self.home.ask("POST", f"/api/v1/runs/{self.run}/cancel")
                assert answer.status == 200, answer.text
            case {"run": expected}:
                await self.ends(expected)
            case {"waits": capability}:
                await until_asked(lambda: self.waits_for(capability))
            case {"workers": expected}:
                await until_asked(lambda: self.has_states(expected))
            case {"registered": expected}:
                await until_asked(lambda: self.has_registered(expected))
            case {"callback": said, "status": status}:
                await self.call_back(said, status)
            case _:
                raise AssertionError(f"nobody knows the turn {turn}")

    @property
    def run(self) -> str:
        return f"run-{self.runs}"

    async def connect(self, path: str) -> aiohttp.ClientWebSocketResponse:
        return await self.home.session.ws_connect(f"http://127.0.0.1:{self.home.port}{path}")

    async def hear(self, who: str, expected: Json) -> None:
        heard = json.loads(await self.clients[who].receive_str(timeout=HEAR_S))
        assert alike(opened(heard, expected), expected, self.names), f"{who} heard {heard}, not {expected}"

    async def start(self, step: Json) -> None:
        self.runs += 1
        await self.home.save({"id": f"w{self.runs}", "steps": {"only": step}})
        await self.home.execute(f"w{self.runs}", {"runId": self.run}, wait=None)

    async def ends(self, expected: Json) -> None:
        found: Json = None

        async def has_ended() -> bool:
            nonlocal found
            found = (await self.home.ask("GET", f"/api/v1/runs/{self.run}")).json
            return found["status"] not in ("queued", "running")

        await until_asked(has_ended)
        (step,) = found["steps"]
        assert found["status"] == expected["status"], found
        if "output" in expected:
            assert found["output"] == {"only": expected["output"]}
        if "failure" in expected:
            failure = step["error"]
            assert f"{failure['type']}: {failure['message']}" == expected["failure"]
        if "attempt" in expected:
            assert step["attempts"] == expected["attempt"]

    async def waits_for(self, capability: str) -> bool:
        told = (await self.home.ask("GET", f"/api/v1/runs/{self.run}/explain")).json
        return any(capability in (reason["requires"] or ()) for reason in told["reasons"])

    async def has_states(self, expected: Json) -> bool:
        """Of the clients; whoever else works here is left out."""
        told = (await self.home.ask("GET", "/api/v1/workers")).json["items"]
        return bool({one["id"]: one["state"] for one in told if "client" in one["program"]} == expected)

    async def has_registered(self, expected: Json) -> bool:
        return bool([row.worker for row in await self.home.node.registry.workers()] == expected)

    async def call_back(self, said: Json, status: int) -> None:
        url = self.names["url"]
        assert url.startswith(f"http://127.0.0.1:{self.home.port}/ws/callback/")
        path = url.removeprefix(f"http://127.0.0.1:{self.home.port}")
        body = said if isinstance(said, str) else json.dumps(packed(said, self.names))
        answer = await self.home.ask("POST", path, data=body, headers={"Content-Type": "application/json"})
        assert answer.status == status, answer.text


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    async with house() as home:
        made = Stage(home)
        yield made
        for client in made.clients.values():
            await client.close()


def packed(said: Json, names: dict[str, str]) -> Json:
    """As it is sent."""
    match said:
        case {"base64": inside}:
            return base64.b64encode(json.dumps(packed(inside, names)).encode()).decode()
        case dict():
            return {key: packed(value, names) for key, value in said.items()}
        case list():
            return [packed(value, names) for value in said]
        case str():
            return named(said, names)
        case _:
            return said


def opened(heard: Json, expected: Json) -> Json:
    """As it is written down."""
    match expected:
        case {"base64": inside} if isinstance(heard, str):
            return {"base64": opened(json.loads(base64.b64decode(heard, validate=True)), inside)}
        case dict() if isinstance(heard, dict):
            return {key: opened(value, expected.get(key)) for key, value in heard.items()}
        case _:
            return heard


# What a conversation shows of the requirements; those of the raw and envelope dialects show S3.11.
SHOWS = {
    "json-hello": ("S3.56", "S3.57", "S3.58"),
    "json-failure": ("S3.58",),
    "json-wrong-load": ("S3.56",),
    "json-language-mismatch": ("S3.51", "S3.62"),
}


def marked(path: Path) -> object:
    shown = SHOWS.get(path.stem, () if path.stem.startswith("json-") else ("S3.11",))
    return pytest.param(path, id=path.stem, marks=[pytest.mark.accepts(id) for id in shown])


@pytest.mark.parametrize("path", [marked(path) for path in STORIES])
def test_a_golden_conversation_goes_as_it_is_written_down(path: Path) -> None:
    story = json.loads(path.read_text())

    async def play() -> None:
        async with stage() as on:
            for turn in story:
                await on.play(turn)

    asyncio.run(play())
