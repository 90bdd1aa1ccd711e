"""`windlass schedule` and `windlass hook`, against an engine of their own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.aside import aside
from tests.gateway.house import ONE_STEP, house
from windlass.cli import main
from windlass.sdk.client import Client
from windlass.vault import Keyring


@dataclass(frozen=True, slots=True)
class Place:
    url: str


@asynccontextmanager
async def opened() -> AsyncIterator[Place]:
    async with house(keyring=Keyring([b"k" * 32])) as home:
        for name in ("one", "other"):
            await home.save({**ONE_STEP, "id": name})
        await home.save({**ONE_STEP, "id": "typed", "inputs": {"day": "string", "count": "integer"}})
        yield Place(f"http://127.0.0.1:{home.port}")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with aside(opened()) as found:
        yield found


def call(place: Place, *words: str) -> Result:
    return CliRunner().invoke(main, ["--server", place.url, *words])


def schedule(place: Place, *words: str) -> str:
    done = call(place, "schedule", *words)
    assert done.exit_code == 0, done.output
    return done.stdout


def told(place: Place, *words: str) -> Any:
    return json.loads(schedule(place, *words, "--json"))


def test_one_is_set_shown_paused_resumed_and_deleted(place: Place) -> None:
    assert "no schedules yet" in schedule(place, "list", "--workflow", "other")
    words = ["--cron", "0 2 * * *", "--timezone", "Europe/Berlin", "-i", "day=5", "--label", "team=sales"]
    made = schedule(place, "set", "other", *words, "--catch-up", "2h", "--overlap", "queue")
    assert made.startswith("other: 0 2 * * * Europe/Berlin, next ")
    shown = told(place, "show", "other")
    assert (shown["input"], shown["labels"]) == ({"day": 5}, {"team": "sales"})
    assert (shown["catchUp"], shown["overlap"]) == ("2h", "queue")
    lines = [line.split(maxsplit=1) for line in schedule(place, "show", "other").splitlines()]
    assert ["input", '{"day": 5}'] in lines
    assert ["labels", "team=sales"] in lines
    listed = schedule(place, "list")
    assert "0 2 * * * Europe/Berlin" in listed
    assert "other: rests" in schedule(place, "pause", "other")
    assert "paused" in schedule(place, "list")
    assert told(place, "show", "other")["paused"] is True
    assert "goes on" in schedule(place, "resume", "other")
    assert told(place, "show", "other")["paused"] is False
    assert "is removed" in schedule(place, "delete", "other")
    gone = call(place, "schedule", "show", "other")
    assert gone.exit_code == 7
    assert "has no schedule default" in gone.output


def test_one_of_several_is_meant_by_its_name(place: Place) -> None:
    schedule(place, "set", "one", "--name", "hourly", "--every", "1h", "--paused")
    shown = told(place, "show", "one", "--name", "hourly")
    assert (shown["id"], shown["every"], shown["paused"]) == ("one/hourly", "1h", True)
    assert call(place, "schedule", "show", "one").exit_code == 7
    assert "one/hourly: is removed" in schedule(place, "delete", "one", "--name", "hourly")


def test_it_is_fired_now_and_for_a_past_range(place: Place) -> None:
    schedule(place, "set", "one", "--cron", "0 2 * * *", "--overlap", "allow")
    fired = schedule(place, "trigger", "one", "-i", "day=7")
    run = fired.partition(":")[0] + ":" + fired.split(":")[1]
    with Client(place.url) as client:
        assert client.run(run)["input"] == {"day": 7}
    rest = ("backfill", "one", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")
    asked = schedule(place, *rest, "--dry-run")
    assert asked.splitlines() == ["2026-01-01T02:00:00Z", "2026-01-02T02:00:00Z", "one: 2 times were due"]
    assert "one: 2 times are made up for" in schedule(place, *rest, "--one-by-one")
    shown = schedule(place, "show", "one")
    assert run in shown
    assert "fired" in shown
    schedule(place, "delete", "one")


def test_inputs_are_as_the_workflow_declares_them_and_what_does_not_fit_is_told_at_once(place: Place) -> None:
    given = ("-i", "day=5", "-i", "count=7")
    schedule(place, "set", "typed", "--cron", "0 2 * * *", *given)
    assert told(place, "show", "typed")["input"] == {"day": "5", "count": 7}
    fired = told(place, "trigger", "typed", "-i", "day=20260101")
    with Client(place.url) as client:
        assert client.run(fired["runId"])["input"] == {"day": "20260101"}
    for words in (("set", "typed", "--every", "1h"), ("trigger", "typed")):
        wrong = call(place, "schedule", *words, "-i", "count=many")
        assert wrong.exit_code == 7
        assert "/input/count: expected a whole number" in wrong.output
    schedule(place, "delete", "typed")


def test_paused_is_paused_also_where_it_was_resumed_before(place: Place) -> None:
    for _ in range(2):
        schedule(place, "set", "one", "--every", "1h", "--paused")
        assert told(place, "show", "one")["paused"] is True
        schedule(place, "resume", "one")
    schedule(place, "delete", "one")


def test_the_next_times_are_told_in_both_zones(place: Place) -> None:
    schedule(place, "set", "one", "--cron", "0 2 * * *", "--timezone", "Asia/Tokyo")
    lines = schedule(place, "next", "one", "--count", "2", "--after", "2026-01-01T00:00:00Z").splitlines()
    assert lines[0].split() == ["UTC", "Asia/Tokyo"]
    assert lines[1].split() == ["2026-01-01T17:00:00Z", "2026-01-02T02:00:00+09:00"]
    assert len(lines) == 3
    schedule(place, "set", "one", "--cron", "0 0 0 1 1 ? 2020")
    assert "never again" in schedule(place, "next", "one")
    schedule(place, "delete", "one")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["set", "one"], 7, "is missing"),
        (["set", "one", "--cron", "61 * * * *"], 7, "61"),
        (["set", "one", "--every", "often"], 2, "no duration"),
        (["set", "nobody", "--every", "1h"], 7, "there is no"),
        (["set", "one", "--every", "1h", "--overlap", "never"], 2, "never"),
        (["trigger", "one", "--name", "none"], 7, "has no schedule none"),
        (["backfill", "one", "yesterday", "today", "--name", "none"], 7, "has no schedule none"),
        (["next", "one", "--count", "0"], 2, "0"),
    ],
)
def test_mistakes_are_told_in_words(place: Place, words: list[str], code: int, said: str) -> None:
    done = call(place, "schedule", *words)
    assert done.exit_code == code, done.output
    assert said in done.output


# Webhooks that come in.


def test_a_hook_is_made_with_its_address_and_its_secret_and_starts_runs(place: Place) -> None:
    made = call(
        place, "hook", "create", "deploy", "--workflow", "one", "--event", "push", "-i", "ref=body.ref"
    )
    assert made.exit_code == 0, made.output
    first, _, url, _, secret = made.stdout.splitlines()
    assert first == "deploy: starts one on push"
    assert url == f"{place.url}/api/v1/hooks/deploy"
    assert secret.startswith("whsec_")
    listed = call(place, "hook", "list")
    assert "starts one on push" in listed.stdout and secret not in listed.stdout
    again = call(place, "hook", "create", "deploy", "--workflow", "one")
    assert secret not in again.stdout and "its secret" not in again.stdout
    newer = json.loads(
        call(place, "hook", "create", "deploy", "--workflow", "one", "--new-secret", "--json").stdout
    )
    assert newer["secret"] not in (None, secret)
    assert newer["url"] == url
    assert call(place, "hook", "delete", "deploy").exit_code == 0
    assert call(place, "hook", "delete", "deploy").exit_code == 7
    assert "no hooks yet" in call(place, "hook", "list").stdout


def test_a_hook_for_signals_takes_the_sender_s_own_secret(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("whsec_of_the_sender_itself\n")
    words = ("create", "paid", "--signal", "payment", "--run", "body.run", "--check", "stripe")
    made = call(place, "hook", *words, "--secret-file", str(file))
    assert made.exit_code == 0, made.output
    assert made.stdout.splitlines()[0] == "paid: sends payment to the run at body.run"
    assert "whsec_" not in made.stdout
    call(place, "hook", "delete", "paid")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["create", "x"], 2, "--workflow ID"),
        (["create", "x", "--workflow", "one", "--signal", "s"], 2, "--workflow ID"),
        (["create", "x", "--signal", "s"], 7, "`run` is missing"),
        (["create", "x", "--signal", "s", "--run", "nowhere"], 7, "write a path"),
        (["create", "-x", "--workflow", "one"], 2, "-x"),
        (["create", "x", "--workflow", "one", "--check", "trust"], 2, "trust"),
    ],
)
def test_mistakes_in_a_hook_are_told_in_words(place: Place, words: list[str], code: int, said: str) -> None:
    done = call(place, "hook", *words)
    assert done.exit_code == code, done.output
    assert said in done.output
