"""`windlass worker`: from options, variables and a file to one sound configuration, or to every mistake."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from tests.cli.engines import environment, serving, windlass
from tests.waiting import wait_until
from windlass.cli import main, worker_settings
from windlass.cli.worker import Welcome
from windlass.core.errors import Refused
from windlass.worker.addresses import read_address
from windlass.worker.config import WorkerConfig
from windlass.worker.rejections import Dismissed

NODE = "ws://localhost:8080"
DOCUMENTATION = (Path(__file__).resolve().parents[2] / "docs" / "workers.md").read_text()


@dataclass(frozen=True)
class Here:
    name: str = "w1"
    node: str = "n1"
    address: str = NODE
    folder: Path = Path("/data")
    slots: int = 10
    took_s: float = 0.2


@dataclass
class Server:
    """Stands for the part that works: what it was started with, and how it behaves."""

    started: list[WorkerConfig]
    failure: Exception | None = None

    def run(self, config: WorkerConfig, environ: Mapping[str, str], welcome: Welcome) -> None:
        self.started.append(config)
        if self.failure is not None:
            raise self.failure
        welcome(Here())


Start = Callable[..., Result]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    pretended = Server([])
    module = ModuleType("windlass.serve_worker")
    module.run = pretended.run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "windlass.serve_worker", module)
    return pretended


@pytest.fixture
def start(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """The command as typed, in a folder of its own, with no other variables than these."""
    monkeypatch.chdir(tmp_path)
    known = {name for setting in worker_settings.SETTINGS for name in setting.variables}
    kept: dict[str, str | None] = dict.fromkeys({*known, "WINDLASS_CONFIG"})

    def invoke(*words: str, **variables: str) -> Result:
        return CliRunner().invoke(main, ["worker", *words], env={**kept, **variables})

    return invoke


def test_every_setting_can_be_an_option_a_variable_or_a_line_of_a_file(
    server: Server, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "app.py").touch()
    (tmp_path / "token").write_text("t\n")
    (tmp_path / "languages.toml").touch()
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").touch()
    values = {
        "connect": "http://a:8080,wss://b",
        "token-file": "token",
        "name": "gpu-1",
        "app": "app.py",
        "slots": "4",
        "capabilities": "gpu,eu",
        "labels": "zone=1,rack=b",
        "namespaces": "team,team2",
        "host-group": "r1",
        "weight": "2.5",
        "data": "home",
        "grace": "1m",
        "memory": "512MB",
        "recycle": "50",
        "tls-ca": "ca.pem",
        "tls-cert": "cert.pem",
        "tls-key": "key.pem",
        "log-lines": "5",
        "log-bytes": "500",
        "http-private": "deny",
        "allow-network": "10.0.0.0/8",
        "no-code": "true",
        "languages": "languages.toml",
        "allow-unsandboxed": "true",
        "sandbox": "gvisor",
        "files": str(tmp_path),
        "log": "json",
    }
    assert values.keys() | {"token", "verbose"} == {setting.name for setting in worker_settings.SETTINGS}
    wanted = WorkerConfig(
        connect=("ws://a:8080", "wss://b:443"),
        token_file=Path("token"),
        name="gpu-1",
        app=("app.py",),
        slots=4,
        capabilities=("gpu", "eu"),
        labels={"zone": "1", "rack": "b"},
        namespaces=("team", "team2"),
        host_group="r1",
        weight=2.5,
        data=Path("home"),
        grace_s=60.0,
        memory_bytes=512_000_000,
        recycle=50,
        tls_ca=Path("ca.pem"),
        tls_cert=Path("cert.pem"),
        tls_key=Path("key.pem"),
        log_lines=5,
        log_bytes=500,
        http_private="deny",
        allow_network=("10.0.0.0/8",),
        no_code=True,
        languages=Path("languages.toml"),
        allow_unsandboxed=True,
        sandbox="gvisor",
        files=(tmp_path,),
        log="json",
    )
    said = {name: () if value == "true" else (value,) for name, value in values.items()}
    options = [word for name, words in said.items() for word in (f"--{name}", *words)]
    variables = {f"WINDLASS_{name.upper().replace('-', '_')}": value for name, value in values.items()}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    (tmp_path / "worker.toml").write_text("\n".join(lines))
    for result in (start(*options), start(**variables), start("--config", "worker.toml")):
        assert result.exit_code == 0, result.output
        assert server.started[-1] == wanted


def test_options_go_before_variables_and_variables_before_the_file(
    server: Server, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "w.toml").write_text(f'connect = ["{NODE}"]\nslots = 1\nrecycle = 2\nlabels = {{a = "b"}}\n')
    result = start("--config", "w.toml", "--slots", "3", WINDLASS_SLOTS="2", WINDLASS_RECYCLE="7")
    assert result.exit_code == 0, result.output
    config = server.started[-1]
    assert (config.slots, config.recycle, config.labels, config.connect) == (3, 7, {"a": "b"}, (NODE,))


def test_lists_may_be_given_once_or_often(server: Server, start: Start) -> None:
    start("--connect", "a:1,b:2", "--connect", "c:3", "--capabilities", "x", "--capabilities", "y,z")
    config = server.started[-1]
    assert config.connect == ("ws://a:1", "ws://b:2", "ws://c:3")
    assert config.capabilities == ("x", "y", "z")


def test_a_token_is_taken_from_the_variable_and_shown_to_nobody(server: Server, start: Start) -> None:
    start("--connect", NODE, WINDLASS_TOKEN="very-secret")
    assert server.started[-1].token == "very-secret"
    assert "very-secret" not in repr(server.started[-1])
    assert "Every user of a machine sees command lines" in " ".join(start("--help").output.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--connect: say which nodes to connect to"),
        (["--connect", "ftp://a"], "--connect: 'ftp://a' is no address of a node"),
        (["--connect", "ws://a:8080/path"], "--connect: 'ws://a:8080/path': only the scheme"),
        (["--connect", NODE, "--slots", "0"], "--slots: 0 is out of range: 1 to 10,000"),
        (["--connect", NODE, "--slots", "many"], "--slots:"),
        (["--connect", NODE, "--labels", "zone"], "--labels: 'zone' is no label; write it as name=value"),
        (["--connect", NODE, "--memory", "lots"], "--memory:"),
        (["--connect", NODE, "--memory", "1MB"], "--memory: a Python process needs at least 64 MB"),
        (["--connect", NODE, "--name", "two words"], "--name: 'two words' is no name"),
        (["--connect", NODE, "--app", "nowhere.py"], "--app:"),
        (["--connect", NODE, "--token-file", "nowhere"], "--token-file: there is no file"),
        (["--connect", NODE, "--allow-network", "home"], "--allow-network:"),
        (["--connect", NODE, "--weight", "heavy"], "--weight:"),
        (["--connect", NODE, "--recycle", "0"], "--recycle: it is 1 or more"),
        (["--connect", NODE, "--log", "loud"], "--log: it is text or json"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_nothing_is_started(
    server: Server, start: Start, words: list[str], told: str
) -> None:
    result = start(*words)
    assert (result.exit_code, server.started) == (2, [])
    assert f"error: {told}" in result.stderr


def test_all_mistakes_are_told_at_once(start: Start, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("slot = 1\nrecycle = 0\n")
    result = start("--config", "w.toml", "--memory", "much", WINDLASS_GRACE="soon")
    places = [line.split(": ")[0] for line in result.stderr.splitlines()]
    wanted = {"--memory", "WINDLASS_GRACE", "w.toml:slot", "--connect", "w.toml:recycle"}
    assert (set(places[:-1]), len(places)) == (wanted, 6)
    assert "did you mean" in result.stderr


def test_it_says_with_whom_it_is(start: Start) -> None:
    assert "worker w1 is with node n1 at ws://localhost:8080" in start("--connect", NODE).output
    body = json.loads(start("--connect", NODE, "--json").stdout)
    assert (body["name"], body["node"], body["slots"]) == ("w1", "n1", 10)


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (Dismissed("name", "another worker is called w1"), 7, "error: another worker is called w1"),
        (Refused("no"), 7, "error: no"),
        (ValueError("a bug"), 1, "the worker failed"),
    ],
)
def test_how_it_ends_when_it_cannot_go_on(
    server: Server, start: Start, failure: Exception, code: int, words: str
) -> None:
    server.failure = failure
    result = start("--connect", NODE)
    assert result.exit_code == code
    assert words in result.stderr


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("localhost", "ws://localhost:80"),
        ("http://a:8080/", "ws://a:8080"),
        ("https://a", "wss://a:443"),
        ("ws://[::1]:8080", "ws://[::1]:8080"),
    ],
)
def test_addresses_as_people_write_them(written: str, meant: str) -> None:
    assert read_address(written) == meant


def test_the_documentation_names_every_setting() -> None:
    missing = [each.name for each in worker_settings.SETTINGS if f"`--{each.name}`" not in DOCUMENTATION]
    assert missing == []


STEPS = """
def where(ctx):
    ctx.heartbeat({"half": True})
    print("in a process")
    return ctx.step

