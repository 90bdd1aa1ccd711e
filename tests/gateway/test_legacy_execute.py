"""`POST /execute`: the server that clients know already, in its words."""

from __future__ import annotations

import asyncio

from tests.gateway.house import Answer, House
from tests.gateway.test_tasks import VALUE, goes_on, play
from windlass.core.task import Failure, Json, Outcome, Success


async def execute(home: House, body: Json) -> Answer:
    return await home.ask("POST", "/execute", body)


def test_execute_answers_in_one_call_as_clients_know_it() -> None:
    outcomes: dict[str, Outcome] = {
        "fine": Success({**VALUE, "stdout": "out\n", "stderr": "err\n"}),
        "exits": Failure("ExitCode", "exited with 3", value={"stdout": "a", "stderr": "b", "exitCode": 3}),
        "quiet": Failure("ExitCode", "exited with 1", value={"stdout": "", "stderr": "", "exitCode": 1}),
        "large": Failure("MemoryLimit", "used more than 256MiB", retryable=False, value={"stdout": "c"}),
        "slow": Failure("TimeLimit", "took longer than 30s", retryable=False),
        "lost": Failure("TooMuch", "no worker gives that", retryable=False),
    }

    async def scene(home: House) -> None:
        answer = await execute(home, {"language": "py", "code_block": "fine"})
        assert answer.status == 200
        assert answer.json == {"id": answer.json["id"], "result": "out\nerr\n", "language": "python"}
        assert (await execute(home, {"language": "py", "code_block": "exits"})).json["result"] == "ab"
        assert (await execute(home, {"language": "py", "code_block": "quiet"})).json["result"] == ""
        large = (await execute(home, {"language": "py", "code_block": "large"})).json
        assert large["err"] == "used more than 256MiB"
        for name, words in (("slow", "took longer than 30s"), ("lost", "no worker gives that")):
            failed = await execute(home, {"language": "py", "code_block": name})
            assert (failed.status, failed.json) == (500, {"message": f"execution failed: {words}"})
        nobody = await execute(home, {"language": "cobol", "code_block": "x"})
        assert nobody.status == 500
        assert nobody.json["message"].startswith("execution failed: No available client nodes")

    play(scene, lambda task: outcomes[task.with_["code"]])


def test_execute_refuses_what_makes_no_sense_in_the_words_of_then() -> None:
    async def scene(home: House) -> None:
        bodies: list[Json] = [{}, {"language": "py"}, {"language": "py", "code_block": ""}, []]
        for body in bodies:
            answer = await execute(home, body)
            assert answer.status == 400
            assert answer.json["message"].startswith("invalid request: ")
            assert list(answer.json) == ["message"]
        large = await execute(home, {"language": "py", "code_block": "x" * 65_537})
        assert (large.status, large.json) == (400, {"message": "code_block exceeds 64KB limit"})

    play(scene)


def test_execute_stops_what_nobody_waits_for_any_longer() -> None:
    async def scene(home: House) -> None:
        asking = asyncio.create_task(execute(home, {"language": "py", "code_block": "loop"}))
        task = await home.hands.taken.get()
        await home.close_door()  # who waits is told what is known, as when the time is over
        answer = await asking
        assert (answer.status, answer.json["message"].startswith("execution failed: ")) == (500, True)
        assert await home.hands.stopped.get() == task.name

    play(scene, goes_on)
