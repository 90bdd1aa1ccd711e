"""`windlass cluster`: who is in it, what each owns, and what happened of late."""

import json
import re
import subprocess

import pytest
from click.testing import CliRunner, Result

from tests.cli.calls import at_terminal
from tests.cli.clusters import AT, Pretended, event, node, pretended
from tests.cli.engines import environment, windlass
from windlass.cli import main
from windlass.cli.members import Members
from windlass.cli.picture import Picture, table
from windlass.core.errors import Unavailable
from windlass.sdk.client import Client


def shown(cluster: Pretended, *words: str, by: str = "n1") -> Result:
    return CliRunner().invoke(main, ["--server", cluster.urls[by], "cluster", *words])


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    assert not result.stderr
    return result.stdout.splitlines()


def test_without_a_terminal_it_is_one_plain_table() -> None:
    with pretended(node("n1", 34), node("n2", 33), node("n3", 33, roles=["engine"])) as cluster:
        summary, head, *rows = lines(shown(cluster))
        assert summary.startswith("windlass: 3 nodes, 100 of 100 shards open, 1,000 entities, at ")
        assert head.split() == [
            *("node", "state", "roles", "shards", "entities", "cpu", "memory", "slots", "version"),
            "address",
        ]
        assert [row.split()[0] for row in rows] == ["n1", "n2", "n3"]
        cells = re.split(r"\s{2,}", rows[2])
        address = cluster.node("n3")["address"]
        assert cells == ["n3", "up", "engine", "33", "330", "12 %", "40 % 210 MB", "3/16", "0.1.0", address]
        assert "\x1b" not in "".join(rows)


def test_a_node_that_is_unwell_says_how() -> None:
    with pretended(
        node("n1", 50, load={"overloaded": True}),
        node("n2", 50, state="leaving", load={"short": True, "slots": 0, "free": 0}),
        node("n3", 0, state="dead"),
    ) as cluster:
        summary, _, first, second, third = lines(shown(cluster))
        assert "2 nodes" in summary
        assert "up, overloaded" in first
        assert "leaving, refuses runs" in second
        assert "/" not in second
        assert re.split(r"\s{2,}", third)[1:5] == ["dead", "engine,gateway", "0", "0"]
        assert "%" not in third


def test_the_age_of_a_beat_is_shown_where_the_server_tells_it() -> None:
    with pretended(node("n1", 100, beatAgeSeconds=0.3)) as cluster:
        _, head, row = lines(shown(cluster))
        assert "beat" in head
        assert "0.3 s" in row


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_on_a_narrow_terminal_whole_columns_are_left_out_and_names_stay(columns: int) -> None:
    crew = [node(f"127.0.0.1:255{n}", 33, address=f"127.0.0.1:255{n}", beatAgeSeconds=0.3) for n in (1, 2)]
    crew[1]["load"]["overloaded"] = True
    stats = {"clusterName": "windlass", "sharding": {"totalShards": 1, "activeShards": 1, "totalEntities": 0}}
    names, rows = table(Picture(stats, crew, [], None, []), columns)
    widths = [max(len(str(cell)) for cell in column) for column in zip(names, *rows, strict=True)]
    assert sum(widths) + 2 * (len(widths) - 1) <= columns
    assert names[:3] == (["node", "state", "roles"] if columns > 80 else ["node", "state", "shards"])
    assert [str(row[0]) for row in rows] == ["127.0.0.1:2551", "127.0.0.1:2552"]
    assert str(rows[1][1]) == "up, overloaded"


def test_shards_without_an_owner_are_named() -> None:
    with pretended(node("n1", 98), ownerless=[3, 17]) as cluster:
        summary, *_, last = lines(shown(cluster))
        assert "98 of 100 shards open" in summary
        assert last == "shards without an owner: 3, 17"
    with pretended(node("n1", 75), ownerless=list(range(25))) as cluster:
        assert lines(shown(cluster))[-1].endswith("18, 19 and 5 more")


def test_the_shards_are_not_asked_for_one_by_one_while_all_is_well() -> None:
    with pretended(node("n1", 100)) as cluster:
        lines(shown(cluster))
        assert not [url for url in cluster.asked if "shards" in url]


