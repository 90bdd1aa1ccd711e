"""Code tasks by way of the client: what it asks, what it makes of errors, and that it works for real."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.engines import engine
from tests.sdk.servers import answering
from tests.waiting import wait_until
from windlass.core.errors import Fault, Invalid, NotFound, Refused, Unavailable, Unknown, WindlassError
from windlass.sdk.client import Client
from windlass.sdk.refusals import Broken, NotAllowed, NotReachable
from windlass.sdk.tasks import NoWorker

SUCCESS = {"code": 0, "message": "success", "data": {"taskId": "task_1", "status": "submitted"}}


def error(code: int, detail: str = "in words", **more: object) -> tuple[int, dict[str, object]]:
    told = {"code": code, "message": "A kind of error", "detail": detail, "requestId": "r"}
    return code // 100, {**told, **more}


def test_only_what_was_said_is_asked_for() -> None:
    with answering((200, SUCCESS), (200, SUCCESS)) as server, server.client as client:
        assert client.submit_task("python", "print(1)") == SUCCESS["data"]
        client.submit_task(
            "python",
            "print(1)",
            version="3",
            files={"a.txt": "text", "b.bin": b"\0\xff"},
            outputs=["out"],
            limits={"timeout": "5s"},
            protections=["seccomp"],
            metadata={"user": "u"},
            callback_url="https://example.org/in",
            callback_secret="S",
            queue_timeout="1m",
            retries=2,
            priority=3,
        )
    least, most = server.asked
    assert (least.method, least.path) == ("POST", "/api/v1/tasks")
    assert least.body == {"language": "python", "code": "print(1)"}
    assert most.body == {
        "language": "python",
        "code": "print(1)",
        "version": "3",
        "files": {"a.txt": "text", "b.bin": {"base64": "AP8="}},
        "outputs": ["out"],
        "resourceLimit": {"timeout": "5s"},
        "protections": ["seccomp"],
        "metadata": {"user": "u"},
        "callbackUrl": "https://example.org/in",
        "callbackSecret": "S",
        "queueTimeout": "1m",
        "retries": 2,
        "priority": 3,
    }


def test_a_task_is_asked_for_once_by_a_key_and_with_a_cache_by_its_program() -> None:
    with answering(error(50303), *[(200, SUCCESS)] * 3) as server, server.client as client:
        client.submit_task("python", "1")  # is asked for again when nothing was decided
        client.submit_task("python", "1", key="mine")
        client.submit_task("python", "1", cache=True)
    first, again, mine, cached = [asked.headers.get("Idempotency-Key") for asked in server.asked]
    assert first == again != mine == "mine"
    assert first and cached is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (40001, Invalid),
        (40101, NotAllowed),
        (40301, NotAllowed),
        (40401, NotFound),
        (40402, NotFound),
        (40902, Refused),
        (41301, Invalid),
        (42201, Invalid),
        (42901, Unavailable),
        (50001, Broken),
        (50301, NoWorker),
        (50302, Unavailable),
        (50401, Unknown),
    ],
)
def test_errors_are_those_of_the_engine_in_its_words(code: int, kind: type[WindlassError]) -> None:
    with answering(error(code, retryAfter=30)) as server, server.client as client:
        client.busy_s = 0.0
        with pytest.raises(WindlassError, match="in words") as caught:
            client.task("t")
    assert type(caught.value) is kind


def test_the_faults_of_a_request_keep_their_places() -> None:
    fault = {"pointer": "/resourceLimit/cpu", "message": "too much", "line": 1, "column": 8}
    with (
        answering(error(42201, errors=[fault])) as server,
        server.client as client,
        pytest.raises(Invalid) as caught,
    ):
        client.submit_task("python", "1", limits={"cpu": 10_000})
    assert caught.value.faults == (Fault("/resourceLimit/cpu", "too much", line=1, column=8),)


def test_a_language_that_nobody_runs_is_not_asked_for_again() -> None:
    with (
        answering(error(50301, retryAfter=30)) as server,
        server.client as client,
        pytest.raises(NoWorker) as caught,
    ):
        client.submit_task("cobol", "1")
    assert caught.value.retry_after_s == 30


def event(name: str, data: dict[str, object], n: int = 0) -> bytes:
    ident = b"id: %d\n" % n if n else b""
    return ident + b"event: %b\ndata: %b\n\n" % (name.encode(), json.dumps(data).encode())


def test_a_stream_that_breaks_is_resumed_after_the_last_line() -> None:
    pieces = [
        event("output", {"text": "a"}, 1)
        + event("output", {"text": "b"}, 2)
        + event("output", {"text": "c"}, 3)[:-1],
        b": still here\n\n",
        event("output", {"text": "c"}, 3) + event("ended", {"status": "completed"}),
    ]
    with answering(*pieces) as server, server.client as client:
        news = list(client.follow_task("task_1"))
    assert [(each.name, each.n, each.data.get("text")) for each in news] == [
        ("output", 1, "a"),
        ("output", 2, "b"),
        ("output", 3, "c"),
        ("ended", 0, None),
    ]
    assert [asked.path for asked in server.asked] == ["/api/v1/tasks/task_1/stream"] * 3
    assert [asked.headers.get("Last-Event-ID") for asked in server.asked] == [None, "2", "2"]


def test_patience_with_a_stream_that_stays_broken_comes_to_an_end() -> None:
    with answering(*[b""] * 50) as server, server.client as client, pytest.raises(NotReachable):
        list(client.follow_task("task_1"))
    assert 2 < len(server.asked) < 10


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Of an engine that runs code."""
    options = ("--data", "data", "--json", "--port", "0", "--allow-unsandboxed")
    folder = tmp_path_factory.mktemp("engine")
    with (
        engine(*options, cwd=folder, env={"WINDLASS_NO_CODE": "false"}) as started,
        Client(started.ready()["url"]) as client,
    ):
        wait_until(lambda: "code/bash" in client.workers()["items"][0]["capabilities"], 60.0)
        yield client


