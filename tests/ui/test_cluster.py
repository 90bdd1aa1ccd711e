"""The page of the cluster: a single engine, and nodes that come, go and die."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.cluster.machines import Cluster, a_cluster
from tests.ui.browser import WITHIN_MS, check_accessible
from tests.ui.conftest import OpenPage, Server
from tests.waiting import wait_until
from windlass.postgres import connect

ASLEEP = b"id: asleep\nsteps: {nap: {kind: signal, with: {name: wake}}}\n"
SHARDS = 12
SLOW = "windlass test of slow moves"


def test_a_single_engine_says_so_and_how_to_have_more(page: Page) -> None:
    page.goto("/ui/cluster")
    expect(page.get_by_text("This is a single engine")).to_be_visible()
    expect(page.get_by_role("button", name="Copy: make cluster")).to_be_visible()
    expect(page.get_by_text("1 node · 100 of 100 shards open")).to_be_visible()
    drain = page.get_by_role("button", name="Drain local")
    expect(drain).to_be_disabled()
    expect(drain).to_have_accessible_description(re.compile("no other node"))
    check_accessible(page)


def test_the_map_shows_every_shard_and_the_keyboard_goes_through_it(page: Page) -> None:
    page.goto("/ui/cluster")
    options = page.get_by_role("option", name=re.compile(r"^Shard \d+: local,"))
    expect(options).to_have_count(100)
    options.first.focus()
    expect(page.locator(".shard-told")).to_contain_text("Shard 0: local")
    page.keyboard.press("ArrowRight")
    expect(options.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(options.nth(99)).to_be_focused()
    expect(page.locator(".shard-told")).to_contain_text("Shard 99: local")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/ui/cluster?shard=99")
    expect(page.get_by_role("heading", name="What lives in shard 99")).to_be_visible()
    check_accessible(page)


def test_what_lives_in_a_shard_leads_to_its_page(server: Server, page: Page) -> None:
    server.client.apply("asleep", ASLEEP, "application/yaml")
    run = "asleep-in-a-shard"
    server.client.start("asleep", run_id=run)
    with urlopen(f"{server.url}/api/v1/cluster/run/{run}/location", timeout=10) as answer:
        place = json.load(answer)
    page.goto(f"/ui/cluster?shard={place['shardId']}")
    page.get_by_role("link", name=f"run/default/{run}").click()
    expect(page).to_have_url(f"/ui/runs/{run}")


def test_the_map_has_a_table_beside_it(page: Page) -> None:
    page.goto("/ui/cluster")
    page.get_by_role("button", name="Table").click()
    expect(page).to_have_url("/ui/cluster?shards=table")
    rows = page.get_by_role("table", name="All shards").get_by_role("row")
    expect(rows).to_have_count(101)
    expect(rows.nth(1)).to_contain_text("local")
    check_accessible(page)


def test_the_figures_of_the_journal_follow_what_happens(server: Server, page: Page) -> None:
    server.client.apply("asleep", ASLEEP, "application/yaml")
    page.goto("/ui/cluster")
    card = page.get_by_role("region", name="Journal and commits", exact=True)
    expect(card.get_by_text("can be written")).to_be_visible()
    expect(card.locator("dt", has_text=re.compile("^Commit takes")).locator("xpath=../dd")).to_contain_text(
        "ms"
    )
    started = card.locator("dt", has_text="Runs started").locator("xpath=../dd")
    before = started.inner_text()
    server.client.start("asleep", run_id="asleep-and-counted")
    expect(started).not_to_have_text(before)


def test_events_are_filtered_in_the_address(page: Page) -> None:
    page.goto("/ui/cluster")
    expect(page.get_by_role("table", name="Events").get_by_text("local joined")).to_be_visible()
    page.get_by_label("Show", exact=True).select_option("failovers")
    expect(page).to_have_url("/ui/cluster?events=failover")
    expect(page.get_by_text("Nothing of this kind has happened")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Show", exact=True)).to_have_value("failover")


@pytest.fixture(scope="module")
def nodes(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for this file: its last test takes it apart."""
    with a_cluster(tmp_path_factory.mktemp("nodes"), "n1", "n2", "n3", shards=SHARDS) as cluster:
        cluster.until_level("n1", "n2", "n3")
        yield cluster


@contextmanager
def slow_to_move(nodes: Cluster, shards: Sequence[int]) -> Iterator[None]:
    """Whoever would give or take one of these shards waits, as for a database that is slow."""

    async def hold() -> None:
        cx = await connect(nodes.place, application=SLOW, statement_timeout_s=None)
        try:
            locked = f"SELECT FROM shards WHERE shard = ANY (ARRAY{list(shards)}) FOR UPDATE"
            # At work, not idle: who keeps a shard from its next owner while it does nothing is thrown out.
            await cx.execute(f"BEGIN; {locked}; SELECT pg_sleep(120); ROLLBACK")
        finally:
            cx.terminate()

    holding = nodes.stage.spawn(hold())
    asleep = "FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'"
    wait_until(lambda: nodes.value(f"SELECT count(*) {asleep}", SLOW))
    try:
        yield
    finally:
        # Its end is the end of the transaction: a client that is gone would not be noticed before.
        nodes.rows(f"SELECT pg_terminate_backend(pid) {asleep}", SLOW)
        nodes.stage.loop.call_soon_threadsafe(holding.cancel)


