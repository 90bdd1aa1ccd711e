"""`windlass secret`, and the search for a value in everything that an engine writes, says and answers."""

import json
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from tests.cli.calls import at_terminal, command
from tests.cli.engines import engine, environment, serving, windlass
from windlass.core.task import Json
from windlass.sdk.client import Client, new_run_id
from windlass.vault import keys

VALUE = "s3cr3t-h0rse 'battery' \"stapl3\"/+=&"
FORMS = (VALUE, "s3cr3t-h0rse", "stapl3", quote(VALUE), quote(VALUE, safe=""))
STEPS = """
import sys

def give(key):
    print("printed", key)
    print("printed", key, file=sys.stderr)
    return {"key": key, key: [key, len(key)]}

def fall(key):
    raise ValueError("fell over " + key)
"""
REFERENCE = "{{ secrets.KEY }}"


class Echo(BaseHTTPRequestHandler):
    got: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append(self.headers["Authorization"])
        self.send_response(200 if self.path.startswith("/fine") else 500)
        self.send_header("X-Said", self.headers["Authorization"])
        self.end_headers()
        self.wfile.write(b"said " + body + self.path.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def echoing() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def a_document(url: str) -> Json:
    failing = {"on_failure": "skip"}
    sent = {"method": "POST", "headers": {"Authorization": f"Bearer {REFERENCE}"}, "json": [REFERENCE]}
    return {
        "id": "leaky",
        "steps": {
            "give": {"kind": "python", "with": {"call": "steps:give", "args": {"key": REFERENCE}}},
            "fall": {"kind": "python", "with": {"call": "steps:fall", "args": {"key": REFERENCE}}, **failing},
            "say": {"kind": "shell", "with": {"command": f"set -x; echo '{REFERENCE}'; echo \"$K\" >&2",
                                              "env": {"K": REFERENCE}}},
            "exit": {"kind": "shell", "with": {"command": f"echo {REFERENCE} >&2; exit 3"}, **failing},
            "send": {"kind": "http", "with": {"url": f"{url}/fine?k={REFERENCE}", **sent}},
            "fail": {"kind": "http", "with": {"url": f"{url}/bad?k={REFERENCE}", **sent}, **failing},
            "noop": {"kind": "noop", "with": {"value": REFERENCE}},
        },
    }  # fmt: skip


def set_secret(url: str, value: str, name: str = "KEY") -> subprocess.CompletedProcess[str]:
    words = [*windlass(), "secret", "set", name, "--server", url]
    return subprocess.run(words, input=value, capture_output=True, text=True, env=environment(), timeout=60)


def finished(client: Client, run: str) -> Json:
    list(client.follow_logs(run))
    return client.run(run)


def search(where: str, text: str | bytes) -> None:
    raw = text.encode() if isinstance(text, str) else text
    for form in FORMS:
        assert form.encode() not in raw, f"{where} tells the secret"


def test_a_secret_is_nowhere_but_where_it_is_used(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "steps.py").write_text(STEPS)
    Echo.got.clear()
    with echoing() as url, serving(data, "-vv", "--log", "json") as (started, client):
        said = set_secret(client.url, VALUE + "\n")
        assert said.returncode == 0 and said.stdout == "KEY: version 1\n", said.stderr
        search("secret set", said.stdout + said.stderr)
        client.apply("leaky", json_of(a_document(url)), "application/json")
        run = client.start("leaky", run_id=new_run_id("leaky"))["executionId"]
        ended = finished(client, run)
        states = {step["id"]: step["status"] for step in ended["steps"]}
        assert states == {
            **dict.fromkeys(("give", "say", "send", "noop"), "succeeded"),
            **dict.fromkeys(("fall", "exit", "fail"), "failed"),
        }, ended
        assert Echo.got == [f"Bearer {VALUE}"] * len(Echo.got) and len(Echo.got) >= 2
        paths = [
            f"/api/v1/runs/{run}", f"/api/v1/runs/{run}/events?limit=1000", f"/api/v1/runs/{run}/logs",
            f"/api/v1/runs/{run}/explain", "/api/v1/runs", "/api/v1/workflows/leaky", "/api/v1/workflows",
            "/api/v1/workflows/leaky/executions", "/api/history/leaky", "/api/v1/secrets", "/api/v1/audit",
            "/api/v1/openapi.json", "/metrics", "/health", "/", "/api/v1/stuck",
        ]  # fmt: skip
        answers = {path: ask(client.url + path) for path in paths}
        for path, answer in answers.items():
            search(path, answer)
        for path in paths[:3]:
            assert b"***" in answers[path]
        assert b"secrets.KEY" in answers["/api/v1/workflows/leaky"]
        for words in (("show", run), ("events", run), ("logs", run), ("secret", "list")):
            done = command(*words, "--server", client.url)
            search(" ".join(words), done.stdout + done.stderr)
        files(data)  # while it runs, with its write-ahead log
        started.stop()
    search("what the engine said", started.says)
    assert "ready" in started.says  # it did say something
    assert len(files(data)) >= 2


def files(folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    for path in found:
        search(str(path), path.read_bytes())
    return found


def ask(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        raw: bytes = answer.read()
        return raw


def json_of(document: Json) -> bytes:
    return json.dumps(document).encode()


def test_keys_are_changed_without_losing_a_secret(tmp_path: Path) -> None:
    old, new, other = (keys.new_key() for _ in range(3))
    file = tmp_path / "keys"

    def start(*lines: str) -> list[str]:
        file.write_text("\n".join(lines))
        file.chmod(0o600)
        return ["--secrets-key-file", str(file)]

    data = tmp_path / "data"
    with serving(data, *start(old)) as (_, client):
        assert set_secret(client.url, VALUE).returncode == 0
        assert not (data / "secrets.key").exists()
    with serving(data, *start(new, old)) as (_, client):
        done = command("secret", "rotate", "--server", client.url)
        assert done.returncode == 0 and done.stdout.startswith("1 sealed anew"), done
    step = {"kind": "shell", "with": {"command": 'printf %s "$K" | wc -c', "env": {"K": REFERENCE}}}
    document = json_of({"id": "count", "steps": {"count": step}})
    with serving(data, *start(new)) as (_, client):
        client.apply("count", document, "application/json")
        run = client.start("count", run_id=new_run_id("count"))["executionId"]
        assert finished(client, run)["steps"][0]["output"]["stdout"].strip() == str(len(VALUE))
    with serving(data, *start(other)) as (_, client):
        run = client.start("count", run_id=new_run_id("count"))["executionId"]
        (failed,) = finished(client, run)["steps"]
        assert failed["status"] == "failed"
        assert (
            failed["error"]["type"] == "SecretLocked" and "--secrets-key-file" in failed["error"]["message"]
        )
        done = command("secret", "rotate", "--server", client.url)
        assert done.returncode == 7 and "secret/default/KEY" in done.stderr


def test_a_key_file_that_others_can_read_keeps_the_engine_from_starting(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(keys.new_key())
    file.chmod(0o644)
    options = ("--data", str(tmp_path / "data"), "--port", "0", "--secrets-key-file", str(file))
    with engine(*options, cwd=tmp_path) as started:
        assert started.wait() != 0
    assert "chmod 600" in started.says and "Traceback" not in started.says
    search_key = file.read_text()
    assert search_key not in started.says


def test_at_a_terminal_it_asks_twice_and_shows_nothing(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (_, client):
        code, shown = at_terminal(
            "secret", "set", "KEY", "--server", client.url,
            answers=[("Value", "typed-value\n"), ("Repeat", "typed-value\n")],
        )  # fmt: skip
        assert code == 0 and "version 1" in shown and "typed-value" not in shown
        assert command("secret", "delete", "KEY", "--server", client.url).returncode == 0
        assert "no secrets yet" in command("secret", "list", "--server", client.url).stdout


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (_, client):
        short = set_secret(client.url, "abc\n")
        assert short.returncode == 7 and "4 characters" in short.stderr
        assert set_secret(client.url, VALUE, "1st").returncode == 2


def test_a_new_key_is_one_that_can_be_used() -> None:
    made = command("secret", "key").stdout
    assert keys.from_text(made, "here").key
