"""`windlass limits`, against an engine of its own."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.cli import main
from windlass.sdk.client import Client

DOCUMENT = b"""
id: orders
concurrency: 1
steps:
  ask: {kind: signal, with: {name: go}}
"""


def limits(client: Client, *words: str) -> Result:
    return CliRunner().invoke(main, ["--server", client.url, "limits", *words])


def test_who_holds_a_limit_and_who_waits_is_shown_and_a_permit_can_be_taken_away(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (_, client):
        assert "no limit is in use" in limits(client, "list").output
        client.apply("orders", DOCUMENT, "application/yaml")
        client.start("orders", run_id="r1")
        wait_until(lambda: bool(client.limits()["items"]))
        client.start("orders", run_id="r2", labels={"share": "acme"})
        wait_until(lambda: client.limits()["items"][0]["waiting"] == 1)
        listed = limits(client, "list").output
        assert "orders" in listed and "1 at once" in listed
        shown = limits(client, "show", "orders").output
        assert "1 at once; 1 held, 1 waiting" in shown and "acme" in shown
        number = client.limit("orders")["holders"][0]["number"]
        taken = limits(client, "release", "orders", "r1", str(number), "--json")
        assert json.loads(taken.stdout) == {
            "key": "orders",
            "run": "r1",
            "number": number,
            "status": "returned",
        }
        wait_until(lambda: [who["run"] for who in client.limit("orders")["holders"]] == ["r2"])
        unknown = limits(client, "show", "orders", "--rate")
        assert unknown.exit_code != 0 and "nobody holds it" in unknown.output
        assert "there is a limit at once of this key: leave out --rate" in unknown.output
        nothing = limits(client, "show", "parcels")
        assert nothing.exit_code == unknown.exit_code and "--rate" not in nothing.output
