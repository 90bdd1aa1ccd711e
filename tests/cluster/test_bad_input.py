"""What a node does when it is told nonsense: a clear error or no effect; and those that live go on.

Everything is real: processes, a PostgreSQL that asks for a password, and a living cluster beside it all.
"""

import asyncio
import json
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic, time
from typing import Any

import pytest

from tests import postgres
from tests.bad_days.disks import compiled
from tests.cluster.bad_nodes import (
    SHARDS,
    YAML,
    NodeProcess,
    ask,
    bare,
    free_port,
    members,
    node,
    refused,
    run_id_at,
    runs_something,
    shards_of,
    status,
)
from tests.waiting import wait_until
from windlass.core.cluster import NodeId
from windlass.own_postgres import OwnPostgres
from windlass.peers.handshake import Keyring
from windlass.peers.websocket import CHALLENGE, HELLO, PROOF
from windlass.postgres import Place, migrate, migration
from windlass.sdk.client import Client, new_run_id

PASSWORD = "geheim-s3cr3t"
WATCH = b"id: watch\nsteps: {stay: {kind: shell, with: {argv: [sleep, '1000']}}}"
NEWEST = migration.migrations()[-1].version


@dataclass(frozen=True)
class Living:
    """A cluster that works, and stays so whatever others do: one node, with a run in the middle of a step."""

    place: Place
    process: NodeProcess
    client: Client
    watch: str

    @property
    def url(self) -> str:
        return self.process.url

    @property
    def address(self) -> str:
        return str(self.process.ready["address"])

    def is_well(self) -> None:
        wait_until(lambda: shards_of(self.url, "anchor") == SHARDS, 20)
        wait_until(lambda: status(self.url, "/health/ready")[0] == 200)
        runs_something(self.url)
        kinds = [event["type"] for event in self.client.all_events(self.watch)]
        assert self.client.run(self.watch)["status"] == "running", kinds
        assert PASSWORD not in self.process.says and "Traceback" not in self.process.says

    def is_undisturbed(self) -> None:
        """Not even the step had to be started again."""
        self.is_well()
        assert not [e for e in self.client.all_events(self.watch) if e["type"] == "AttemptLost"]


