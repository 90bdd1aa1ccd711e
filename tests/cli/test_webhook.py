"""`windlass webhook`, against an engine of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.aside import aside
from tests.gateway.test_webhooks import home
from tests.outward.test_outward import Server, serving
from windlass.cli import main
from windlass.cli.settings import resolve
from windlass.config import NodeConfig
from windlass.core.errors import Invalid
from windlass.reach import for_steps, for_webhooks


@dataclass(frozen=True, slots=True)
class Place:
    url: str
    receiver: Server


@asynccontextmanager
async def opened() -> AsyncIterator[Place]:
    async with home() as house, serving() as receiver:
        yield Place(f"http://127.0.0.1:{house.port}", receiver)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with aside(opened()) as found:
        yield found


def webhook(place: Place, *words: str) -> Result:
    return CliRunner().invoke(main, ["--server", place.url, "webhook", *words])


def add(place: Place, *words: str) -> dict[str, str]:
    url = f"http://127.0.0.1:{place.receiver.port}/in"
    made = webhook(place, "add", url, "--on", "failed", *words, "--json")
    assert made.exit_code == 0, made.output
    answer: dict[str, str] = json.loads(made.stdout)
    return answer


def test_one_is_made_listed_tried_and_deleted(place: Place) -> None:
    url = f"http://127.0.0.1:{place.receiver.port}/in"
    made = webhook(place, "add", url, "--on", "failed", "--on", "stuck", "--workflow", "nightly")
    assert made.exit_code == 0, made.output
    first, _, secret = made.stdout.splitlines()
    ident = first.partition(":")[0]
    assert "failed, stuck of nightly" in first
    assert secret.startswith("whsec_")
    listed = webhook(place, "list")
    assert ident in listed.stdout and secret not in listed.stdout
    tried = webhook(place, "test", ident)
    assert tried.exit_code == 0, tried.output
    assert "it answered 200" in tried.stdout
    assert webhook(place, "delete", ident).exit_code == 0
    assert ident not in webhook(place, "list", "--json").stdout
    assert webhook(place, "delete", ident).exit_code == 7


def test_one_that_is_not_delivered_is_told_with_the_reason(place: Place) -> None:
    made = add(place)
    place.receiver.status = 500
    try:
        tried = webhook(place, "test", made["id"])
        assert tried.exit_code == 7
        assert "it answered 500" in tried.output
        tried = webhook(place, "test", made["id"], "--json")
        assert tried.exit_code == 7
        assert json.loads(tried.stdout)["status"] == 500
    finally:
        place.receiver.status = 200


def test_a_private_address_is_refused_in_words(place: Place) -> None:
    refused = webhook(place, "add", "http://10.0.0.1/", "--on", "failed")
    assert refused.exit_code == 7
    assert "10.0.0.1 is private" in refused.output


# The settings behind it.


def config(**options: object) -> NodeConfig:
    return resolve({"database": "postgresql://x", **options}, {}, {}, file_name="")


def test_steps_may_go_anywhere_and_webhooks_may_not_unless_it_is_said() -> None:
    usual = config()
    assert for_steps(usual).why_not("127.0.0.1") == ""
    assert for_webhooks(usual).why_not("127.0.0.1")
    strict = config(http_private="deny", allow_network=["10.1.0.0/16"])
    for rule in (for_steps(strict), for_webhooks(strict)):
        assert rule.why_not("127.0.0.1")
        assert rule.why_not("10.1.2.3") == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"http_private": "perhaps"}, "neither allow nor deny"),
        ({"allow_network": ["10.0.0.1/8"]}, "is no network"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        config(**options)
    assert words in refused.value.faults[0].message


def test_up_refuses_it_too(tmp_path: Path) -> None:
    words = ["up", "--data", str(tmp_path), "--allow-network", "nowhere"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 2
    assert "--allow-network" in refused.output and "is no network" in refused.output
