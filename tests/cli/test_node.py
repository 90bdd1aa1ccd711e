"""`windlass node`: from options, variables and a file to one sound configuration, or to every mistake."""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from windlass.cli import main, settings
from windlass.cli.fleet_settings import SEED_SETTINGS
from windlass.cli.node import Welcome
from windlass.config import Config, NodeConfig, is_loopback, split_address, without_password
from windlass.core.assign.policy import STRATEGIES
from windlass.core.errors import Invalid, Refused
from windlass.core.strategies import BUILT_IN

DATABASE = "postgresql://ada@localhost/windlass"
SECRET = "postgresql://ada:geheim@db.example:5432/windlass"
DOCUMENTATION = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()


@dataclass(frozen=True)
class Here:
    """What a node that is ready says of itself."""

    name: str = "n1"
    address: str = "10.0.0.5:8080"
    url: str = "http://10.0.0.5:8080"
    cluster: str = "windlass"
    nodes: int = 3
    took_s: float = 0.2


@dataclass
class Server:
    """Stands for the part that serves: what it was started with, and how it behaves."""

    started: list[NodeConfig]
    ready: Here = Here()
    failure: Exception | None = None

    def run(self, config: NodeConfig, environ: Mapping[str, str], welcome: Welcome) -> None:
        self.started.append(config)
        if self.failure is not None:
            raise self.failure
        asyncio.run(welcome(self.ready))


Start = Callable[..., Result]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    pretended = Server([])
    module = ModuleType("windlass.serve_node")
    module.run = pretended.run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "windlass.serve_node", module)
    return pretended