@pytest.mark.parametrize("status", ["started", "ended"])
def test_a_rebalance_is_shown_while_it_goes_on(status: str) -> None:
    # Given one that lies behind many newer events
    told = [event("migration", shard=n, source="n1", target="n2") for n in range(20)]
    told += [event("rebalance", status=status, reason="n2 joined")]
    with pretended(node("n1", 60), node("n2", 40), events=told) as cluster:
        found = [line for line in lines(shown(cluster)) if line.startswith("rebalancing since ")]
    assert bool(found) == (status == "started")
    assert all(line.endswith(": n2 joined") for line in found)


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (event("member", node="n3", status="joined"), "member  n3 joined"),
        (event("member", node="n2", status="dead", reason="no beat"), "member  n2 dead: no beat"),
        (
            event("migration", shard=7, source="n1", target="n2", entities=1, reason="n2 joined"),
            "migration  shard 7 n1 → n2 (1 entity): n2 joined",
        ),
        (
            event("failover", shard=7, source="n1", target="n2", entities=1200, downtimeSeconds=4.25),
            "failover  shard 7 n1 → n2 (1,200 entities, 4.25 s)",
        ),
        (event("rebalance", status="ended", reason="n2 joined"), "rebalance  ended: n2 joined"),
        (event("rebalance", reason="\x1b[2J"), "rebalance  �[2J"),
    ],
)
def test_what_happened_is_told_in_a_line(happened: dict[str, object], told: str) -> None:
    with pretended(node("n1", 100), events=[happened]) as cluster:
        assert lines(shown(cluster))[-1].endswith(f"  {told}")


def test_only_the_last_ten_events_are_shown() -> None:
    many = [event("member", node=f"m{n}", status="joined") for n in range(30)]
    with pretended(node("n1", 100), events=many) as cluster:
        assert len(lines(shown(cluster))) == 3 + 10


def test_programs_get_everything() -> None:
    with pretended(node("n1", 60), node("n2", 40), events=[event("member", node="n1")]) as cluster:
        found = json.loads(shown(cluster, "--json").stdout)
    assert [each["name"] for each in found["nodes"]] == ["n1", "n2"]
    assert found["stats"]["sharding"]["totalShards"] == len(found["shards"]) == 100
    assert found["events"][0]["at"] == AT


def test_a_program_can_watch_line_by_line() -> None:
    with pretended(node("n1", 100)) as cluster:
        words = ["--server", cluster.urls["n1"], "cluster", "--watch", "--json"]
        with subprocess.Popen(
            [*windlass(), *words], stdout=subprocess.PIPE, text=True, env=environment()
        ) as watching:
            try:
                assert watching.stdout is not None
                looks = [json.loads(watching.stdout.readline()) for _ in range(2)]
            finally:
                watching.kill()
    assert [look["nodes"][0]["name"] for look in looks] == ["n1", "n1"]


def test_at_a_terminal_it_goes_on_until_ctrl_c() -> None:
    with pretended(node("n1", 60), node("n2", 40), events=[event("member", node="n2")]) as cluster:
        code, said = at_terminal(
            "--server", cluster.urls["n1"], "cluster", answers=[("Ctrl-C ends this", "\x03")]
        )
    assert code == 130
    assert "windlass" in said and "n2" in said
    assert "Traceback" not in said


def test_at_a_terminal_it_can_be_shown_once() -> None:
    with pretended(node("n1", 60), node("n2", 40)) as cluster:
        code, said = at_terminal("--server", cluster.urls["n1"], "cluster", "--once")
    assert code == 0
    assert "n2" in said


def test_who_watches_a_node_that_dies_is_shown_by_another() -> None:
    with pretended(node("n1", 60), node("n2", 40), answers_left={"n1": 5}) as cluster:
        seen = f"as {cluster.urls['n2']} sees it"
        code, said = at_terminal("--server", cluster.urls["n1"], "cluster", answers=[(seen, "\x03")])
    assert code == 130
    assert f"as {cluster.urls['n1']} sees it" in said
    assert "dead" in said


def test_when_nobody_answers_any_more_the_last_picture_stays() -> None:
    with pretended(node("n1", 60), answers_left={"n1": 5}) as cluster:
        told = [("no node answers since", "\x03")]
        code, said = at_terminal("--server", cluster.urls["n1"], "cluster", answers=told)
    assert code == 130
    assert said.rindex("n1") > said.rindex("sees it")
    assert "Traceback" not in said


def test_a_server_that_is_not_there_is_named_with_the_next_step() -> None:
    result = CliRunner().invoke(main, ["--server", "http://127.0.0.1:9", "cluster"])
    assert result.exit_code == 5
    assert "no Windlass answers at http://127.0.0.1:9" in result.stderr


def test_gateways_are_asked_in_turn_and_the_first_one_again_when_it_is_back() -> None:
    with pretended(node("n1", 1), node("n2", 1, roles=["engine"]), node("n3", 1)) as cluster:
        members = Members(Client(cluster.urls["n1"]))
        members.hurry()
        members.learn(cluster.nodes)

        def ask() -> str:
            return str(members.ask(lambda client: client.cluster_stats()["selfAddress"]))

        assert ask() == cluster.node("n1")["address"]
        cluster.node("n1")["state"] = "dead"
        assert ask() == cluster.node("n3")["address"]
        cluster.node("n3")["state"] = "dead"
        with pytest.raises(Unavailable):
            ask()
        cluster.node("n1")["state"] = "up"
        assert ask() == cluster.node("n1")["address"]
        members.close()
