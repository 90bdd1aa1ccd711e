"""What runs make of each other, of limits and of orders at bad moments: the whole engine, on virtual time."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import timedelta

import pytest

from windlass import testing
from windlass.core.beginning import DEPTH_MAX
from windlass.core.commands import Answered, DeleteWorkflow
from windlass.core.errands import CancelOther, Errand
from windlass.core.errors import Refused
from windlass.core.names import Key, RunId, run_key, workflow_key
from windlass.core.task import VALUE_BYTES_MAX, Json
from windlass.engine.carrier import LastWord
from windlass.engine.clock import Clock
from windlass.engine.errands import Errands

LEAF: dict[str, Json] = {"id": "leaf", "steps": {"go": {"kind": "signal"}}}
PARENT: dict[str, Json] = {
    "id": "parent",
    "steps": {"call": {"kind": "workflow", "with": {"workflow": "leaf"}}},
}
TAKEN_BACK: Json = {
    "kind": "python",
    "with": {"call": "m:book"},
    "undo": {"kind": "python", "with": {"call": "m:free"}},
}


def test_a_run_that_is_cancelled_while_it_is_paused_is_taken_back() -> None:
    document = {"id": "trip", "steps": {"book": TAKEN_BACK, "wait": {"kind": "signal", "needs": ["book"]}}}
    with testing.start(document, steps={"book": 1, "undo:book": 1}) as run:
        run.pause()
        run.cancel("no time")
        result = run.result()
    assert (result.status, result.steps["undo:book"].status) == ("cancelled", "succeeded")


def test_a_child_goes_on_though_its_workflow_was_deleted() -> None:
    with testing.Engine(LEAF, PARENT) as engine:
        parent = engine.start("parent")
        engine.order(workflow_key("leaf"), lambda id, at: DeleteWorkflow(id=id, at=at))
        engine.advance("10m")  # in which the parent asks again how it is
        assert parent.status == "running"
        (child,) = engine.runs("leaf")
        child.signal("go", 7)
        assert parent.result().output == {"call": {"go": 7}}


def test_a_workflow_that_begins_itself_comes_to_an_end() -> None:
    document = {"id": "self", "steps": {"again": {"kind": "workflow", "with": {"workflow": "self"}}}}
    with testing.Engine(document) as engine:
        run = engine.start("self")
        error = run.result().error
        assert len(engine.runs()) == DEPTH_MAX + 1
    assert error is not None and "TooDeep" in error["message"] and len(error["message"]) < 1_500


def test_a_chain_that_is_too_deep_is_not_tried_again_in_each_of_its_runs() -> None:
    again = {"kind": "workflow", "with": {"workflow": "self"}, "retry": {"attempts": 3, "backoff": 0}}
    with testing.Engine({"id": "self", "steps": {"again": again}}) as engine:
        assert engine.start("self").result().status == "failed"
        assert len(engine.runs()) == DEPTH_MAX + 1


def test_a_run_that_is_replaced_is_taken_back_before_the_newer_one_begins() -> None:
    steps = {"book": TAKEN_BACK, "wait": {"kind": "signal", "needs": ["book"]}}
    limit = {"key": "room", "limit": 1, "on_conflict": "replace"}
    document = {"id": "trip", "concurrency": limit, "steps": steps}
    with testing.Engine(document, steps={"book": 1, "undo:book": testing.Slow("1h", 1)}) as engine:
        older, newer = engine.start("trip"), engine.start("trip")
        assert (older.steps["undo:book"], newer.status) == ("running", "queued")
        engine.advance("30m")
        assert newer.status == "queued"
        result = older.result()
        engine.advance("1s")
        assert (result.status, newer.status) == ("cancelled", "running")
    assert result.took == timedelta(hours=1)


def test_a_run_can_be_ended_without_taking_anything_back_or_the_rest_of_it() -> None:
    steps = {
        "book": TAKEN_BACK,
        "fly": {**TAKEN_BACK, "needs": ["book"]},
        "wait": {"kind": "signal", "needs": ["fly"]},
    }
    document = {"id": "trip", "steps": steps}
    hangs = {"book": 1, "fly": 1, "undo:fly": 1, "undo:book": testing.Slow("9999h", 1)}
    with testing.start(document, steps=hangs) as run:
        run.cancel("no time", undo=False)
        result = run.result()
    assert (result.status, result.took) == ("cancelled", timedelta(0))
    assert result.events[-1]["reason"] == "no time; not taken back: book, fly"
    with testing.start(document, steps=hangs) as run:
        run.cancel("wrong day")
        run.advance("1h")
        assert (run.steps["undo:fly"], run.steps["undo:book"]) == ("succeeded", "running")
        run.cancel()  # once is enough
        assert run.status == "running"
        run.cancel("it hangs", undo=False)
        result = run.result()
    assert (result.status, result.steps["undo:book"].status) == ("cancelled", "cancelled")
    assert (
        result.events[-1]["reason"]
        == "wrong day; taking back was given up: it hangs; not taken back: undo:book"
    )


def test_a_failed_run_whose_undo_hangs_is_given_up_and_keeps_its_failure() -> None:
    steps = {"book": TAKEN_BACK, "fly": {"kind": "python", "needs": ["book"], "with": {"call": "m:f"}}}
    fakes = {"book": 1, "fly": ValueError("no wind"), "undo:book": testing.Slow("9999h", 1)}
    with testing.start({"id": "trip", "steps": steps}, steps=fakes) as run:
        with pytest.raises(Refused, match="being taken back"):
            run.cancel()
        run.cancel(undo=False)
        result = run.result()
    assert result.status == "failed"
    assert result.error is not None and result.error["message"] == "no wind"
    assert result.events[-1]["reason"].endswith("; taking back was given up; not taken back: undo:book")


def test_an_attempt_that_was_lost_has_used_up_its_permit_of_a_rate() -> None:
    rate = {"key": "api", "limit": 1, "per": "6h"}
    document = {"id": "calls", "steps": {"call": {"kind": "python", "with": {"call": "m:f"}, "rate": rate}}}
    with testing.start(document, steps={"call": testing.Slow("1h", 1)}) as run:
        run.advance("10m")
        run.crash()
        result = run.result()
    assert (result.status, result.steps["call"].attempts) == ("succeeded", 2)
    assert timedelta(hours=7) <= result.took < timedelta(hours=7, minutes=1)


@pytest.mark.parametrize("order", ["pause", "crash"])
def test_whatever_a_run_waits_for_it_waits_for_after_a_pause_or_a_crash(order: str) -> None:
    steps: dict[str, Json] = {
        "call": {"kind": "workflow", "with": {"workflow": "leaf"}},
        "yes": {"kind": "approval", "with": {"prompt": "?", "timeout": "1h"}},
        "paid": {"kind": "signal", "with": {"timeout": "1h"}},
        "poll": {
            "kind": "loop",
            "with": {"max": 3, "until": "index == 2", "delay": "20m", "step": {"kind": "noop"}},
        },
        "seat": {"kind": "noop", "concurrency": {"key": "seat", "limit": 1}},
    }
    hold = {
        "id": "hold",
        "steps": {
            "sit": {
                "kind": "workflow",
                "with": {"workflow": "leaf"},
                "concurrency": {"key": "seat", "limit": 1},
            }
        },
    }
    with testing.Engine(LEAF, hold, {"id": "all", "steps": steps}) as engine:
        holder, run = engine.start("hold"), engine.start("all")
        engine.advance("30m")
        if order == "pause":
            run.pause()
            engine.advance("3h")
            run.resume()
        else:
            engine.crash()
        engine.advance("15m")
        assert run.steps == {
            **dict.fromkeys(("call", "yes", "paid"), "running"),
            "seat": "waiting",
            **dict.fromkeys(("poll", "poll[0]", "poll[1]", "poll[2]"), "succeeded"),
        }
        for child in engine.runs("leaf"):
            child.signal("go")
        run.approve("yes")
        run.signal("paid", 1)
        assert run.result().ok and holder.result().ok


def test_signals_that_nobody_takes_do_not_fill_the_memory() -> None:
    large = "x" * (VALUE_BYTES_MAX - 2)
    with testing.start(LEAF) as run:
        run.signal("other", large)
        run.signal("other", "small")
        with pytest.raises(Refused, match="bytes wait already"):
            run.signal("another", large)
        run.signal("go", 1)
        assert run.result().output == {"go": 1}


def test_a_node_that_is_not_sure_of_its_lease_asks_nobody() -> None:
    asked: list[Errand] = []

    class Carries:
        async def ask(self, sender: Key, errand: Errand, since: float) -> LastWord:
            asked.append(errand)
            return LastWord("cancelled")

    async def story() -> None:
        sure = asyncio.Event()
        heard = asyncio.Event()

        async def answer(sender: Key, answered: Answered) -> None:
            heard.set()

        async def until_fresh() -> None:
            await sure.wait()

        errands = Errands(Carries, Clock(time.time), random.Random(0), answer, until_fresh)  # type: ignore[arg-type]  # all it needs of a carrier
        errands.begin(run_key("parent"), CancelOther("stop:child", RunId("child"), "enough"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert asked == []
        sure.set()
        await heard.wait()
        errands.close()

    asyncio.run(story())
    assert len(asked) == 1