@pytest.fixture
def start(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """The command as typed, in a folder of its own, with no other variables than these."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words: str, **variables: str) -> Result:
        kept: dict[str, str | None] = dict.fromkeys(_variables())
        return CliRunner().invoke(main, ["node", *words], env={**kept, **variables})

    return invoke


def _variables() -> set[str]:
    every = (*settings.SETTINGS, *settings.PARTS, *SEED_SETTINGS)
    named = {name for setting in every for name in setting.variables}
    return {*named, *settings.SEED_NODES, "WINDLASS_CONFIG"}


def config_of(server: Server, result: Result) -> NodeConfig:
    assert result.exit_code == 0, result.output
    return server.started[-1]


# Where settings come from.


def test_a_database_is_all_that_has_to_be_named(start: Start, server: Server) -> None:
    assert config_of(server, start("--database", DATABASE)) == NodeConfig(database=DATABASE)


def test_options_go_before_variables_and_these_before_the_file(start: Start, server: Server) -> None:
    Path("node.toml").write_text(f'database = "{DATABASE}"\nslots = 1\nshards = 11\nidle = "1h"\n')
    variables = {"WINDLASS_SLOTS": "2", "WINDLASS_SHARDS": "22"}
    config = config_of(server, start("--config", "node.toml", "--slots", "3", **variables))
    assert (config.slots, config.shards, config.idle_s) == (3, 22, 3600.0)


def test_the_file_can_be_named_by_a_variable(start: Start, server: Server) -> None:
    Path("node.toml").write_text(f'database = "{DATABASE}"\n')
    assert config_of(server, start(WINDLASS_CONFIG="node.toml")).database == DATABASE


EVERYTHING: dict[str, tuple[object, object]] = {
    # setting: as the file has it, as the config has it
    "database": (SECRET, SECRET),
    "schema": ("crew", "crew"),
    "cluster": ("north", "north"),
    "name": ("n1", "n1"),
    "listen": ("0.0.0.0:2551", ("0.0.0.0", 2551)),
    "advertise": ("n1.example:2551", "n1.example:2551"),
    "roles": (["engine"], ("engine",)),
    "slots": (0, 0),
    "capability": (["gpu", "big"], ("gpu", "big")),
    "app": (["."], (".",)),
    "data": ("scratch", Path("scratch")),
    "shards": (30, 30),
    "strategy": ("by-type", "by-type"),
    "retention": ("7d", 7 * 86_400.0),
    "delete-on-snapshot": (True, True),
    "snapshot-every": (50, 50),
    "idle": (90, 90.0),
    "live-max": (1000, 1000),
    "log-lines": (500, 500),
    "log-bytes": (4096, 4096),
    "rebalance-threshold": (5, 5),
    "rebalance-at-once": (2, 2),
    "rebalance-check": ("30s", 30.0),
    "overload-cpu": (0.7, 0.7),
    "overload-memory": ("80%", 0.8),
    "refuse-memory": ("90%", 0.9),
    "grace": ("1m", 60.0),
    "assignment": ("mine:choose", "mine:choose"),
    "assignment-load": ("seed", "seed"),
    "active-weight": (0.5, 0.5),
    "cpu-weight": (0, 0.0),
    "memory-weight": (2.5, 2.5),
    "fit": ("most", "most"),
    "worker-heartbeat": ("5s", 5.0),
    "worker-silent": ("20s", 20.0),
    "worker-gone": ("1m", 60.0),
    "hold-timeout": ("2m", 120.0),
    "losses-max": (7, 7),
    "deaths-max": (2, 2),
    "no-failover": (True, True),
    "workers-max": (50, 50),
    "age": ("10s", 10.0),
    "fair-label": ("customer", "customer"),
    "host-group": ("rack-7", "rack-7"),
    "login": (True, True),
    "insecure": (True, True),
    "jwt-key-file": (__file__, Path(__file__)),
    "jwt-issuer": ("https://idp.example", "https://idp.example"),
    "jwt-audience": ("windlass", "windlass"),
    "jwt-role-claim": ("groups", "groups"),
    "jwt-namespace-claim": ("tenant", "tenant"),
    "jwt-role": (["ops=admin", "devs=submit"], ("ops=admin", "devs=submit")),
    "token-rate": ("50/s", "50/s"),
    "address-rate": ("off", "off"),
    "open-runs": (1000, 1000),
    "token-open-runs": (100, 100),
    "task-queue": (500, 500),
    "namespace-tasks": (64, 64),
    "token-tasks": (32, 32),
    "audit-retention": ("365d", 365 * 86_400.0),
    "secrets-key-file": (__file__, Path(__file__)),
    "no-code": (True, True),
    "languages": (__file__, Path(__file__)),
    "allow-unsandboxed": (True, True),
    "sandbox": ("landlock", "landlock"),
    "files": ([str(Path(__file__).parent)], (Path(__file__).parent,)),
    "http-private": ("deny", "deny"),
    "allow-network": (["10.1.0.0/16", "::1"], ("10.1.0.0/16", "::1")),
    "tls-cert": (__file__, Path(__file__)),
    "tls-key": (__file__, Path(__file__)),
    "tls-ca": (__file__, Path(__file__)),
    "tls-client-ca": (__file__, Path(__file__)),
    "connections-per-address": (50, 50),
    "cors-origin": (["https://app.example"], ("https://app.example",)),
    "log": ("json", "json"),
    "verbose": (1, 1),
}


def _everything() -> NodeConfig:
    values: dict[str, Any] = {}
    for setting in settings.SETTINGS:
        value: Any = EVERYTHING[setting.name][1]
        values |= zip(setting.fields, value if len(setting.fields) > 1 else (value,), strict=True)
    return NodeConfig(**values)


def _text(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value).lower() if value is True else str(value)


def test_every_setting_can_be_given_in_the_file(start: Start, server: Server) -> None:
    Path("node.toml").write_text("".join(f"{key} = {json.dumps(v)}\n" for key, (v, _) in EVERYTHING.items()))
    assert config_of(server, start("--config", "node.toml")) == _everything()


def test_every_setting_can_be_given_as_a_variable(start: Start, server: Server) -> None:
    variables = {f"WINDLASS_{key.upper().replace('-', '_')}": _text(v) for key, (v, _) in EVERYTHING.items()}
    assert config_of(server, start(**variables)) == _everything()


def test_every_setting_can_be_given_as_an_option(start: Start, server: Server) -> None:
    words: list[str] = []
    for setting in settings.SETTINGS:
        value = EVERYTHING[setting.name][0]
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{setting.name}"] if setting.metavar is None else [f"--{setting.name}", str(each)]
    assert config_of(server, start(*words)) == _everything()


def test_every_field_of_the_config_can_be_set() -> None:
    settable = {field for setting in settings.SETTINGS for field in setting.fields}
    assert settable == {field.name for field in fields(NodeConfig)}
    assert EVERYTHING.keys() == {setting.name for setting in settings.SETTINGS}
    usual = NodeConfig(database=DATABASE)
    same = {f.name for f in fields(NodeConfig) if getattr(_everything(), f.name) == getattr(usual, f.name)}
    assert same == {"app"}  # else the tests above would prove nothing


def test_what_up_and_node_have_in_common_has_the_same_defaults() -> None:
    one, many = Config(), NodeConfig(database=DATABASE)
    shared = {field.name for field in fields(Config)} & {field.name for field in fields(NodeConfig)} - {
        "data"
    }
    assert {name: getattr(one, name) for name in shared} == {name: getattr(many, name) for name in shared}


# Other systems' variables.


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"PEKKO_CLUSTER_ROLES": "worker,api-gateway"}, {"roles": ("engine", "gateway")}),
        ({"PEKKO_ROLES": "worker"}, {"roles": ("engine",)}),
        ({"PEKKO_ROLES": '["worker", "api-gateway"]'}, {"roles": ("engine", "gateway")}),
        ({"AKKA_ROLES": "scheduler worker"}, {"roles": ("engine",)}),
        ({"AKKA_ROLES": "worker", "WINDLASS_ROLES": "gateway"}, {"roles": ("gateway",)}),
        ({"PEKKO_PORT": "2551"}, {"host": "127.0.0.1", "port": 2551}),
        ({"AKKA_PORT": "2552", "AKKA_HOSTNAME": "localhost"}, {"host": "localhost", "port": 2552}),
        ({"AKKA_HOST": "127.0.0.2"}, {"host": "127.0.0.2", "port": 8080}),
        ({"PEKKO_HOSTNAME": "10.0.0.5", "WINDLASS_INSECURE": "yes"}, {"host": "10.0.0.5", "port": 8080}),
        ({"PEKKO_PORT": "2551", "WINDLASS_LISTEN": "127.0.0.1:9000"}, {"port": 9000}),
        ({"PEKKO_PORT": "2551", "WINDLASS_LISTEN": "localhost"}, {"host": "localhost", "port": 2551}),
        ({"PEKKO_SHARDING_SHARDS": "30"}, {"shards": 30}),
        ({"PEKKO_WORKFLOW_SNAPSHOT_EVERY": "50"}, {"snapshot_every": 50}),
        ({"PEKKO_PORT": ""}, {"port": 8080}),
        ({"ASSIGNMENT_STRATEGY": "load-balanced"}, {"assignment": "load-balanced"}),
        ({"HEARTBEAT_INTERVAL": "30000"}, {"worker_heartbeat_s": 30.0}),
        ({"LOCK_TIMEOUT": "120500"}, {"hold_timeout_s": 120.5}),
        ({"FAILURE_DETECTION_TIMEOUT": "60000"}, {"worker_silent_s": 60.0}),
        ({"MAX_RETRIES": "5"}, {"losses_max": 5}),
        ({"ENABLE_FAILOVER": "false"}, {"no_failover": True}),
        ({"ENABLE_FAILOVER": "true"}, {"no_failover": False}),
        ({"CPU_WEIGHT": "0.2", "WORKFLOW_WEIGHT": "0.7"}, {"cpu_weight": 0.2, "active_weight": 0.7}),
        ({"MEMORY_WEIGHT": "0"}, {"memory_weight": 0.0}),
        ({"SUPPORTED_EXECUTORS": "a, b"}, {"capabilities": ("a", "b")}),
        ({"HEARTBEAT_INTERVAL": "30000", "WINDLASS_WORKER_HEARTBEAT": "7s"}, {"worker_heartbeat_s": 7.0}),
    ],
)
def test_variables_of_other_systems_are_understood(
    start: Start, server: Server, variables: dict[str, str], expected: dict[str, object]
) -> None:
    config = config_of(server, start("--database", DATABASE, **variables))
    assert {name: getattr(config, name) for name in expected} == expected


@pytest.mark.parametrize("name", settings.SEED_NODES)
def test_seed_nodes_are_noted_and_not_needed(start: Start, name: str) -> None:
    result = start("--database", DATABASE, **{name: "pekko://system@n1:2551"})
    assert result.exit_code == 0
    first, *_ = result.stdout.splitlines()
    assert first == f"noted: {name} is not needed, the nodes meet in the database"


def test_where_programs_read_seed_nodes_are_noted_in_the_log(start: Start) -> None:
    result = start("--database", DATABASE, "--log", "json", AKKA_SEED_NODES="akka://n1:2551")
    (line,) = [json.loads(line) for line in result.stderr.splitlines()]
    assert (line["level"], line["variable"]) == ("INFO", "AKKA_SEED_NODES")
    assert not result.stdout


# Mistakes.


def test_every_mistake_is_told_with_its_place(start: Start, server: Server) -> None:
    Path("node.toml").write_text('shard = 3\nslots = "many"\nidle = 2021-01-01\nroles = ["worker", "boss"]\n')
    result = start("--config", "node.toml", "--shards", "20000", WINDLASS_GRACE="soon")
    assert result.exit_code == 2
    *lines, last = result.stderr.splitlines()
    places = [line.split(": ")[0] for line in lines]
    assert sorted(places) == [
        "--database",
        "--shards",
        "WINDLASS_GRACE",
        "node.toml:idle",
        "node.toml:roles",
        "node.toml:shard",
        "node.toml:slots",
    ]
    assert "node.toml:shard: there is no setting `shard`; did you mean `shards`?" in lines
    assert "--shards: 20,000 will not do: it has to be from 1 to 10,000" in lines
    assert last == "error: the configuration of the node has 7 faults"
    assert not server.started


def test_mistakes_are_there_for_programs(start: Start) -> None:
    found = json.loads(start("--database", DATABASE, "--roles", "boss", "--json").stdout)
    assert [detail["place"] for detail in found["details"]] == ["--roles"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--database: it has to be named; write postgresql://user@host:5432/name"),
        (
            ["--database", "mysql://ada:geheim@h/db"],
            "--database: this is no address of a PostgreSQL database",
        ),
        (
            ["--roles", "engine,boss"],
            "--roles: there is no role 'boss'; write engine, gateway or both (worker is",
        ),
        (["--roles", ","], "--roles: a node has to have one; write engine, gateway or both"),
        (
            ["--listen", "0.0.0.0:8080", "--insecure"],
            "--advertise: a node that listens on 0.0.0.0:8080 has to say",
        ),
        (
            ["--listen", "[::]:80", "--insecure"],
            "--advertise: a node that listens on [::]:80 has to say where",
        ),
        (
            ["--listen", "10.0.0.5:8080"],
            "--listen: other machines could reach 10.0.0.5:8080, and there is no login",
        ),
        (["--listen", "n1.example"], "--listen: other machines could reach n1.example:8080, and there is no"),
        (["--listen", "8080"], "--listen: '8080' is no address; write host:port, e.g. 127.0.0.1:2551"),
        (["--listen", ":8080"], "--listen: ':8080' is no address"),
        (["--listen", "localhost:http"], "--listen: 'localhost:http' has no port; write host:port"),
        (["--listen", "localhost:65536"], "--listen: 'localhost:65536' has no port"),
        (["--advertise", "n1:0"], "--advertise: nobody can reach n1:0"),
        (["--advertise", "0.0.0.0:80"], "--advertise: nobody can reach 0.0.0.0:80"),
        (["--advertise", "n 1"], "--advertise: 'n 1' is no address"),
        (["--shards", "0"], "--shards: 0 will not do: it has to be from 1 to 10,000"),
        (
            ["--strategy", "random"],
            "--strategy: there is no 'random'; write hash, by-type, or module:function",
        ),
        (["--strategy", "by-type", "--shards", "2"], "--strategy: by-type needs 3 shards or more"),
        (["--idle", "0s"], "--idle: 0s will not do: it has to be from 1s to 3650d"),
        (["--overload-cpu", "850%"], "--overload-cpu: 8.5 will not do: it has to be above 0 and at most 1"),
        (["--overload-cpu", "busy"], "--overload-cpu: the text 'busy' is no share; write e.g. 0.85"),
        (["--refuse-memory", "50%"], "--refuse-memory: 0.5 is lower than overload-memory (0.9)"),
        (["--schema", "No-Good"], "--schema: 'No-Good' is no name of a schema"),
        (["--name", "../n1"], "--name: '../n1' is no name"),
        (["--app", "nowhere"], "--app: there is no module, file or folder 'nowhere' here"),
        (["--log", "xml"], "--log: there is no format 'xml'; write text or json"),
    ],
)
def test_one_mistake_is_one_line(start: Start, server: Server, words: list[str], told: str) -> None:
    given = words if "--database" in words or not words else ["--database", DATABASE, *words]
    result = start(*given)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {told}")
    assert not server.started


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"slots = \n", "node.toml: it is no TOML: Invalid value (at line 1, column 9)"),
        (b"name = '\xff'\n", "node.toml: it is not UTF-8"),
        (b"insecure = 'perhaps'\n", "node.toml:insecure: the text 'perhaps' is neither true nor false"),
        (b"name = 5\n", "node.toml:name: the number 5 is no text; write it in quotes"),
        (b"roles = [1]\n", "node.toml:roles: a list is no list of texts"),
        (b"shards = true\n", "node.toml:shards: true is no whole number"),
        (b"[rebalance]\nthreshold = 3\n", "node.toml:rebalance: there is no setting `rebalance`"),
    ],
)
def test_a_file_that_makes_no_sense_is_named(start: Start, content: bytes, told: str) -> None:
    Path("node.toml").write_bytes(content)
    result = start("--config", "node.toml", "--database", DATABASE)
    assert result.exit_code == 2
    assert result.stderr == f"error: {told}\n"


def test_a_file_that_is_not_there_is_named(start: Start) -> None:
    assert start("--config", "no.toml").stderr == "error: no.toml: No such file or directory\n"


def test_a_variable_that_an_option_overrides_is_not_read(start: Start, server: Server) -> None:
    config = config_of(server, start("--database", DATABASE, "--slots", "3", WINDLASS_SLOTS="many"))
    assert config.slots == 3


# Addresses and names.


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, "127.0.0.1:4711"),
        ({"host": "::1"}, "[::1]:4711"),
        ({"advertise": "n1.example"}, "n1.example:4711"),
        ({"advertise": "n1.example:80"}, "n1.example:80"),
        ({"advertise": "[fe80::1]:80", "host": "::", "insecure": True}, "[fe80::1]:80"),
    ],
)
def test_others_reach_it_where_it_says_or_where_it_listens(given: dict[str, Any], address: str) -> None:
    config = NodeConfig(database=DATABASE, port=0, **given)
    assert config.address(4711) == address
    assert config.called(address) == address
    assert replace(config, name="n1").called(address) == "n1"


def test_every_node_works_in_a_folder_of_its_own() -> None:
    config = NodeConfig(database=DATABASE)
    assert config.folder("n1") == Path(".windlass/n1")
    assert config.folder("[::1]:8080") == Path(".windlass/___1__8080")
    assert replace(config, data=Path("scratch")).folder("n1") == Path("scratch")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "10.0.0.5", "localhost.example")),
    ],
)
def test_only_this_machine_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_is_refused_with_advice(text: str) -> None:
    try:
        host, port = split_address(text)
    except ValueError as error:
        assert "write host:port" in str(error)
    else:
        assert host and (port is None or 0 <= port <= 65_535)


def test_a_config_made_by_a_program_is_checked_too() -> None:
    with pytest.raises(Invalid, match="slots: -1 will not do") as caught:
        NodeConfig(database=DATABASE, slots=-1, roles=())
    assert [fault.pointer for fault in caught.value.faults] == ["slots", "roles"]


# Passwords.


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (SECRET, "postgresql://ada:***@db.example:5432/windlass"),
        (DATABASE, DATABASE),
        ("postgresql://ada:geh@im@h/db", "postgresql://ada:***@h/db"),
        ("postgresql://ada:geh/eim@h/db", "postgresql://ada:***@h/db"),
        ("postgresql://ada:geheim@h1:1,h2:2/db", "postgresql://ada:***@h1:1,h2:2/db"),
        ("postgresql://:geheim@h/db", "postgresql://:***@h/db"),
        ("postgresql://h/db?user=ada&password=geheim&x=1", "postgresql://h/db?user=ada&password=***&x=1"),
        ("postgresql://h/db?sslpassword=geheim", "postgresql://h/db?sslpassword=***"),
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
    config = NodeConfig(database=url)
    assert config.shown_database == shown
    assert "geh" not in repr(config)


@pytest.mark.parametrize("url", [SECRET, SECRET.replace("postgresql", "mysql"), "ada:geheim@h/db"])
def test_no_mistake_repeats_a_password(start: Start, url: str) -> None:
    Path("node.toml").write_text(f'database = "{url}"\nshards = 0\n')
    for result in (
        start("--database", url, "--shards", "0"),
        start("--shards", "0", WINDLASS_DATABASE=url),
        start("--config", "node.toml"),
        start("--database", url, "--roles", "boss", "--json"),
    ):
        assert result.exit_code == 2
        assert "geheim" not in result.output


# Starting.


def test_a_line_says_who_it_is_and_how_many_there_are_and_another_who_may_come_in(
    start: Start, server: Server
) -> None:
    welcome, locked, last = start("--database", DATABASE).stdout.splitlines()
    assert welcome.endswith(": node n1 at http://10.0.0.5:8080 is in cluster windlass, one of 3 nodes")
    assert locked == "  open to every program on this machine, without a login (--login)"
    assert last == "stopped"
    server.ready = Here(name="10.0.0.5:8080", nodes=1, took_s=2.0)
    welcome, locked, _ = start("--database", DATABASE, "--login").stdout.splitlines()
    assert locked == "  everybody shows a token"
    assert welcome.endswith(": node http://10.0.0.5:8080 is in cluster windlass, alone after 2.0 s")


def test_programs_are_told_in_json_and_nothing_else(start: Start) -> None:
    found = json.loads(start("--database", DATABASE, "--json", AKKA_SEED_NODES="n1:2551").stdout)
    assert (
        found.items() >= {"name": "n1", "address": "10.0.0.5:8080", "cluster": "windlass", "nodes": 3}.items()
    )


def test_what_cannot_start_says_why_in_one_line(start: Start, server: Server) -> None:
    server.failure = Refused("the cluster has 30 shards, and 100 are asked for")
    result = start("--database", DATABASE)
    assert result.exit_code == 7
    assert result.stderr == "error: the cluster has 30 shards, and 100 are asked for\n"


def test_a_fault_of_ours_is_logged_with_where_it_came_from(start: Start, server: Server) -> None:
    server.failure = ZeroDivisionError("of ours")
    result = start("--database", DATABASE)
    assert result.exit_code == 1
    assert "the node failed" in result.stderr
    assert "ZeroDivisionError: of ours" in result.stderr


# The documentation.


@pytest.mark.parametrize("setting", [setting.name for setting in settings.SETTINGS])
def test_the_documentation_explains_every_setting(setting: str) -> None:
    assert f"| `--{setting}` |" in DOCUMENTATION


def test_the_documentation_names_every_variable_of_other_systems_and_every_strategy() -> None:
    every = (*settings.SETTINGS, *settings.PARTS, *SEED_SETTINGS)
    also = {name for setting in every for name in setting.also} | {setting.name for setting in SEED_SETTINGS}
    words = (*also, *settings.SEED_NODES, *BUILT_IN, *STRATEGIES)
    missing = [word for word in words if f"`{word}`" not in DOCUMENTATION]
    assert not missing


@pytest.mark.accepts("S0.39")
def test_the_documentation_says_how_many_shards_are_right() -> None:
    assert "shards ≈ 10 × nodes" in DOCUMENTATION  # noqa: RUF001
