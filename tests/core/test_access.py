"""Roles, tokens and buckets: the rules alone."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import roles, tokens
from windlass.core.buckets import KNOWN_MAX, Buckets, Rate


@given(st.binary(min_size=48, max_size=48), st.binary(min_size=48, max_size=48))
def test_a_token_is_known_again_and_no_other_is_taken_for_it(one: bytes, other: bytes) -> None:
    minted, another = tokens.mint(one), tokens.mint(other)
    assert tokens.number_of(minted.text) == minted.number
    assert tokens.is_same(minted.text, minted.hash)
    assert tokens.is_same(another.text, minted.hash) == (another.text == minted.text)
    assert minted.text not in minted.hash


def test_tokens_from_the_systems_chance_differ_and_their_numbers_too() -> None:
    minted = [tokens.mint(os.urandom(48)) for _ in range(1_000)]
    assert len({each.text for each in minted}) == len({each.number for each in minted}) == 1_000


@pytest.mark.parametrize(
    "text", ["", "wl_", "wl_short_x", "a.b.c", f"wl_{'a' * 10}_{'b' * 42}", f"xx_{'a' * 54}"]
)
def test_what_does_not_look_like_a_token_has_no_number(text: str) -> None:
    assert tokens.number_of(text) is None


def test_a_role_that_may_more_may_all_that_a_lesser_one_may() -> None:
    ladder: list[roles.Role] = ["read", "submit", "operator", "admin"]
    for lesser, greater in pairwise(ladder):
        assert roles.RIGHTS[lesser] < roles.RIGHTS[greater]


def test_workers_and_nodes_may_nothing_at_the_door_of_people() -> None:
    for right in ("see", "start", "operate", "administer"):
        assert not {"worker", "node"}.intersection(roles.holders(right))


@given(st.lists(st.floats(min_value=0.0, max_value=5.0), max_size=50))
def test_a_bucket_never_gives_more_than_it_holds_and_what_has_flown_in(pauses: list[float]) -> None:
    buckets, now, taken = Buckets(Rate(per_s=2.0, burst=5.0)), 0.0, 0
    for pause in pauses:
        now += pause
        taken += buckets.take("one", now).wait_s == 0
        assert taken <= 5.0 + 2.0 * now + 1e-9


def test_who_waits_as_long_as_told_is_served() -> None:
    buckets = Buckets(Rate(per_s=0.5, burst=1.0))
    assert buckets.take("one", 0.0).wait_s == 0
    wait_s = buckets.take("one", 0.0).wait_s
    assert buckets.take("one", wait_s).wait_s == 0


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing() -> None:
    buckets = Buckets(Rate(per_s=1.0, burst=1.0))
    assert buckets.take("one", 100.0).wait_s == 0
    assert buckets.take("one", 0.0).wait_s > 0


def test_names_that_nobody_remembers_do_not_fill_memory() -> None:
    buckets = Buckets(Rate(per_s=1.0, burst=1.0))
    for n in range(KNOWN_MAX + 100):
        buckets.take(str(n), 0.0)
    assert len(buckets._levels) == KNOWN_MAX
