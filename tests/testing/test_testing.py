"""`windlass.testing`: the engine of production in a test, on time that jumps."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from windlass import StepContext, Workflow, approval, shell, signal, sleep, step, testing, workflow
from windlass.core.errors import Invalid, Refused
from windlass.testing import NoFake, NotEnded, Slow

calls: list[str] = []  # what the steps of a test did


@pytest.fixture(autouse=True)
def _nothing_called() -> None:
    calls.clear()


@dataclass
class Customer:
    name: str
    visits: int = 0


@step
def invoice(customer: Customer) -> str:
    calls.append("invoice")
    return f"invoice for {customer.name}"


@step(retries=2, backoff="1h")
def remind(customer: Customer, letter: str) -> str:
    calls.append("remind")
    return f"{letter}, again"


@step
def undo_invoice(output: str) -> None:
    calls.append(f"undo {output}")


@step
async def counted(ctx: StepContext, n: int) -> int:
    await asyncio.sleep(0)
    return n * 10 + ctx.attempt


@workflow
def dunning(customer: Customer) -> str:
    letter = invoice(customer)
    sleep("30d")
    return remind(customer, letter)


@workflow
def paying(customer: Customer) -> dict[str, Any]:
    letter = invoice.options(undo=undo_invoice)(customer)
    paid = signal("payment", timeout="7d")
    approval("Thank them?", id="thanks")
    return {"letter": letter, "paid": paid["amount"]}


@workflow
def counting(n: int = 2) -> list[int]:
    return counted.map([n, n + 1])


ADA = {"name": "Ada"}


def test_a_wait_of_thirty_days_takes_no_time() -> None:
    began = time.monotonic()
    result = testing.run(dunning, {"customer": ADA})
    assert time.monotonic() - began < 5.0
    assert result.ok
    assert result.output == "invoice for Ada, again"
    assert result.took == timedelta(days=30)
    assert calls == ["invoice", "remind"]
    assert [event["type"] for event in result.events][-1] == "RunEnded"


def test_retries_pause_by_the_clock_of_the_test() -> None:
    result = testing.run(dunning, {"customer": ADA}, steps={remind: ConnectionError("nobody answers")})
    assert (result.status, result.steps["remind"].attempts) == ("failed", 3)
    assert result.took == timedelta(days=30, hours=2)
    assert result.steps["remind"].error["type"] == "ConnectionError"


def test_what_a_step_gives_can_be_said_by_id_or_function() -> None:
    given = {"customer": ADA}
    assert testing.run(dunning, given, steps={"remind": "said"}).output == "said"
    assert testing.run(dunning, given, steps={remind: "said"}).output == "said"
    assert (
        testing.run(dunning, given, steps={"remind": lambda customer, letter: letter[:7]}).output == "invoice"
    )
    assert "remind" not in calls


def test_a_fake_may_take_its_time_and_time_out() -> None:
    slow = {"a": {"kind": "shell", "with": {"argv": ["x"]}, "timeout": "1h"}}
    quick = testing.run({"id": "w", "steps": slow}, steps={"a": Slow("59m", {"exitCode": 0})})
    assert (quick.status, quick.took) == ("succeeded", timedelta(minutes=59))
    late = testing.run({"id": "w", "steps": slow}, steps={"a": Slow("2h")})
    assert (late.status, late.took) == ("failed", timedelta(hours=1))
    assert late.steps["a"].error["type"] == "Timeout"


def test_signals_and_approvals_come_from_the_test() -> None:
    with testing.start(paying, {"customer": ADA}) as run:
        assert run.steps["payment"] == "running"
        with pytest.raises(NotEnded, match="step thanks waits for an approval"):
            run.signal("payment", {"amount": 12})
            run.result()
        run.approve("thanks", comment="gladly")
        result = run.result()
    assert result.output == {"letter": "invoice for Ada", "paid": 12}
    assert result.steps["thanks"].output["comment"] == "gladly"


def test_what_was_done_is_undone_when_nobody_pays() -> None:
    result = testing.run(paying, {"customer": ADA})
    assert (result.status, result.took) == ("failed", timedelta(days=7))
    assert calls == ["invoice", "undo invoice for Ada"]


def test_a_crash_loses_nothing_that_was_done() -> None:
    with testing.start(paying, {"customer": ADA}) as run:
        run.crash()
        run.advance("1d")
        run.signal("payment", {"amount": 12})
        run.crash()
        run.approve("thanks")
        result = run.result()
    assert result.ok
    assert calls == ["invoice"]


def test_a_step_that_a_crash_cut_off_is_tried_again() -> None:
    document = {"id": "w", "steps": {"a": {"kind": "shell", "with": {"argv": ["x"]}}}}
    with testing.start(document, steps={"a": Slow("1h", "done")}) as run:
        run.advance("30m")
        run.crash()
        result = run.result()
    assert (result.status, result.steps["a"].attempts) == ("succeeded", 2)
    # The engine takes a moment to write down who has a step, and another to hear that it is lost.
    assert timedelta(minutes=90) <= result.took < timedelta(minutes=90, seconds=1)


def test_steps_of_maps_and_async_functions_run_as_in_a_worker() -> None:
    result = testing.run(counting)
    assert result.output == [21, 31]
    assert result.steps["counted[1]"].output == 31


def test_items_that_were_done_are_undone_each_with_its_own_result() -> None:
    @workflow
    def inviting() -> None:
        invoice.options(undo=undo_invoice).map([Customer("Ada"), Customer("Grace"), Customer("")])

    def invited(customer: dict[str, Any]) -> str:
        if not customer["name"]:
            raise ValueError("nobody")
        return f"letter to {customer['name']}"

    result = testing.run(inviting, steps={"invoice": invited})
    assert result.status == "failed"
    assert sorted(calls) == ["undo letter to Ada", "undo letter to Grace"]


def test_inputs_are_checked_as_at_the_door() -> None:
    with pytest.raises(Invalid):
        testing.run(counting, {"n": "many"})


def test_a_step_that_no_test_can_run_must_be_answered_for() -> None:
    with pytest.raises(
        NoFake, match=r"a is a shell step, and tests run none; say what it gives: steps=\{'a'"
    ):
        testing.run({"id": "w", "steps": {"a": {"kind": "shell", "with": {"argv": ["x"]}}}})


def test_what_a_fake_asserts_reaches_the_test() -> None:
    def wrong(customer: object, letter: str) -> None:
        raise AssertionError(f"not {letter}")

    with pytest.raises(AssertionError, match="not invoice for Ada"):
        testing.run(dunning, {"customer": ADA}, steps={"remind": wrong})


def test_orders_are_refused_as_by_an_engine() -> None:
    with testing.start(paying, {"customer": ADA}) as run:
        with pytest.raises(Refused):
            run.approve("thanks")
        run.cancel("enough")
        assert run.result().status == "cancelled"
    assert calls[-1] == "undo invoice for Ada"


def test_capabilities_that_steps_require_are_there() -> None:
    document = {
        "id": "w",
        "steps": {
            "a": {"kind": "noop", "requires": ["gpu"]},
            "b": {"kind": "code", "with": {"language": "python", "code": "x", "limits": {"disk": "1MB"}}},
        },
    }
    assert testing.run(document, steps={"b": {"stdout": "3"}}).ok


def test_schedules_fire_as_time_passes() -> None:
    @workflow(schedule="0 2 * * *")
    def nightly() -> None:
        shell(["true"])

    with testing.Engine(nightly, steps={"shell": {"exitCode": 0}}) as engine:
        engine.advance("3d")
        found = engine.runs(nightly)
        assert [run.id for run in found] == [f"nightly:2026010{day}T020000Z" for day in (1, 2, 3)]
        assert [run.status for run in found] == ["succeeded"] * 3
        engine.crash()
        engine.advance("1d")
        assert len(engine.runs(nightly)) == 4


def test_loops_turn_until_their_condition_holds() -> None:
    turns = {"poll": {"kind": "noop", "with": {"value": {"n": "${{ index }}"}}}}
    loop = {"until": "item.n == 2", "max": 50, "delay": "10s", "step": turns["poll"]}
    result = testing.run({"id": "w", "steps": {"poll": {"kind": "loop", "with": loop}}})
    assert (result.output, result.took) == ({"poll": {"n": 2}}, timedelta(seconds=20))


def test_limits_hold_across_the_runs_of_a_test() -> None:
    waits = {"a": {"kind": "wait", "with": {"for": "1h"}}}
    with testing.Engine({"id": "w", "concurrency": {"key": "k", "limit": 1}, "steps": waits}) as engine:
        started = [engine.start("w") for _ in range(3)]
        engine.crash()
        assert [run.result().took for run in started] == [timedelta(hours=hours) for hours in (1, 2, 3)]


def test_a_story_of_no_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.testing.engine.JUMPS_MAX", 20)
    waits = {"a": {"kind": "signal", "with": {"name": "never"}}}
    with testing.Engine({"id": "w", "steps": waits, "schedule": {"every": "1s"}}) as engine:
        engine.advance("3s")
        (run,) = engine.runs("w")
        with pytest.raises(NotEnded, match="there is no end to it: it is 2026-01-01T00:00:2"):
            run.result()


def test_two_runs_are_the_same_however_often_they_are_played() -> None:
    def played() -> list[Any]:
        result = testing.run(paying, {"customer": ADA})
        return [result.events, result.view["startedAt"], result.view["endedAt"]]

    assert played() == played()


def test_inputs_and_fakes_may_be_what_the_functions_know() -> None:
    given = {"customer": Customer("Ada")}
    assert testing.run(dunning, given, steps={remind: date(2026, 1, 2)}).output == "2026-01-02"
    as_record = {invoice: lambda customer: Customer("Bea"), "remind": lambda customer, letter: letter["name"]}
    assert testing.run(dunning, given, steps=as_record).output == "Bea"
    assert testing.run(dunning, given, steps={"remind": ValueError}).error["type"] == "ValueError"


def test_a_fake_for_a_step_that_is_not_there_is_refused() -> None:
    with pytest.raises(NoFake, match="did you mean remind"):
        testing.run(dunning, {"customer": ADA}, steps={"remid": "said"})
    with pytest.raises(NoFake, match="names no step"):
        testing.run(dunning, {"customer": ADA}, steps={len: "said"})
    parts = {"undo:invoice": None, "counted[1]": 7}
    testing.run(paying, {"customer": ADA}, steps=parts, others=(counting,))


def test_a_story_begins_in_utc_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        with testing.Engine(begin="2026-01-01") as engine:
            assert engine.now == datetime(2026, 1, 1, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_time_passes_in_round_numbers() -> None:
    slow = {"a": {"kind": "noop", "timeout": "1m", "retry": {"attempts": 4, "backoff": "10s", "factor": 2}}}
    result = testing.run({"id": "w", "steps": slow}, steps={"a": Slow("2m")})
    assert result.took == timedelta(minutes=5, seconds=10)


@workflow(concurrency=1)
def one_by_one() -> None:
    sleep("1h")


@workflow
def step_by_step() -> Any:
    return invoice.options(concurrency={"key": "press", "limit": 1})({"name": "Ada"})  # type: ignore[arg-type]


@pytest.mark.parametrize("limited", [one_by_one, step_by_step])
def test_a_paused_run_keeps_nobody_from_what_it_waits_for(limited: Workflow[..., Any]) -> None:
    with testing.Engine(limited, steps={"invoice": Slow("1h", "done")}) as engine:
        first, paused, last = (engine.start(limited) for _ in range(3))
        paused.pause()
        engine.crash()
        engine.advance("2h1s")
        assert [run.status for run in (first, paused, last)] == ["succeeded", "paused", "succeeded"]
        paused.resume()
        assert paused.result().ok


def test_a_short_pause_costs_no_place_in_the_queue() -> None:
    with testing.Engine(one_by_one) as engine:
        _, paused, last = (engine.start(one_by_one) for _ in range(3))
        paused.pause()
        engine.advance("30m")
        paused.resume()
        engine.advance("90m1s")
        assert (paused.status, last.status) == ("succeeded", "running")