async def beside(ctx):
    print("in the loop")
    return ctx.parents
"""
WORKFLOW = """
id: far
steps:
  first: {kind: python, requires: [far], with: {call: "app:where"}}
  second: {kind: python, requires: [far], needs: [first], with: {call: "app:beside"}}
  third: {kind: shell, requires: [far], needs: [second], with: {command: "exit 0"}}
"""


def test_a_worker_beside_an_engine_runs_what_only_it_can_run(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(STEPS)
    (tmp_path / "far.yaml").write_text(WORKFLOW)
    with serving(tmp_path / "data") as (_, client):
        words = [*windlass(), "worker", "--connect", client.url, "--capabilities", "far", "--app", "app.py"]
        with (tmp_path / "said").open("w") as said:
            worker = subprocess.Popen(
                [*words, "--name", "w1"], cwd=tmp_path, stdout=said, stderr=said, env=environment()
            )
        try:
            run = [
                *windlass(),
                "--server",
                client.url,
                "run",
                "far.yaml",
                "--run-id",
                "r1",
                "--timeout",
                "30s",
            ]
            done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "said").read_text()
            shown = client.run("r1")
            assert [step["worker"] for step in shown["steps"]] == ["w1"] * 3
            assert [step["output"] for step in shown["steps"]][:2] == ["first", {"first": "first"}]
            logs = [*windlass(), "--server", client.url, "logs", "r1"]
            printed = subprocess.run(logs, capture_output=True, text=True, timeout=60).stdout
            assert "in a process" in printed
            assert "in the loop" in printed
            worker.send_signal(signal.SIGTERM)
            wait_until(lambda: worker.poll() is not None)
            assert worker.returncode == 0
        finally:
            worker.kill()
            worker.wait()
