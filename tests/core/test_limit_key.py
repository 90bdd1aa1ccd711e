"""Limits across runs: the laws, under words that are lost, late, repeated and out of order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.holders import World, ask, fold, give_back, state
from windlass.core import limit_key
from windlass.core.commands import Answered, AskPermit, Wake
from windlass.core.effects import Forget, Nudge
from windlass.core.errands import CancelOther, CheckHolder
from windlass.core.errors import Refused
from windlass.core.events import LimitEvent, LimitForgotten, PermitGiven, PermitRefused, PlaceTaken
from windlass.core.limit_key import LimitKey, perform, reply, wake_at
from windlass.core.names import run_key
from windlass.wire import codec

seeds = st.integers(min_value=0, max_value=2**32)


def worlds(seed: int, steps: int = 120, *, rate: bool | None = None) -> Iterator[World]:
    """A limit and what happens to it: after each step, the world as it is then."""
    chance = random.Random(seed)
    rated = chance.random() < 0.3 if rate is None else rate
    world = World(
        chance,
        most=chance.randrange(1, 4),
        per_s=chance.choice([0.5, 10.0, 3_600.0]) if rated else None,
        conflicts=("queue", "skip") if rated else ("queue", "queue", "skip", "replace"),
    )
    for _ in range(steps):
        world.step()
        yield world


def given_to(world: World) -> list[PermitGiven]:
    return [event for event in world.events if isinstance(event, PermitGiven)]


@given(seeds)
def test_no_more_holders_use_a_permit_at_once_than_the_limit_says(seed: int) -> None:
    for world in worlds(seed, rate=False):
        assert world.most_used <= world.most


@given(seeds)
def test_no_period_however_it_begins_sees_more_than_the_rate_says(seed: int) -> None:
    for world in worlds(seed, rate=True):
        times = [event.at for event in given_to(world)]
        assert world.per_s is not None
        for earlier, later in zip(times, times[world.most :], strict=False):
            assert later >= earlier + world.per_s


@given(seeds)
def test_a_rate_holds_for_permits_that_are_given_at_nearly_the_same_time(seed: int) -> None:
    chance = random.Random(seed)
    limit, at, times = LimitKey(), 0.0, list[float]()
    most, per_s = chance.randrange(1, 6), 1_000.0
    for n in range(60):
        at += chance.choice([0.0, 0.1, 0.4, 0.9, 1.5, 300.0])
        due = wake_at(limit)
        command = Wake(at=due) if due is not None and limit.places and due <= at + 900.0 else None
        at = at if command is None else max(at, command.at)
        events = perform(limit, command or ask(f"r{n}", most=most, per_s=per_s, at=at))
        times += [event.at for event in events if isinstance(event, PermitGiven)]
    assert all(later >= earlier + per_s for earlier, later in zip(times, times[most:], strict=False))


@given(seeds)
def test_folding_the_journal_gives_the_live_state(seed: int) -> None:
    for n, world in enumerate(worlds(seed)):
        if n % 7 == 0:
            assert state(fold(world.events)) == state(world.limit)


@given(seeds, st.integers(min_value=1, max_value=119))
def test_a_snapshot_and_the_events_after_it_give_the_live_state(seed: int, cut: int) -> None:
    kept, seen = b"", 0
    world = World(random.Random(seed))
    for n, world in enumerate(worlds(seed)):
        if n == cut:
            kept, seen = state(world.limit), len(world.events)
    limit = msgspec.json.decode(kept, type=LimitKey)
    for event in world.events[seen:]:
        limit_key.apply(limit, event)
    assert state(limit) == state(world.limit)


@given(seeds)
def test_what_is_owed_is_what_a_recovered_key_asks_for(seed: int) -> None:
    for world in worlds(seed):
        resumed = limit_key.resume(world.limit)
        assert {str(effect) for effect in resumed} == {str(effect) for effect in world.owed.values()}
        assert limit_key.owes(world.limit) == bool(resumed)


@given(seeds)
def test_a_question_given_twice_changes_nothing_and_gets_the_same_answer(seed: int) -> None:
    for world in worlds(seed):
        for letter in world.letters[:3]:
            now = msgspec.structs.replace(letter, at=world.at)
            if not world.limit.exists and not isinstance(letter, AskPermit):
                continue
            world.play(now)
            before, status = state(world.limit), reply(world.limit, now)
            assert perform(world.limit, now) == []
            assert state(world.limit) == before
            assert reply(world.limit, now) == status


@given(seeds)
def test_nothing_is_left_to_do_after_a_command(seed: int) -> None:
    for world in worlds(seed):
        if world.limit.exists:
            perform_at = max(world.at, world.limit.last_at)
            world.play(Wake(at=perform_at))
            assert perform(world.limit, Wake(at=perform_at)) == []
            due = wake_at(world.limit)
            assert due is None or due > perform_at


@given(seeds)
def test_no_permit_is_lost_and_nobody_waits_for_ever(seed: int) -> None:
    *_, world = worlds(seed)
    queued = {name for name, want in world.wants.items() if want.stage == "asking"}
    world.heal()
    assert not world.limit.places
    assert not world.limit.held
    had = {f"{event.holder}#{event.number}" for event in given_to(world)}
    for name in queued:
        want = world.wants[name]
        if want.asked.on_conflict == "queue" and want.stage != "denied":
            assert name in had


@given(seeds)
def test_a_key_that_nobody_uses_is_forgotten(seed: int) -> None:
    *_, world = worlds(seed, steps=60)
    world.heal()
    for _ in range(5):
        due = wake_at(world.limit)
        if due is None:
            break
        world.at = max(world.at, due)
        world.play(Wake(at=world.at))
    assert limit_key.is_idle(world.limit)
    assert wake_at(world.limit) is None
    assert limit_key.resume(world.limit) == []


@given(seeds)
def test_between_two_turns_of_a_share_that_waits_no_other_share_has_two(seed: int) -> None:
    chance = random.Random(seed)
    limit, at, using = LimitKey(), 0.0, list[str]()
    since: dict[str, Counter[str]] = {}  # by share that waits: who had turns since it had its last
    for n in range(200):
        at += 1.0
        if chance.random() < 0.6 or not using:
            events = perform(limit, ask(f"r{n}", at=at, share=chance.choice("abcd")))
        else:
            events = perform(limit, give_back(using.pop(), at=at))
        for event in events:
            if isinstance(event, PermitGiven):
                using.append(event.holder.split("/")[2])
                if event.errand:
                    for turns in since.values():
                        turns[event.share] += 1
                    since[event.share] = Counter()
        since = {share: since.get(share, Counter()) for share in limit.lines}
        assert all(count <= 1 for share, turns in since.items() for count in turns.values()), since


def test_shares_get_equal_turns_however_many_of_each_wait() -> None:
    limit = LimitKey()
    perform(limit, ask("first"))
    for n in range(30):
        perform(limit, ask(f"many{n}", share="many"))
    for n in range(3):
        perform(limit, ask(f"few{n}", share="few"))
    holder, served = "first", []
    for n in range(8):
        events = perform(limit, give_back(holder, at=1.0 + n))
        (chosen,) = [event for event in events if isinstance(event, PermitGiven)]
        holder = chosen.holder.split("/")[2]
        served.append(holder)
    assert served == ["many0", "few0", "many1", "few1", "many2", "few2", "many3", "many4"]


def test_in_one_share_priority_goes_first_until_the_others_have_waited_long_enough() -> None:
    limit = LimitKey()
    perform(limit, ask("first"))
    perform(limit, ask("patient", at=0.0))
    perform(limit, ask("urgent", at=29.0, priority=1))
    perform(limit, ask("late", at=31.0, priority=1))
    served, holder = [], "first"
    for n in range(3):
        (chosen,) = [e for e in perform(limit, give_back(holder, at=40.0 + n)) if isinstance(e, PermitGiven)]
        holder = chosen.holder.split("/")[2]
        served.append(holder)
    assert served == ["urgent", "patient", "late"]


def test_the_next_one_has_the_permit_in_the_very_moment_it_is_returned_and_is_nudged() -> None:
    limit = LimitKey()
    assert reply_after(limit, ask("one")) == "granted"
    assert reply_after(limit, ask("two", errand="permit 4")) == "waiting"
    events = perform(limit, give_back("one", at=3.0))
    assert limit_key.effects(events) == [Nudge(run_key("two").text(), "permit 4")]
    assert reply_after(limit, ask("two")) == "granted"


def test_who_skips_is_denied_for_good_and_who_gave_back_stays_without() -> None:
    limit = LimitKey()
    perform(limit, ask("one"))
    skip = ask("two", on_conflict="skip")
    assert reply_after(limit, skip) == "denied"
    assert limit_key.reason(limit, skip) == "the limit of 1 is reached"
    perform(limit, give_back("one", at=1.0))
    assert reply_after(limit, skip) == "denied"
    assert reply_after(limit, ask("one", at=2.0)) == "returned"
    assert not limit.held


def test_who_gives_back_before_it_was_heard_asking_does_not_get_it_afterwards() -> None:
    limit = LimitKey()
    perform(limit, ask("one"))
    perform(limit, give_back("two", at=1.0))
    perform(limit, give_back("one", at=2.0))
    assert reply_after(limit, ask("two", at=3.0)) == "returned"
    assert limit_key.reason(limit, ask("two")) == "its permit was taken away"


def test_one_that_replaces_has_the_oldest_cancelled_and_only_the_newest_waits() -> None:
    limit = LimitKey()
    perform(limit, ask("old", most=2))
    perform(limit, ask("newer", most=2))
    events = perform(limit, ask("third", most=2, on_conflict="replace", at=5.0, errand="e3"))
    cancel = CancelOther("cancel:run/default/old#1", "old", "a newer run took its place")  # type: ignore[arg-type]
    assert limit_key.effects(events) == [cancel]
    events = perform(limit, ask("fourth", most=2, on_conflict="replace", at=6.0))
    assert limit_key.effects(events) == [Nudge("run/default/third", "e3")]  # and nobody else is cancelled
    third = ask("third", most=2, on_conflict="replace", at=7.0)
    assert reply_after(limit, third) == "denied"
    assert limit_key.reason(limit, third) == "a newer run took its place"
    assert limit_key.resume(limit) == [cancel]
    perform(limit, Answered(errand=cancel.errand, status="cancelled", at=8.0))
    assert limit_key.resume(limit) == []
    assert reply_after(limit, ask("fourth", most=2, on_conflict="replace", at=9.0)) == "waiting"
    perform(limit, give_back("old", at=10.0))
    assert reply_after(limit, ask("fourth", most=2, on_conflict="replace", at=11.0)) == "granted"


def test_one_that_replaces_goes_before_those_that_queue() -> None:
    limit = LimitKey()
    perform(limit, ask("old"))
    perform(limit, ask("patient"))
    perform(limit, ask("pushing", on_conflict="replace"))
    perform(limit, give_back("old", at=1.0))
    assert reply_after(limit, ask("pushing", on_conflict="replace", at=2.0)) == "granted"
    assert reply_after(limit, ask("patient", at=2.0)) == "waiting"


def test_a_silent_holder_is_asked_after_a_minute_then_ever_more_seldom() -> None:
    limit = LimitKey()
    perform(limit, ask("one", at=0.0))
    asked_at, at = [], 0.0
    for _ in range(7):
        due = wake_at(limit)
        assert due is not None
        at = due
        events = perform(limit, Wake(at=at))
        question = CheckHolder("check:run/default/one#1", "one", 1)  # type: ignore[arg-type]
        assert limit_key.effects(events) == [question]
        assert limit_key.resume(limit) == [question]
        asked_at.append(at)
        perform(limit, Answered(errand=question.errand, status="held", at=at))
    assert [later - earlier for earlier, later in pairwise([0.0, *asked_at])] == [
        60.0, 120.0, 240.0, 480.0, 600.0, 600.0, 600.0,
    ]  # fmt: skip


def test_a_permit_whose_holder_is_gone_goes_to_the_next() -> None:
    limit = LimitKey()
    perform(limit, ask("one", at=0.0))
    perform(limit, ask("two", at=0.0))
    perform(limit, Wake(at=60.0))
    perform(limit, Answered(errand="check:run/default/one#1", status="gone", at=61.0))
    assert reply_after(limit, ask("two", at=62.0)) == "granted"
    assert reply_after(limit, ask("one", at=62.0)) == "returned"


def test_who_gives_back_what_it_is_asked_about_need_not_answer_any_more() -> None:
    limit = LimitKey()
    perform(limit, ask("one", at=0.0))
    perform(limit, Wake(at=60.0))
    events = perform(limit, give_back("one", at=61.0))
    assert limit_key.effects(events) == [Forget("check:run/default/one#1")]
    assert limit_key.resume(limit) == []


def test_a_limit_that_is_raised_lets_those_in_that_wait_and_a_lowered_one_takes_nothing_away() -> None:
    limit = LimitKey()
    for name in "abc":
        perform(limit, ask(name, at=0.0))
    perform(limit, ask("d", most=3, at=1.0))
    assert set(limit.held) == {f"run/default/{name}#1" for name in "abc"}
    perform(limit, ask("e", most=1, at=2.0))
    assert len(limit.held) == 3
    for name in "ab":
        perform(limit, give_back(name, at=3.0))
    assert set(limit.held) == {"run/default/c#1"}
    perform(limit, give_back("c", at=4.0))
    assert set(limit.held) == {"run/default/d#1"}


def test_a_rate_gives_no_less_than_it_says_if_it_is_woken_in_time() -> None:
    limit = LimitKey()
    times: list[float] = []
    for n in range(100):
        times += [
            e.at for e in perform(limit, ask(f"r{n}", most=10, per_s=60.0)) if isinstance(e, PermitGiven)
        ]
    while limit.places:
        due = wake_at(limit)
        assert due is not None
        times += [e.at for e in perform(limit, Wake(at=due)) if isinstance(e, PermitGiven)]
    assert times == [60.0 * (n // 10) for n in range(100)]


def test_a_rate_permit_is_used_up_and_asking_again_uses_no_other() -> None:
    limit = LimitKey()
    assert reply_after(limit, ask("one", most=2, per_s=60.0)) == "granted"
    assert reply_after(limit, ask("one", most=2, per_s=60.0, at=1.0)) == "granted"
    perform(limit, give_back("one", at=2.0))
    assert reply_after(limit, ask("two", most=2, per_s=60.0, at=3.0)) == "granted"
    assert reply_after(limit, ask("three", most=2, per_s=60.0, at=4.0)) == "waiting"


def test_a_busy_key_does_not_grow() -> None:
    limit, rate = LimitKey(), LimitKey()
    sizes = []
    for n in range(30_000):
        at = n * 0.01
        perform(limit, ask(f"run-{n}", at=at))
        perform(limit, give_back(f"run-{n}", at=at))
        perform(rate, ask(f"run-{n}", most=100_000, per_s=100.0, at=at))
        if n % 10_000 == 9_999:
            sizes.append((len(state(limit)), len(state(rate))))
    assert len(limit.done) == len(rate.done) == 10_000
    assert len(rate.spent) <= 1_001
    assert sizes[2][0] < 1.2 * sizes[0][0]
    assert sizes[2][1] < 1.2 * sizes[0][1]


def test_more_than_a_turn_can_give_follows_in_the_next() -> None:
    limit = LimitKey()
    for n in range(3_001):
        perform(limit, ask(f"r{n}", at=0.0))
    perform(limit, ask("wider", most=3_500, at=1.0))
    turns = 0
    while limit.places:
        assert wake_at(limit) == 1.0
        perform(limit, Wake(at=1.0))
        turns += 1
    assert 0 < turns <= 2
    assert len(limit.held) == 3_002


def test_only_so_many_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_key, "WAITING_MAX", 2)
    limit = LimitKey()
    for name in "abc":
        perform(limit, ask(name))
    assert reply_after(limit, ask("d")) == "denied"
    assert limit_key.reason(limit, ask("d")) == "2 wait for this limit already"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"holder": "workflow/default/w"}, "is no holder"),
        ({"holder": "run/x"}, "is no holder"),
        ({"number": 0}, "is no holder"),
        ({"most": 0}, "from 1 to 100000, not 0"),
        ({"most": 100_001}, "not 100001"),
        ({"per_s": 0.0}, "more than 0"),
        ({"per_s": -1.0}, "more than 0"),
        ({"per_s": float("nan")}, "more than 0"),
        ({"per_s": 1e12}, "at most"),
        ({"on_conflict": "wait"}, "queue, skip or replace, not by 'wait'"),
        ({"on_conflict": "replace", "per_s": 1.0}, "nobody to replace"),
        ({"priority": 10_001}, "a priority"),
        ({"share": "x" * 201}, "a share"),
    ],
)
def test_a_bad_question_is_refused_and_changes_nothing(given: dict[str, object], words: str) -> None:
    limit = LimitKey()
    good = msgspec.structs.asdict(ask("one"))
    with pytest.raises(Refused, match=words):
        perform(limit, AskPermit(**{**good, **given}))
    assert limit == LimitKey()


def test_a_key_is_one_of_a_rate_or_of_a_limit_at_once() -> None:
    limit = LimitKey()
    perform(limit, ask("one"))
    with pytest.raises(Refused, match="cannot be both"):
        perform(limit, ask("two", per_s=1.0))
    assert limit_key.id_of("api", None) == "concurrency:api"
    assert limit_key.id_of("api", 1.0) == "rate:api"


@pytest.mark.parametrize("key", ["", "x" * 401, "a\nb", "\ud800"])
def test_a_bad_key_has_no_id(key: str) -> None:
    with pytest.raises(ValueError, match="key of a limit"):
        limit_key.id_of(key, None)


def test_answers_to_nothing_we_asked_change_nothing() -> None:
    limit = LimitKey()
    perform(limit, ask("one"))
    for errand in (
        "",
        "check:",
        "check:run/default/other#1",
        "cancel:run/default/one#1",
        "noise",
        "check:x#y",
    ):
        for status in ("gone", "held", "refused", ""):
            assert perform(limit, Answered(errand=errand, status=status, at=1.0)) == []


def test_the_stories_tell_of_everything() -> None:
    """Else the laws would say nothing about it."""
    told: Counter[str] = Counter()
    late = 0
    for seed in range(60):
        *_, world = worlds(seed)
        told.update(type(event).__name__ for event in world.events)
        late += sum(isinstance(event, PermitRefused) and bool(event.errand) for event in world.events)
        forgotten = [n for n, event in enumerate(world.events) if isinstance(event, LimitForgotten)]
        told["after forgotten"] += any(isinstance(e, PlaceTaken) for n in forgotten for e in world.events[n:])
    for kind in (*(kind.__name__ for kind in LimitEvent.__args__), "after forgotten"):
        assert told[kind], kind
    assert late


def test_the_events_travel_by_name() -> None:
    for seed in range(5):
        *_, world = worlds(seed)
        for event in world.events:
            assert codec.decode_event(codec.name(event), 1, codec.encode_event(event)) == event


def reply_after(limit: LimitKey, command: AskPermit) -> str:
    perform(limit, command)
    return reply(limit, command)