def test_a_program_is_run_and_its_result_is_waited_for(client: Client) -> None:
    done = client.submit_task(
        "sh",
        "cat; cp in out; exit 4",
        stdin="read\n",
        files={"in": b"\0\xff"},
        outputs=["out"],
        metadata={"team": "a"},
        wait_s=60.0,
    )
    assert (done["status"], done["final"], done["language"]) == ("failed", True, "bash")
    assert (done["result"]["output"], done["result"]["exitCode"]) == ("read\n", 4)
    assert done["result"]["files"] == {"out": {"base64": "AP8="}}
    assert client.task(done["taskId"])["result"] == done["result"]
    assert [item["taskId"] for item in client.tasks(label="team=a", status="failed")["items"]] == [
        done["taskId"]
    ]
    assert client.tasks(label="team=a", status="completed")["items"] == []


def test_a_task_is_followed_while_it_runs_and_cancelled(client: Client) -> None:
    task = client.submit_task("bash", "echo here; while :; do sleep 1; done", limits={"timeout": "60s"})[
        "taskId"
    ]
    news = client.follow_task(task)
    first = next(news)
    assert (first.name, first.data["stream"], first.data["text"]) == ("output", "stdout", "here")
    assert client.cancel_task(task)["taskId"] == task
    last = list(news)[-1]
    assert (last.name, last.data["status"]) == ("ended", "cancelled")
    assert client.cancel_task(task)["status"] == "cancelled"


def test_the_same_key_starts_one_task(client: Client) -> None:
    first, again = [client.submit_task("bash", "echo 1", key="the-same")["taskId"] for _ in range(2)]
    assert first == again


def test_a_task_that_is_not_there_is_said_so(client: Client) -> None:
    with pytest.raises(NotFound, match="there is no task nobody"):
        client.task("nobody")
    with pytest.raises(NotFound):
        list(client.follow_task("nobody"))
