"""Large values on their way to steps: sent once, kept by children and workers, and nobody's to change."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.worker.rig import play, python, working
from tests.worker.scripted_node import a_scene, a_task, moment, play_out
from windlass.core.task import Success, Task
from windlass.wire import crew
from windlass.wire.lightening import Lightener
from windlass.worker.late_context import LateContext, context_of
from windlass.worker.processes import Processes

FILES = [f"2026-01-01/file-{n:05}.csv" for n in range(1_000)]
STEPS = """
import os, pickle, time

def count(ctx):
    ctx.input["files"].append("one more")
    ctx.parents["list"].pop()
    return len(ctx.input["files"]), len(ctx.parents["list"]), os.getpid()

def send_elsewhere(ctx):
    there = pickle.loads(pickle.dumps(ctx))
    return there == ctx, len(there.input["files"]), len(there.parents["list"])

def hold(seconds, ctx):
    time.sleep(seconds)
    return len(ctx.input["files"])
"""


def large(call: str, **args: Any) -> Task:
    return msgspec.structs.replace(python(call, **args), input={"files": FILES}, parents={"list": FILES})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the requests to Python children were."""
    sizes: list[int] = []
    run = Processes.run_python

    async def noted(self: Processes, request: bytes, **how: Any) -> Any:
        sizes.append(len(request))
        return await run(self, request, **how)

    monkeypatch.setattr(Processes, "run_python", noted)
    return sizes


def test_a_child_is_sent_a_large_value_once_and_each_step_has_a_copy_of_its_own(
    tmp_path: Path, asked: list[int]
) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS, slots=1) as rig:
            first = await rig.value(large("count"))
            again = [await rig.value(large("count")) for _ in range(3)]
            assert first[:2] == [1_001, 999]
            assert again == [first] * 3  # also the process
        assert asked[0] > 2 * len(FILES)
        assert max(asked[1:]) < 1_000

    play(story())


def test_a_child_that_was_not_there_yet_gets_the_value_too(tmp_path: Path, asked: list[int]) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS, slots=2) as rig:
            slow, quick = large("hold", seconds=1.0), large("hold", seconds=0.0)
            rig.start(slow)
            assert await rig.value(quick) == len(FILES)
            assert await rig.outcome(slow) == Success(len(FILES))
        assert len(asked) == 3  # the second was asked in vain, and then sent all of it
        assert asked[1] < 1_000 < asked[2]

    play(story())


def test_a_child_whose_code_was_edited_is_replaced_and_gets_the_value_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS, slots=1) as rig:
            assert (await rig.value(large("count")))[0] == 1_001
            (tmp_path / "steps.py").write_text(STEPS + "\n# edited\n")
            assert (await rig.value(large("count")))[0] == 1_001

    play(story())


def test_a_step_that_does_not_ask_for_large_values_never_has_them_decoded(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path, steps=STEPS) as rig:
            task = large("send_elsewhere")
            assert await rig.value(task) == [True, len(FILES), len(FILES)]

    play(story())
    raw = msgspec.Raw(msgspec.json.encode({"files": FILES}))
    task = msgspec.structs.replace(large("count"), input=raw, parents={"a": 1, "list": raw})
    ctx = context_of(task, lambda details: None)
    assert isinstance(ctx, LateContext)
    assert (ctx.step, ctx.attempt) == (task.step, task.attempt)
    for name in ("input", "parents"):
        with pytest.raises(AttributeError):
            object.__getattribute__(ctx, name)
    assert ctx.input is ctx.input
    assert ctx.parents == {"a": 1, "list": {"files": FILES}}
    with pytest.raises(AttributeError, match="ctx has no 'inputs'"):
        _ = ctx.inputs


def test_a_worker_keeps_what_came_over_its_connection_until_it_is_told_to_forget_it() -> None:
    async def story() -> None:
        async with a_scene() as scene:
            await moment()
            lightener, guest = Lightener(), scene.host().guest
            tasks = [msgspec.structs.replace(a_task("noop"), input={"files": FILES}) for _ in range(3)]
            first, second, third = map(lightener.lighten, tasks)
            (name,) = first.bodies
            await guest.say(crew.RunLight(first.encode(), "1", first.places, first.bodies))
            await guest.say(crew.RunLight(second.encode(), "2", second.places, forget=("unheard of",)))
            await moment()
            assert scene.worker.held() == {task.name for task in tasks[:2]}
            assert [bytes(given.input) for given in scene.executor.given] == [first.bodies[name]] * 2
            await guest.say(crew.RunLight(third.encode(), "3", third.places, forget=(name,)))
            await moment()
            assert guest.ended  # nothing can be made of it: it greets anew, with what it holds
            assert len(scene.host().guest.greeting.held) == 2

    play_out(story)
