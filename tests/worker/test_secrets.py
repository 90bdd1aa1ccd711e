"""Steps get the values of secrets; nobody hears of them, whatever the steps do."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.worker.rig import Rig, a_task, play, python, shell, working
from windlass.core.errors import NotFound, Unavailable
from windlass.core.names import SessionId, WorkerId
from windlass.core.task import Failure, Outcome, Success, Task
from windlass.vault import Locked
from windlass.worker import secrets
from windlass.worker.secrets import Opened
from windlass.worker.session import LocalWorker

VALUE = 'c0rrect-h0rse "b\'attery" $x'
REFERENCE = "{{ secrets.KEY }}"
STEPS = """
import os, sys
from windlass import Result

KEPT = []

def use(key, how):
    print("out", key)
    print("err", key, file=sys.stderr)
    if how == "raise":
        raise RuntimeError("no luck with " + key, {"key": key})
    if how == "long":
        raise RuntimeError("x" * 1990 + key)
    if how == "die":
        sys.stderr.write("dying " + key); sys.stderr.flush()
        os._exit(3)
    if how == "write":
        os.write(1, b"raw " + key.encode()[:9]); os.write(1, key.encode()[9:])
    return Result({"given": key, key: [key]}, context={"k": key})

def length(key):
    return len(key)