@pytest.fixture(scope="module")
def server() -> Iterator[OwnPostgres]:
    postgres.url()  # or the tests are skipped
    folder = postgres.folder()
    try:
        with OwnPostgres(folder, fsync=False, password=PASSWORD) as started:
            yield started
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def anchor(server: OwnPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    place = Place(server.url(), "alive")
    with node(place, "--name", "anchor", cwd=tmp_path_factory.mktemp("anchor")) as started:
        with closing(Client(started.url)) as client:
            client.apply("watch", WATCH, YAML)
            watch = new_run_id("watch")
            client.start("watch", run_id=watch)
            wait_until(lambda: "StepGranted" in [e["type"] for e in client.all_events(watch)])
            yield Living(place, started, client, watch)
            client.order(watch, "cancel")
        assert started.stop() == 0


@pytest.fixture
def living(anchor: Living) -> Iterator[Living]:
    yield anchor
    anchor.is_well()


# What is wrong with the settings is said before anything is done.


@pytest.mark.parametrize(
    ("options", "variables", "told"),
    [
        (["--listen", "0.0.0.0:0", "--advertise", "n1:2551"], {}, "--insecure"),
        (["--listen", "192.0.2.1:0"], {}, "there is no login"),
        (["--roles", "enginee"], {}, "--roles: there is no role 'enginee'; write engine, gateway or both"),
        (["--slots=-1"], {}, "--slots: -1 will not do"),
        ([], {"WINDLASS_DATABASE": f"mysql://ada:{PASSWORD}@h/x"}, "write postgresql://user@host:5432/name"),
        ([], {"PEKKO_PORT": "http"}, "PEKKO_PORT: "),
        ([], {"AKKA_ROLES": "dancer"}, "AKKA_ROLES: there is no role 'dancer'"),
    ],
    ids=["everywhere", "beyond this machine", "role", "slots", "no PostgreSQL", "pekko", "akka"],
)
def test_a_setting_that_makes_no_sense_is_named(
    options: list[str], variables: dict[str, str], told: str, tmp_path: Path
) -> None:
    listen = [] if "PEKKO_PORT" in variables or "--listen" in options else ["--listen", "127.0.0.1:0"]
    env = {"WINDLASS_DATABASE": f"postgresql://u:{PASSWORD}@h/x", **variables}
    with bare(*listen, *options, cwd=tmp_path, env=env) as started:
        assert started.wait() == 2
    assert told in started.says and started.says.startswith("error: ")
    assert PASSWORD not in started.says and len(started.err) == 1 and not started.out


# A database that only a person can mend.


def test_a_wrong_password_is_said_and_not_shown(server: OwnPostgres, living: Living, tmp_path: Path) -> None:
    code, told = refused(Place(server.url().replace("s3cr3t", "wr0ng"), "alive"), cwd=tmp_path)
    assert code == 1 and "refuses the user or the password; check both" in told
    assert "geheim" not in told and f"127.0.0.1:{server.port}" in told


def test_a_password_need_not_be_in_the_url(
    server: OwnPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(f"postgresql://windlass@127.0.0.1:{server.port}/postgres", "quiet")
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        asyncio.run(migrate(place))
    (tmp_path / "pgpass").write_text(f"127.0.0.1:*:*:windlass:{PASSWORD}\n")
    (tmp_path / "pgpass").chmod(0o600)
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
        asyncio.run(migrate(place))


def test_a_database_that_does_not_exist_is_said(server: OwnPostgres, tmp_path: Path) -> None:
    code, told = refused(Place(server.url("nowhere")), cwd=tmp_path)
    assert code == 1 and "no database at" in told and "createdb" in told and "geheim" not in told


def test_a_url_that_cannot_be_read_is_not_shown(tmp_path: Path) -> None:
    code, told = refused(Place(f"postgresql://u:{PASSWORD}@h:5x/x"), cwd=tmp_path)
    assert code == 1 and "the URL of the database cannot be read" in told and "geheim" not in told


@pytest.mark.parametrize(
    ("schema", "rights", "told"),
    [
        ("guests", [], "let its user create the schema guests"),
        ("alive", [], "permission denied for schema alive"),
        ("alive", ["USAGE ON SCHEMA", "SELECT ON ALL TABLES IN SCHEMA"], "permission denied for table"),
    ],
    ids=["create", "use", "write"],
)
def test_a_user_without_the_rights_is_told_which(
    schema: str, rights: list[str], told: str, server: OwnPostgres, living: Living, tmp_path: Path
) -> None:
    asyncio.run(ask(living.place, GUEST))
    for right in rights:
        asyncio.run(ask(living.place, f"GRANT {right} alive TO guest"))
    user = server.url().replace("windlass:", "guest:")
    code, words = refused(Place(user, schema), cwd=tmp_path)
    assert code == 1 and told in words and "geheim" not in words
    living.is_undisturbed()


GUEST = f"""
    DO $$ BEGIN
      IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'guest') THEN
        DROP OWNED BY guest;
      ELSE
        CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}';
      END IF;
    END $$"""


def test_a_server_that_is_too_old_is_said(server: OwnPostgres, tmp_path: Path) -> None:
    code, told = refused(
        Place(server.url(), "young"),
        cwd=tmp_path,
        first="from windlass.postgres import connection as c; c.OLDEST = 99",
    )
    assert code == 1 and "Windlass needs 99 or newer: upgrade it" in told


# A database that is not there, or not yet.


@pytest.fixture
def silent() -> Iterator[str]:
    """Takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_a_node_waits_for_its_database_and_says_why(anchor: Living, silent: str, tmp_path: Path) -> None:
    reasons = {
        "127.0.0.1:1": "Connection refused",
        "nowhere.invalid": "not known",
        anchor.address: "what answers there is no PostgreSQL",
        silent: "it did not answer in time",
    }
    with ExitStack() as stack:
        urls = {host: Place(f"postgresql://u:{PASSWORD}@{host}/x") for host in reasons}
        nodes = {host: stack.enter_context(node(place, cwd=tmp_path)) for host, place in urls.items()}
        for host, started in nodes.items():
            started.has_said("waiting for the database")
            assert f"the database at {host}/x (schema windlass) cannot be reached: " in started.says
            assert reasons[host] in started.says
            assert started.stop() == 0
            assert PASSWORD not in started.says and "Traceback" not in started.says and not started.out


def test_a_node_that_is_started_before_its_database_is_alive_and_becomes_ready(tmp_path: Path) -> None:
    postgres.url()  # or the test is skipped
    folder, port, address = postgres.folder(), free_port(), f"127.0.0.1:{free_port()}"
    away = OwnPostgres(folder, fsync=False, port=port)
    try:
        away.initialise()
        with node(Place(away.url()), "--listen", address, cwd=tmp_path) as started:
            started.has_said("waiting for the database")
            assert status(f"http://{address}", "/health/live")[0] == 200
            code, told = status(f"http://{address}", "/health/ready")
            assert (code, told) == (503, "starting: waiting for the database\n")
            assert status(f"http://{address}", "/health") == (code, told)
            code, told = status(f"http://{address}", "/api/v1/runs")
            assert (code, json.loads(told)["error"]) == (503, "Unavailable")
            assert "waits for its database; nothing was done, try again" in json.loads(told)["message"]
            assert status(f"http://{address}", "/peers")[0] == 503
            away.start()
            runs_something(started.url)
            assert status(f"http://{address}", "/health/ready")[0] == 200
            away.stop("immediate")
            started.process.terminate()
            assert started.wait(15) == 0, "who is told to stop does not wait for a database"
    finally:
        away.stop("immediate")
        shutil.rmtree(folder)


# A schema of another version.


def newer(min_reader: int) -> str:
    """The program of tomorrow: it knows one migration more."""
    more = f"m.Migration({NEWEST + 1}, 'tomorrow', {min_reader}, 'CREATE TABLE tomorrow (n int)')"
    patch = f"known = m.migrations()\nm.migrations = lambda: (*known, {more})"
    return f"from windlass.postgres import migration as m\n{patch}"


def test_a_schema_changes_under_a_node_that_serves_and_an_old_program_may_still_join(
    server: OwnPostgres, tmp_path: Path
) -> None:
    place = Place(server.url(), "changing")
    with node(place, "--name", "old", cwd=tmp_path) as old:
        before = runs_something(old.url)
        with node(place, "--name", "new", cwd=tmp_path, first=newer(min_reader=NEWEST)) as new:
            assert new.ready["nodes"] == 2
            assert asyncio.run(ask(place, "SELECT count(*) FROM tomorrow")) == 0
            wait_until(lambda: shards_of(old.url, "new") > 0)
            for url in (old.url, new.url):
                runs_something(url)
            with node(place, "--name", "late", cwd=tmp_path) as late:
                assert late.ready["nodes"] == 3
                runs_something(late.url)
                assert late.stop() == 0
            assert new.stop() == 0
        with closing(Client(old.url)) as client:
            assert client.run(before)["status"] == "succeeded"
        assert old.stop() == 0


def test_a_schema_made_by_a_newer_program_is_left_alone(server: OwnPostgres, tmp_path: Path) -> None:
    place = Place(server.url(), "tomorrow")
    asyncio.run(migrate(place))
    sql = "INSERT INTO migrations (version, name, min_reader) VALUES ($1, 'tomorrow', $1)"
    asyncio.run(ask(place, sql, NEWEST + 1))
    code, told = refused(place, cwd=tmp_path)
    assert code == 1 and "was made by a newer Windlass" in told and "install the newer one" in told
    assert asyncio.run(ask(place, "SELECT count(*) FROM cluster")) == 0


def test_an_older_schema_is_brought_up_to_date_by_the_first_node(
    server: OwnPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, known = Place(server.url(), "yesterday"), migration.migrations()
    monkeypatch.setattr(migration, "migrations", lambda: known[:1])
    asyncio.run(migrate(place))
    monkeypatch.undo()
    with node(place, cwd=tmp_path) as started:
        runs_something(started.url)
    assert asyncio.run(ask(place, "SELECT max(version) FROM migrations")) == NEWEST


# Another node, or another cluster, is in the way.


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--shards", "7"],
            f"was made with shards {SHARDS}, and this node is to use 7; start it with --shards",
        ),
        (["--strategy", "by-type"], "was made with strategy hash, and this node is to use by-type"),
        (["--cluster", "south"], "was made with name windlass, and this node is to use south"),
        (["--name", "anchor"], "a node named anchor is alive at 127.0.0.1:"),
    ],
    ids=["shards", "strategy", "cluster", "name"],
)
def test_who_does_not_fit_into_the_cluster_is_refused(
    options: list[str], told: str, living: Living, tmp_path: Path
) -> None:
    code, words = refused(living.place, *options, cwd=tmp_path)
    assert code == 1 and told in words
    living.is_undisturbed()


def test_a_port_that_is_taken_is_said_with_who_has_it(living: Living, tmp_path: Path) -> None:
    code, told = refused(living.place, "--listen", living.address, cwd=tmp_path)
    assert code == 1 and f"is taken by pid {living.process.pid}" in told
    assert "choose another one with --listen 127.0.0.1:" in told
    living.is_undisturbed()


def test_two_nodes_that_claim_one_address_do_not_fight_for_it(living: Living, tmp_path: Path) -> None:
    """As when two machines are left at 127.0.0.1:8080: at that address each finds only itself."""
    claim = ["--advertise", "127.0.0.1:9"]
    with node(living.place, *claim, cwd=tmp_path) as first:
        assert first.ready["name"] == "127.0.0.1:9"
        code, told = refused(living.place, *claim, cwd=tmp_path)
        assert code == 1 and "let each of the two --advertise an address of its own" in told
        assert members(living.url)["127.0.0.1:9"] == "up"
        assert "declared dead" not in first.says
        assert first.stop() == 0


def test_a_node_with_the_address_of_another_one_is_complained_of_and_works(
    living: Living, tmp_path: Path
) -> None:
    with node(living.place, "--name", "lost", "--advertise", living.address, cwd=tmp_path) as lost:
        living.process.has_said("its address leads to this node: let it advertise another one")
        wait_until(lambda: shards_of(living.url, "lost") > 0)
        run = run_id_at(living.client, living.address, "small")
        living.client.apply("small", b"id: small\nsteps: {a: {kind: noop}}", YAML)
        living.client.start("small", run_id=run)
        wait_until(lambda: living.client.run(run)["status"] == "succeeded")
        assert lost.stop() == 0


@pytest.mark.parametrize("elsewhere", [False, True], ids=["at its address", "elsewhere"])
def test_a_node_that_died_is_followed_by_one_with_its_name(
    elsewhere: bool, server: OwnPostgres, tmp_path: Path
) -> None:
    place = Place(server.url(), f"alone_{elsewhere}".lower())
    with node(place, "--name", "only", cwd=tmp_path) as first:
        address = str(first.ready["address"])
        with closing(Client(first.url)) as client:
            client.apply("pause", b"id: pause\nsteps: {a: {kind: wait, with: {for: 1s}}}", YAML)
            run = new_run_id("pause")
            client.start("pause", run_id=run)
        first.close()
    where = () if elsewhere else ("--listen", address)
    with node(place, "--name", "only", *where, cwd=tmp_path) as second:
        assert second.ready["nodes"] == 1
        with closing(Client(second.url)) as client:
            wait_until(lambda: client.run(run)["status"] == "succeeded")
        assert second.stop() == 0


def test_a_strategy_with_other_code_is_refused(server: OwnPostgres, tmp_path: Path) -> None:
    place, mine, yours = Place(server.url(), "placed"), tmp_path / "mine", tmp_path / "yours"
    for folder, answer in ((mine, "len(ident) % shards"), (yours, "0")):
        folder.mkdir()
        (folder / "placing.py").write_text(f"def place(ident, shards):\n    return {answer}\n")
    with node(place, "--strategy", "placing:place", cwd=mine) as started:
        runs_something(started.url)
        code, told = refused(place, "--strategy", "placing:place", cwd=yours)
        assert code == 1 and "placing:place answers otherwise here" in told and "run the same code" in told
        runs_something(started.url)


def test_a_node_that_cannot_have_its_folder_does_not_join(living: Living, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, told = refused(living.place, "--name", "homeless", "--data", "file/below", cwd=tmp_path)
    assert code == 1 and "the data folder file/below cannot be made" in told and "--data" in told
    assert "homeless" not in members(living.url)
    living.is_undisturbed()


# Strangers, and secrets.


def test_a_stranger_is_not_taken_for_a_node(living: Living) -> None:
    assert status(living.url, "/peers") == (401, "this door is for the nodes of the cluster\n")
    for hello in ("nonsense", "x" * 5000, "%00%ff", "é"):
        assert status(living.url, "/peers", {HELLO: hello})[0] == 401
    stranger = Keyring("guessed", token=bytes, clock=monotonic)
    hello = stranger.hello(id=NodeId("me"), to=NodeId("you"), level=1)
    code, _ = status(living.url, "/peers", {HELLO: hello, PROOF: "0" * 64, CHALLENGE: hello})
    assert code == 401
    living.process.has_said("refused a link")
    living.is_undisturbed()


def test_a_secret_that_was_changed_under_a_cluster_is_said_and_loses_nothing(
    living: Living, tmp_path: Path
) -> None:
    change = "UPDATE cluster SET secret = $1 RETURNING (SELECT secret FROM cluster)"
    secret = asyncio.run(ask(living.place, change, "rumpelstiltskin"))
    try:
        with node(living.place, "--name", "stray", cwd=tmp_path) as stray:
            assert stray.ready["nodes"] == 2
            for process, peer in ((living.process, "stray"), (stray, "anchor")):
                process.has_said(f"no link with a node of the cluster  peer={peer}")
                assert "another secret; nodes read it in the database when they start" in process.says
                assert "rumpelstiltskin" not in process.says and secret not in process.says
            assert stray.stop() == 0
    finally:
        asyncio.run(ask(living.place, change, secret))
    living.is_well()


# What only looks like bad input.


def test_a_node_that_is_stopped_as_soon_as_it_is_ready_ends_at_once(living: Living, tmp_path: Path) -> None:
    """Shards may be on their way to it: they stay where they are, or go back."""
    for _ in range(2):
        with node(living.place, "--name", "hasty", cwd=tmp_path) as hasty:
            assert hasty.ready["nodes"] == 2
            hasty.process.terminate()
            assert hasty.wait(10) == 0


def test_a_node_without_slots_lets_others_run_its_steps(living: Living, tmp_path: Path) -> None:
    with node(living.place, "--name", "idle", "--slots", "0", cwd=tmp_path) as idle:
        wait_until(lambda: shards_of(living.url, "idle") > 0)
        living.client.apply("say", b"id: say\nsteps: {a: {kind: shell, with: {argv: [echo, hi]}}}", YAML)
        run = run_id_at(living.client, str(idle.ready["address"]), "say")
        with closing(Client(idle.url)) as client:
            client.start("say", run_id=run)
            wait_until(lambda: client.run(run)["status"] == "succeeded")
        assert idle.stop() == 0


@pytest.mark.parametrize(
    "variables",
    [
        {"PEKKO_HOSTNAME": "127.0.0.1", "PEKKO_PORT": "0", "PEKKO_CLUSTER_ROLES": "worker,api-gateway",
         "PEKKO_SHARDING_SHARDS": str(SHARDS), "PEKKO_CLUSTER_SEED_NODES": "pekko://x@n1:2551"},
        {"AKKA_HOST": "127.0.0.1", "AKKA_PORT": "0", "AKKA_ROLES": "scheduler",
         "WINDLASS_SHARDS": str(SHARDS), "AKKA_SEED_NODES": "akka://x@n1:2551"},
    ],
    ids=["pekko", "akka"],
)  # fmt: skip
def test_the_variables_of_other_systems_are_understood_and_seeds_only_noted(
    variables: dict[str, str], living: Living, tmp_path: Path
) -> None:
    env = {"WINDLASS_DATABASE": living.place.url, "WINDLASS_SCHEMA": "alive", "WINDLASS_NAME": "other"}
    with bare(cwd=tmp_path, env={**env, **variables}) as started:
        started.has_said("is in cluster windlass, one of 2 nodes")
        assert "SEED_NODES is not needed, the nodes meet in the database" in started.says
        roles = {each["name"]: each["roles"] for each in living.client.cluster_nodes()["nodes"]}
        assert roles["other"] == (["engine"] if "AKKA_ROLES" in variables else ["engine", "gateway"])
        assert started.stop() == 0


# A clock that is wrong.


@pytest.fixture(scope="module")
def off_by(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], dict[str, str]]:
    library = compiled(Path(__file__).with_name("bad_clock.c"), tmp_path_factory.mktemp("clock"))
    return lambda seconds: {"LD_PRELOAD": str(library), "CLOCK_OFF_BY": str(seconds)}


def timely(until: datetime) -> bytes:
    return f"""
id: timely
steps:
  pause: {{kind: wait, with: {{for: 1s}}}}
  until: {{kind: wait, with: {{until: "{until.isoformat()}"}}}}
  slow: {{kind: shell, with: {{command: "echo here; sleep 60"}}, timeout: 1s, on_failure: skip}}
  again:
    kind: shell
    with: {{command: "exit 1"}}
    retry: {{attempts: 2, backoff: 500ms}}
    on_failure: skip
deadline: 30s
""".encode()


def test_a_clock_that_is_an_hour_off_changes_no_time(
    server: OwnPostgres, off_by: Callable[[int], dict[str, str]], tmp_path: Path
) -> None:
    place, started = Place(server.url(), "clocks"), time()
    with (
        node(place, "--name", "ahead", cwd=tmp_path, env=off_by(3600)) as ahead,
        node(place, "--name", "behind", cwd=tmp_path, env=off_by(-3600)) as behind,
        closing(Client(behind.url)) as client,
    ):
        wait_until(lambda: shards_of(ahead.url, "ahead") and shards_of(ahead.url, "behind"))
        began = time()
        client.apply("timely", timely(datetime.now(UTC) + timedelta(seconds=2)), YAML)
        runs = [run_id_at(client, str(each.ready["address"]), "timely") for each in (ahead, behind)]
        for run in runs:
            client.start("timely", run_id=run)
        wait_until(lambda: all(client.run(run)["status"] == "partial_success" for run in runs), 20)
        ended = time()
        assert ended - began >= 1.9, "who waits until then has waited"
        assert within(started, client.cluster_events()["events"], ended)
        for run in runs:
            assert within(began, [*client.all_events(run), *client.all_logs(run)], ended)
            assert "here" in [line["text"] for line in client.all_logs(run)]
            failures = [e.get("failure", {}).get("type") for e in client.all_events(run)]
            assert "Timeout" in failures, failures
        takes_over(client, ahead, behind)
        for each in (ahead, behind):
            assert "Traceback" not in each.says


def within(began: float, told: Sequence[dict[str, Any]], ended: float) -> bool:
    """Whether all that is told happened then, by the clock of this machine, which is the database's, too."""
    times = [datetime.fromisoformat(each["at"]).timestamp() for each in told]
    return began - 0.5 < min(times) and max(times) < ended + 0.5


def takes_over(client: Client, ahead: NodeProcess, behind: NodeProcess) -> None:
    """What waits is woken in time by a node whose clock is two hours from that of its last owner."""
    client.apply("later", b"id: later\nsteps: {a: {kind: wait, with: {for: 3s}}}", YAML)
    run, began = run_id_at(client, str(ahead.ready["address"]), "later"), time()
    client.start("later", run_id=run)
    ahead.close()
    wait_until(lambda: client.run(run)["status"] == "succeeded", 20)
    assert time() - began >= 2.9
    assert shards_of(behind.url, "behind") == SHARDS
