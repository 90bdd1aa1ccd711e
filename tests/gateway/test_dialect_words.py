"""Dialects as pure translators: whatever a client says, it is understood or refused with words."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.names import Attempt, RunId, StepId, WorkerId
from windlass.core.task import Failure, Json, Success, Task
from windlass.core.task_tokens import token
from windlass.gateway import dialect
from windlass.gateway.dialect import Dialect, Misspoken, id_of, read_id
from windlass.gateway.dialect_envelope import EnvelopeDialect
from windlass.gateway.dialect_json import JsonDialect
from windlass.gateway.dialect_raw import RawDialect
from windlass.wire import crew
from windlass.wire.crew import (
    Beat,
    Beaten,
    Ended,
    Holding,
    Kept,
    Order,
    Rejected,
    Returned,
    Run,
    Stop,
    Welcome,
)

KEY = b"a key of nodes"
HEARTBEAT = {"type": "heartbeat", "clientId": "one", "capabilities": ["py"], "load": {"maxConcurrent": 2}}
WELCOME = Welcome(1, "a", 10.0, 30.0)
TASK = Task(
    RunId("exec_01"), StepId("a.b:c-d_e"), Attempt(3), "code", {"language": "python", "code": "print(42)"}
)
TOKEN = token(KEY, TASK.name, WorkerId("one"))
RUN = Run(crew.encode_task(TASK), TOKEN)


def in_json() -> JsonDialect:
    return JsonDialect(lambda: 100.0)


def in_envelopes() -> EnvelopeDialect:
    return EnvelopeDialect("x", 1, clock=lambda: 100.0, post=lambda id: "http://a/b", kept=lambda id: None)


def raw() -> RawDialect:
    return RawDialect("x", 1, clock=lambda: 100.0, post=lambda id: "http://a/b", kept=lambda id: None)


def welcomed() -> JsonDialect:
    made = in_json()
    made.hear(json.dumps(HEARTBEAT))
    made.tell(WELCOME)
    return made


def heard(words: dialect.Words) -> list[Json]:
    return [json.loads(text) for text in words.client]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["type", "Type", "clientId", "load", "capabilities", "tasks", "taskId", "success", "exitCode", "weight",
     "executionTime", "request_id", "payload", "output", "timestamp"]
)  # fmt: skip
KINDS = st.sampled_from(["heartbeat", "register", "result", "ack", "responseDuration", "execute"])
SAID = st.one_of(
    st.text(),
    VALUES.map(json.dumps),
    st.dictionaries(FIELDS, VALUES, max_size=6).map(json.dumps),
    st.builds(
        lambda kind, rest: json.dumps({**HEARTBEAT, "taskId": "t", "success": True, **rest, "type": kind}),
        KINDS,
        st.dictionaries(FIELDS, VALUES, max_size=3),
    ),
)


@pytest.mark.parametrize("make", [in_json, welcomed, in_envelopes, raw])
@given(said=SAID)
def test_whatever_is_said_is_understood_or_refused_with_words(make: Callable[[], Dialect], said: str) -> None:
    speaker = make()
    try:
        words = speaker.hear(said)
    except Misspoken as misspoken:
        assert 0 < len(str(misspoken)) < 400
        speaker.scold(str(misspoken))
    else:
        crew.from_worker(crew.encode([*words.node]))  # and it can be sent on


def test_the_id_of_a_task_holds_its_name_and_its_token() -> None:
    id = id_of(Holding(TASK.name, TOKEN))
    assert id.startswith("task~default~exec_01~a.b:c-d_e~3~")
    assert read_id(id) == Holding(TASK.name, TOKEN)


@pytest.mark.parametrize("id", ["", "task_789", "task~a~b~c~d~e", "task~a~b~c~²~e", "task~a~b~c~1", "~~~~~"])
def test_what_is_no_id_of_ours_is_refused(id: str) -> None:
    with pytest.raises(Misspoken):
        read_id(id)


def test_a_beat_lists_what_is_held_until_its_result_is_kept() -> None:
    client = welcomed()
    (told,) = heard(client.tell(RUN))
    assert client.hear(json.dumps(HEARTBEAT)).node == (Beat(1, 0.0, 0.0, (TOKEN,)),)
    (ended,) = client.hear(json.dumps({"type": "result", "taskId": told["taskId"], "success": True})).node
    assert isinstance(ended, Ended)
    assert client.hear(json.dumps(HEARTBEAT)).node == (Beat(2, 0.0, 0.0, (TOKEN,)),)
    assert heard(client.tell(Kept((TOKEN,)))) == [{"type": "result_ack", "taskId": told["taskId"]}]
    assert client.hear(json.dumps(HEARTBEAT)).node == (Beat(3, 0.0, 0.0, ()),)


def test_a_result_that_nobody_has_kept_is_said_again_to_whom_it_greets_anew() -> None:
    client = welcomed()
    (told,) = heard(client.tell(RUN))
    ended = client.hear(json.dumps({"type": "result", "taskId": told["taskId"], "success": True})).node
    greet = client.hear(json.dumps({**HEARTBEAT, "capabilities": ["py", "c"]})).greet
    assert greet is not None
    assert greet.held == (Holding(TASK.name, TOKEN),)
    assert client.tell(WELCOME).node == ended


def test_a_client_that_comes_back_as_it_was_has_the_same_session_and_one_that_offers_more_another() -> None:
    offers = (["py"], ["py"], ["py", "c"])
    greets = [in_json().hear(json.dumps({**HEARTBEAT, "capabilities": offer})).greet for offer in offers]
    sessions = [greet.session for greet in greets if greet is not None]
    assert sessions[0] == sessions[1] != sessions[2]


def test_a_task_that_was_ended_by_the_node_is_held_until_the_client_lets_it_go() -> None:
    client = welcomed()
    (told,) = heard(client.tell(RUN))
    assert heard(client.tell(Stop((TOKEN,)))) == [{"type": "cancel", "taskId": told["taskId"]}]
    assert heard(client.tell(Kept((TOKEN,)))) == []  # what the node said in its place
    assert client.hear(json.dumps(HEARTBEAT)).node == (Beat(1, 0.0, 0.0, (TOKEN,)),)
    returned, beat = client.hear(json.dumps({**HEARTBEAT, "tasks": []})).node
    assert returned == Returned(TASK.name, TOKEN, "stopped")
    assert beat == Beat(2, 0.0, 0.0, ())


def test_the_answer_to_a_beat_may_name_what_to_stop() -> None:
    client = welcomed()
    (told,) = heard(client.tell(RUN))
    client.hear(json.dumps({**HEARTBEAT, "timestamp": 7}))
    answer = heard(client.tell(Beaten(1, (TOKEN,))))
    assert answer == [
        {"type": "heartbeat_ack", "clientId": "one", "timestamp": 7},
        {"type": "cancel", "taskId": told["taskId"]},
    ]


def test_a_refusal_is_passed_on_with_its_reason() -> None:
    told = heard(welcomed().tell(Rejected("full", "no room", 2.5)))
    assert told == [{"type": "error", "code": "full", "message": "no room", "retryAfter": 2.5}]


@pytest.mark.parametrize("make", [welcomed, in_envelopes, raw])
def test_who_is_to_drain_says_so_itself(make: Callable[[], Dialect]) -> None:
    assert make().tell(Order("drain")) == dialect.Words(node=(crew.Leaving(),))


@pytest.mark.parametrize("make", [welcomed, in_envelopes, raw])
def test_only_code_is_passed_on(make: Callable[[], Dialect]) -> None:
    other = Task(RunId("r"), StepId("s"), Attempt(1), "shell", {"command": "ls"})
    words = make().tell(Run(crew.encode_task(other), "token"))
    (ended,) = words.node
    assert words.client == ()
    assert isinstance(ended, Ended)
    outcome = crew.decode_outcome(ended.outcome)
    assert isinstance(outcome, Failure)
    assert outcome.type == "NotCode"


def test_a_raw_client_is_told_nothing_that_it_would_take_for_code() -> None:
    client = raw()
    told = [
        client.scold("nonsense"), client.tell(WELCOME), client.tell(Beaten(1)), client.tell(Stop(("t",))),
        client.tell(Kept(("t",))), client.tell(Rejected("full", "no room")),
    ]  # fmt: skip
    assert [words.client for words in told] == [()] * len(told)


@pytest.mark.parametrize(
    ("ok", "code", "type"),
    [
        (True, 0, None),
        (True, None, None),
        (True, 3, "ExitCode"),
        (False, 0, "CodeFailed"),
        (False, 3, "ExitCode"),
    ],
)
def test_a_result_is_good_only_if_both_its_words_say_so(ok: bool, code: int | None, type: str | None) -> None:
    outcome = dialect.outcome("out", "err", ok=ok, exit_code=code, took="1s")
    if isinstance(outcome, Success):
        assert type is None
        assert outcome.value == {"output": "out", "error": "err", "exitCode": code, "executionTime": "1s"}
    else:
        assert (outcome.type, outcome.message, outcome.detail) == (type, "err", "out")


@pytest.mark.parametrize(
    ("given", "text"), [(30.0, "30s"), (0.2, "0.2s"), (1.25, "1.25s"), (3600.0, "3600s")]
)
def test_times_are_told_in_seconds(given: float, text: str) -> None:
    assert dialect.seconds(given) == text