def test_journal_and_commit_figures_are_those_of_every_node(nodes: Cluster, opened: OpenPage) -> None:
    page = opened(nodes["n1"].url)
    page.goto("/ui/cluster")
    card = page.get_by_role("region", name="Journal and commits", exact=True)
    table = card.get_by_role("table", name="Journal and commits of all nodes")
    for name in nodes.machines:
        expect(table.get_by_role("row", name=re.compile(name))).to_contain_text("can be written")
    expect(card.get_by_text("Of n1, since it started")).to_be_visible()
    card.get_by_role("button", name="All figures of n3").click()
    expect(page).to_have_url("/ui/cluster?figures=n3")
    expect(card.get_by_text("Of n3, since it started")).to_be_visible()
    expect(card.get_by_text("fresh: it surely owns its shards")).to_be_visible()
    check_accessible(page)


def test_a_node_is_drained_and_another_dies_before_the_eyes_of_the_page(
    nodes: Cluster, opened: OpenPage
) -> None:
    page = opened(nodes["n1"].url)
    page.goto("/ui/cluster")
    expect(page.get_by_text(f"3 nodes · {SHARDS} of {SHARDS} shards open")).to_be_visible()
    for name in nodes.machines:
        expect(page.get_by_text(f"{name}: {SHARDS // 3} shards")).to_be_visible()
    check_accessible(page)

    moved = nodes.shards_of("n3")
    with slow_to_move(nodes, moved):
        page.get_by_role("button", name="Drain n3").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading", name="Drain n3?")).to_be_visible()
        expect(dialog.get_by_text(f"hands over its {SHARDS // 3} shards")).to_be_visible()
        dialog.get_by_role("button", name="Drain").click()
        expect(page.get_by_text("n3 hands over what it has")).to_be_visible()
        expect(page.get_by_text(f"{len(moved)} shards are moving now.")).to_be_visible(timeout=WITHIN_MS)
        expect(page.get_by_text(f"{len(moved)} moving away")).to_be_visible()
        for number in moved:
            option = page.get_by_role("option", name=re.compile(rf"^Shard {number}: n3,.*moves to n[12]"))
            expect(option).to_have_class(re.compile(r"\bmoving\b"))
        check_accessible(page)
    expect(page.get_by_text("n3: 0 shards")).to_be_visible(timeout=WITHIN_MS)
    expect(page.get_by_text(f"{len(moved)} shards have just moved.")).to_be_visible()
    row = page.get_by_role("table", name="All nodes").get_by_role("row", name=re.compile("n3"))
    expect(row.locator(".status", has_text="Leaving")).to_be_visible()
    expect(row.get_by_role("button", name="Drain n3")).to_be_disabled()
    events = page.get_by_role("table", name="Events")
    expect(events.get_by_text("n3 is leaving")).to_be_visible()
    expect(events.get_by_text("Rebalance ended").first).to_be_visible()
    for number in moved:
        option = page.get_by_role("option", name=re.compile(rf"^Shard {number}: n[12],.*just came from n3"))
        expect(option).to_have_class(re.compile(r"\bmoved\b"))
        expect(events.get_by_text(re.compile(rf"^Shard {number}: n3 → n[12]")).first).to_be_visible()

    lost = nodes.shards_of("n2")
    nodes["n2"].kill()
    expect(page.get_by_text(f"n1: {SHARDS} shards")).to_be_visible(timeout=WITHIN_MS)
    told = events.get_by_role("row", name=re.compile("n2 died, others took over"))
    expect(told).to_contain_text(re.compile(r"\d\s(s|ms)$"))
    failovers = page.locator("dt", has_text=re.compile("^Last downtime$")).locator("xpath=../dd")
    expect(failovers).to_contain_text(re.compile(r"\d\s(s|ms)$"))
    expect(page.get_by_role("table", name="All nodes").locator(".status", has_text="Dead")).to_be_visible()
    for number in lost:
        expect(page.get_by_role("option", name=re.compile(rf"^Shard {number}: n1,.*from n2"))).to_be_visible()
    page.get_by_role("button", name="Table").click()
    rows = page.get_by_role("table", name="All shards")
    for number in lost:
        expect(rows.get_by_role("row", name=re.compile(rf"^{number} .*n2 · "))).to_be_visible()
    check_accessible(page)


def test_who_is_of_one_namespace_is_told_why_there_is_nothing_to_see(
    locked: Server, opened: OpenPage
) -> None:
    page = opened(locked.url)
    page.context.add_cookies(
        [{"name": "windlass", "value": locked.token("operator", "--namespace", "team"), "url": locked.url}]
    )
    page.goto("/ui/cluster")
    expect(page.get_by_text("needs a token of all of them")).to_be_visible()
    check_accessible(page)


def test_who_may_only_read_sees_the_cluster_and_may_not_drain(locked: Server, opened: OpenPage) -> None:
    page = opened(locked.url)
    page.context.add_cookies(
        [{"name": "windlass", "value": locked.token("read", "--namespace", "*"), "url": locked.url}]
    )
    page.goto("/ui/cluster")
    expect(page.get_by_role("option", name=re.compile("^Shard "))).to_have_count(100)
    expect(page.get_by_role("button", name="Drain local")).to_have_accessible_description(
        re.compile("needs the role admin; yours is read")
    )