"""


class Safe:
    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[tuple[str, frozenset[str]]] = []
        self.trouble: Exception | None = None

    async def resolve(self, namespace: str, names: Set[str]) -> Mapping[str, str]:
        self.asked.append((namespace, frozenset(names)))
        if self.trouble is not None:
            raise self.trouble
        return {name: self.values[name] for name in names}


@asynccontextmanager
async def rigged(folder: Path, safe: Safe) -> AsyncIterator[Rig]:
    async with working(folder, steps=STEPS, resolve=safe.resolve) as rig:
        yield rig


def everything(rig: Rig, outcome: Outcome) -> str:
    told = [msgspec.to_builtins(part) for pair in rig.told for part in pair]
    return repr((msgspec.to_builtins(outcome), told))


async def hidden(rig: Rig, task: Task) -> Outcome:
    """Its outcome; nothing that left the worker holds the value, or the better half of it."""
    outcome = await rig.run(task)
    seen = everything(rig, outcome)
    assert "c0rrect" not in seen and "attery" not in seen, seen
    return outcome


@pytest.mark.parametrize("how", ["return", "raise", "long", "die", "write"])
def test_what_a_python_step_does_with_a_secret_stays_hidden(tmp_path: Path, how: str) -> None:
    async def story() -> None:
        async with rigged(tmp_path, Safe(KEY=VALUE)) as rig:
            task = python("use", key=REFERENCE, how=how)
            outcome = await hidden(rig, task)
            texts = {line.text for line in rig.lines(task)}
            assert {"out ***", "err ***"} <= texts
            match how:
                case "return":
                    assert outcome == Success({"given": "***", "***": ["***"]}, {"k": "***"})
                case "write":
                    assert "raw ***" in texts
                case "raise":
                    assert isinstance(outcome, Failure) and "no luck with ***" in outcome.detail
                case _:
                    assert isinstance(outcome, Failure)
            assert all(whose is task for whose, _ in rig.told)  # the one with the reference

    play(story())


def test_the_step_gets_the_value_itself(tmp_path: Path) -> None:
    async def story() -> None:
        safe = Safe(KEY=VALUE)
        async with rigged(tmp_path, safe) as rig:
            assert await rig.value(python("length", key=REFERENCE)) == len(VALUE)
            assert await rig.value(python("length", key=f"<{REFERENCE}>")) == len(VALUE) + 2
            safe.values["KEY"] = "another value"  # counts at once
            assert await rig.value(python("length", key=REFERENCE)) == len("another value")
            assert safe.asked == [("default", frozenset({"KEY"}))] * 3
            await rig.value(python("length", key="none"))
            assert len(safe.asked) == 3

    play(story())


COMMANDS = {
    "env": shell('printf "%s\\n" "$K"; printf %s "$K" | wc -c', env={"K": REFERENCE}),
    "stdin": shell("cat; echo; true", stdin=REFERENCE),
    "command": shell(f"printf '%s\\n' '{REFERENCE}' {REFERENCE}"),
    "trace": shell(f"set -x; : '{REFERENCE}'; echo done"),
    "fails": shell(f'echo "bad {REFERENCE}" >&2; exit 3'),
    "context": shell('printf \'{"k": "%s"}\' abc > "$WINDLASS_CONTEXT"; echo ' + REFERENCE),
    "base64": shell(f"printf %s {REFERENCE} | base64; printf 'user:%s' {REFERENCE} | base64"),
    "much": shell(f'i=0; while [ $i -lt 3000 ]; do printf "%s%s" {REFERENCE} "$i"; i=$((i+1)); done'),
    "cwd": shell("pwd", cwd=REFERENCE),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_shell_step_does_with_a_secret_stays_hidden(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        async with rigged(tmp_path, Safe(KEY=VALUE)) as rig:
            outcome = await hidden(rig, COMMANDS[name])
            assert "***" in everything(rig, outcome)
            if name == "env":
                assert isinstance(outcome, Success)
                assert outcome.value["stdout"].split() == ["***", str(len(VALUE))]
            if name == "command":
                assert isinstance(outcome, Success) and outcome.value["stdout"] == "***\n***\n"

    play(story())


def test_no_process_has_the_value_among_its_arguments(tmp_path: Path) -> None:
    async def story() -> None:
        async with rigged(tmp_path, Safe(KEY="plain-c0rrect-value")) as rig:
            seen = "cat /proc/$$/cmdline /proc/$PPID/cmdline | tr '\\0' ' ' | grep -c c0rr[e]ct; true"
            value = await rig.value(shell(f": '{REFERENCE}'; {seen}", env={"K": REFERENCE}))
            assert value["stdout"] == "0\n"
            failure = await rig.failure(a_task("shell", {"argv": ["echo", REFERENCE]}))
            assert failure.type == "BadStep" and not failure.retryable
            assert "`env` or `stdin`" in failure.message

    play(story())


def test_what_an_http_step_does_with_a_secret_stays_hidden(tmp_path: Path) -> None:
    got: list[str] = []

    async def echo(request: web.Request) -> web.Response:
        got.append(request.headers["X-Key"])
        status = int(request.query.get("status", 200))
        body = {"key": request.headers["X-Key"], "url": str(request.url), "sent": await request.text()}
        if "long" in request.query:
            return web.Response(status=status, text="x" * 8185 + request.headers["X-Key"])
        return web.json_response(body, status=status, headers={"X-Key": request.headers["X-Key"]})

    async def story() -> None:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", echo)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        more: dict[str, Any] = {"method": "POST", "headers": {"X-Key": REFERENCE}, "json": {"k": REFERENCE}}
        try:
            async with rigged(tmp_path, Safe(KEY=VALUE, BASE=base + "/hook/t0ken")) as rig:
                for path in ("/a?key=" + REFERENCE, "/b?status=500&key=" + REFERENCE, "/c?status=404&long=1"):
                    await hidden(rig, a_task("http", {"url": base + path, **more}))
                outcome = await hidden(rig, a_task("http", {"url": "{{ secrets.BASE }}", **more}))
                assert isinstance(outcome, Success) and outcome.value["body"]["url"] == "***"
                refused = a_task("http", {"url": f"http://127.0.0.1:1/{REFERENCE}"})
                outcome = await hidden(rig, refused)
                assert isinstance(outcome, Failure) and "/***" in outcome.message
        finally:
            await runner.cleanup()
        assert set(got) == {VALUE}

    play(story())


def test_a_noop_step_does_not_give_it_away(tmp_path: Path) -> None:
    async def story() -> None:
        async with rigged(tmp_path, Safe(KEY=VALUE)) as rig:
            assert await hidden(rig, a_task("noop", {"value": [REFERENCE]})) == Success(["***"])

    play(story())


@pytest.mark.parametrize(
    ("trouble", "type_", "retryable"),
    [
        (NotFound("there is no secret KEY"), "SecretMissing", False),
        (Locked("the key 1234 is not here"), "SecretLocked", True),
        (Unavailable("the database does not answer"), "SecretUnavailable", True),
    ],
)
def test_an_attempt_whose_secrets_cannot_be_had_fails_with_the_reason(
    tmp_path: Path, trouble: Exception, type_: str, retryable: bool
) -> None:
    async def story() -> None:
        safe = Safe(KEY=VALUE)
        safe.trouble = trouble
        async with rigged(tmp_path, safe) as rig:
            failure = await rig.failure(shell(f"echo {REFERENCE}"))
            assert (failure.type, failure.retryable) == (type_, retryable)
            assert str(trouble) in failure.message
            assert rig.told == []

    play(story())


def test_a_database_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(namespace: str, names: Set[str]) -> Mapping[str, str]:
        await asyncio.Event().wait()
        raise AssertionError

    async def story() -> None:
        monkeypatch.setattr(secrets, "RESOLVE_S", 0.01)
        async with working(tmp_path, resolve=never) as rig:
            failure = await rig.failure(shell(f"echo {REFERENCE}"))
            assert (failure.type, failure.retryable) == ("SecretUnavailable", True)

    play(story())


def test_a_worker_without_access_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with working(tmp_path) as rig:
            assert (await rig.failure(shell(f"echo {REFERENCE}"))).type == "SecretLocked"

    play(story())


class Faulty:
    """An executor that falls over with the value in its hands."""

    async def run(self, task: Task, secrets: Opened) -> Outcome:
        try:
            raise ValueError(secrets.values["KEY"])
        except ValueError as error:
            raise RuntimeError(f"fell over {secrets.values['KEY']}") from error


def test_our_own_faults_do_not_tell_it_in_the_log_either(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Outcome] = []
    done = asyncio.Event()

    async def report(task: Task, outcome: Outcome, _started_at: float) -> None:
        heard.append(outcome)
        done.set()

    async def story() -> None:
        async with LocalWorker(
            id=WorkerId("w1"),
            session=SessionId("s1"),
            slots=1,
            executors={"noop": Faulty()},
            report=report,
            resolve=Safe(KEY=VALUE).resolve,
        ) as worker:
            worker.start(a_task("noop", {"value": REFERENCE}))
            await done.wait()

    with caplog.at_level(logging.DEBUG):
        play(story())
    (record,) = [record for record in caplog.records if record.message == "an executor failed"]
    assert record.exc_info is None
    assert "fell over ***" in record.trace and VALUE not in record.trace  # type: ignore[attr-defined]
    assert heard == [Failure("RuntimeError", "fell over ***", bases=("Exception", "BaseException"))]
