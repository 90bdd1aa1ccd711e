"""`windlass token` and `windlass audit` beside an engine with a login; and a search for tokens everywhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.engines import engine, environment, serving, windlass
from tests.waiting import wait_until
from windlass.core import tokens
from windlass.sdk.client import Client
from windlass.sdk.refusals import NotAllowed

ONE = b'{"id": "one", "steps": {"a": {"kind": "noop"}}}'


def say(*words: str, token: str = "") -> subprocess.CompletedProcess[str]:
    variables = {"WINDLASS_TOKEN": token} if token else {}
    return subprocess.run(
        [*windlass(), *words], capture_output=True, text=True, env=environment(variables), timeout=60
    )


def test_the_first_token_is_made_at_the_data_folder_while_the_engine_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--login") as (_, stranger):
        refused = say("workflows", "--server", stranger.url)
        assert refused.returncode == 7 and "this needs a login" in refused.stderr
        made = say("token", "create", "--role", "admin", "--name", "me", "--data", str(data))
        admin = made.stdout.strip()
        assert tokens.number_of(admin) and "admin of all namespaces" in made.stderr
        server = ("--server", stranger.url)
        assert say("workflows", *server, token=admin).returncode == 0
        ci = json.loads(
            say(
                *("token", "create", "--role", "submit", "--namespace", "reports", "--expires", "1d"),
                *("--name", "ci", "--json", *server),
                token=admin,
            ).stdout
        )
        assert (ci["role"], ci["namespace"]) == ("submit", "reports")
        listed = say("token", "list", *server, token=admin).stdout
        assert "ci" in listed and "reports" in listed and ci["token"] not in listed
        with (
            Client(stranger.url, token=ci["token"]) as client,
            pytest.raises(NotAllowed, match="operator or admin"),
        ):
            client.apply("one", ONE, "application/json")
        assert say("token", "revoke", ci["id"], "--data", str(data)).returncode == 0
        with Client(stranger.url, token=ci["token"]) as client, pytest.raises(NotAllowed):
            for _ in range(1_000):  # at most half a second long it is believed
                client.runs(limit=1)
        unknown = say("token", "revoke", "nothing", *server, token=admin)
        assert unknown.returncode == 7 and "there is no token nothing" in unknown.stderr
        lines = say("audit", *server, token=admin).stdout
        assert "createToken" in lines and "listWorkflows" in lines and "401" in lines
        assert "the command line, at the database" in lines and "revokeToken" in lines


def test_a_door_that_strangers_can_reach_needs_a_login_or_somebodys_word(tmp_path: Path) -> None:
    refused = say("up", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path / "data"))
    assert refused.returncode == 2
    assert "there is no login: anybody could run programs here" in refused.stderr
    assert "--login" in refused.stderr and "--insecure" in refused.stderr
    for word in ("--login", "--insecure"):
        options = [
            "--host",
            "0.0.0.0",
            "--port",
            "0",
            "--json",
            "--data",
            str(tmp_path / f"data{word}"),
            word,
        ]
        with engine(*options, cwd=tmp_path) as started:
            assert started.ready()["url"]


def test_an_engine_with_a_login_says_how_to_get_in_and_what_is_not_safe(tmp_path: Path) -> None:
    with engine("--host", "0.0.0.0", "--port", "0", "--login", cwd=tmp_path) as started:
        wait_until(lambda: "Ctrl-C" in started.says or started.ended, 30)
        assert "everybody shows a token; they travel unencrypted" in started.says
        assert "token create --role admin --data .windlass" in started.says


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--login", "--token-rate", "often"], "'often' is no rate"),
        (["--login", "--jwt-role", "ops"], "makes no sense"),
        (["--login", "--jwt-key-file", "/nowhere"], "there is no file"),
        (["--jwt-key-file", __file__], "there is no login for which it could be used"),
    ],
)
def test_settings_that_make_no_sense_are_told_before_anything_starts(
    tmp_path: Path, options: list[str], words: str
) -> None:
    refused = say("up", "--data", str(tmp_path / "data"), *options)
    assert refused.returncode == 2 and words in refused.stderr
    assert not (tmp_path / "data").exists()


def test_a_token_is_nowhere_but_with_who_has_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, "--login", "-vv", "--log", "json") as (started, stranger):
        made = say("token", "create", "--role", "admin", "--data", str(data))
        admin = made.stdout.strip()
        secret = admin.rpartition("_")[2]
        wrong = f"{admin[:-1]}{'0' if admin[-1] != '0' else '1'}"
        answers = []
        with Client(stranger.url, token=admin) as client:
            client.apply("one", ONE, "application/json")
            client.start("one", run_id="r")
            made_here = client.create_token("read", name="other")
            answers += [
                client.tokens(), client.whoami(), client.run("r"), client.events("r"), client.explain("r"),
                client.audit(), client.runs(), client.cluster_nodes(), client.cluster_events(),
            ]  # fmt: skip
            for body in (b"{", b'{"role": 1}', b'{"id": "x", "steps": {"a": {"kind": "?"}}}'):
                with pytest.raises(Exception) as failed:
                    client.apply("x", body, "application/json")
                answers.append(str(failed.value))
            answers.append(repr(client))
        with Client(stranger.url, token=wrong) as client, pytest.raises(NotAllowed) as refused:
            client.runs()
        answers.append(str(refused.value))
        assert started.stop() == 0
        hidden = [secret, wrong.rpartition("_")[2], made_here["token"].rpartition("_")[2]]
        told = {"the engine said it": started.says, "it was answered": json.dumps(answers)}
        told |= {str(file): file.read_bytes().decode("latin-1") for file in data.rglob("*") if file.is_file()}
        assert any(file.endswith(".db") for file in told)
        for where, text in told.items():
            assert not [each for each in hidden if each in text], where
