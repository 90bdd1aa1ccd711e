"""`windlass drain`: a node hands everything over, and whoever asked sees how far it is."""

import json

import pytest
from click.testing import CliRunner, Result

from tests.cli.calls import at_terminal
from tests.cli.clusters import Pretended, node, pretended
from windlass.cli import main


def drain(cluster: Pretended, *words: str, by: str = "n1") -> Result:
    return CliRunner().invoke(main, ["--server", cluster.urls[by], "drain", *words])


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.cli.drain.LOOK_S", 0.001)


def test_a_node_is_watched_until_it_owns_nothing() -> None:
    with pretended(node("n1", 50), node("n2", 5)) as cluster:
        result = drain(cluster, "n2")
        assert result.exit_code == 0, result.output
        assert result.stdout == "n2: leaving, with 5 shards\nn2: owns nothing any more\n"
        assert cluster.node("n2")["shards"] == 0
        assert cluster.node("n1")["state"] == "up"


def test_without_a_name_it_is_the_node_that_is_asked() -> None:
    with pretended(node("n1", 50), node("n2", 5)) as cluster:
        assert "n2: owns nothing any more" in drain(cluster, by="n2").stdout
        assert cluster.node("n1")["state"] == "up"


def test_a_node_can_be_named_by_its_address() -> None:
    with pretended(node("n1", 50), node("n2", 5)) as cluster:
        assert drain(cluster, cluster.node("n2")["address"]).exit_code == 0
        assert cluster.node("n2")["state"] == "leaving"


def test_a_node_that_is_gone_when_it_has_left_is_seen_by_another() -> None:
    with pretended(node("n1", 50), node("n2", 5), exits=True) as cluster:
        result = drain(cluster, by="n2")
        assert result.exit_code == 0, result.output
        assert result.stdout.endswith("n2: owns nothing any more\n")


def test_nobody_has_to_wait() -> None:
    with pretended(node("n1", 50), node("n2", 5)) as cluster:
        assert drain(cluster, "n2", "--no-wait").stdout == "n2: leaving, with 5 shards\n"
        assert cluster.node("n2")["shards"] == 5


def test_programs_are_told_in_json() -> None:
    with pretended(node("n1", 50), node("n2", 5), node("n3", 5)) as cluster:
        waited = json.loads(drain(cluster, "n2", "--json").stdout)
        assert waited == {"node": "n2", "state": "leaving", "shards": 0}
        assert json.loads(drain(cluster, "n3", "--no-wait", "--json").stdout) == {
            "node": "n3",
            "state": "leaving",
        }


def test_who_leaves_already_is_watched_too() -> None:
    with pretended(node("n1", 50), node("n2", 5, state="leaving")) as cluster:
        result = drain(cluster, "n2")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("n2: leaving already, with ")
        assert result.stdout.endswith("n2: owns nothing any more\n")


def test_a_name_that_nobody_has_is_told_with_those_there_are() -> None:
    with pretended(node("n1", 50), node("n2", 5), node("n3", 0, state="dead")) as cluster:
        result = drain(cluster, "n4")
        assert result.exit_code == 7
        assert result.stderr == "error: there is no node n4; the nodes are n1, n2\n"
        assert drain(cluster, "n3").stderr == "error: n3 is dead: it owns nothing; the nodes are n1, n2\n"
        assert not [url for url in cluster.asked if url.startswith("POST")]


def test_of_two_lives_of_a_name_the_living_one_is_meant() -> None:
    with pretended(node("n1", 50), node("n2", 5)) as cluster:
        cluster.nodes.append(node("n2", 0, state="dead", id="n2-0", address="127.0.0.1:9"))
        assert drain(cluster, "n2").exit_code == 0
        assert cluster.node("n2")["state"] == "leaving"


def test_time_that_is_over_is_said_and_it_goes_on() -> None:
    with pretended(node("n1", 50), node("n2", 5), moves_per_look=0) as cluster:
        result = drain(cluster, "n2", "--timeout", "20ms")
        assert result.exit_code == 6
        assert result.stderr == "error: n2 has 5 shards left after 0.02 s, and goes on by itself\n"


def test_the_last_engine_is_told_that_nobody_can_take_over() -> None:
    with pretended(node("n1", 50), node("n2", 0, roles=["gateway"])) as cluster:
        result = drain(cluster, "n1", "--timeout", "20ms", by="n2")
        assert result.exit_code == 6
        assert "no other engine is up: they stay with it until one joins" in result.stdout


def test_silence_is_not_taken_for_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windlass.cli.drain.SILENCE_S", 0.05)
    with pretended(node("n1", 50), node("n2", 5), answers_left={"n1": 3, "n2": 0}) as cluster:
        result = drain(cluster, "n2")
        assert result.exit_code == 5
        assert "n2 had 4 shards left, and goes on by itself" in result.stderr


def test_at_a_terminal_a_bar_shows_how_far_it_is() -> None:
    with pretended(node("n1", 50), node("n2", 3)) as cluster:
        code, said = at_terminal("--server", cluster.urls["n1"], "drain", "n2")
    assert code == 0
    assert "handing over" in said
    assert "owns nothing any more" in said
