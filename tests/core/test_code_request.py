"""What somebody asks for who sends a program: understood, or refused with every fault at once."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.core import document, needs
from windlass.core.code_request import LABEL, CodeRequest, read
from windlass.core.faults import Faults
from windlass.core.task import Json


def asked(**more: Json) -> CodeRequest:
    faults = Faults()
    request = read({"language": "python", "code": "print(42)", **more}, faults)
    assert faults.listed == []
    return request


def faults_of(body: Json) -> dict[str, str]:
    faults = Faults()
    read(body, faults)
    return {fault.pointer: fault.message for fault in faults.listed}


def test_what_the_seed_sends_becomes_a_run_of_one_step() -> None:
    request = asked(
        resourceLimit={"timeout": "30s", "memory": "256MB", "cpu": "1.0"},
        metadata={"userId": "user_123", "projectId": "proj_456", "line": 7},
    )
    assert request.document() == {
        "id": "windlass:task",
        "queue_timeout": "10m",
        "steps": {
            "code": {
                "kind": "code",
                "with": {
                    "language": "python",
                    "code": "print(42)",
                    "limits": {"timeout": "30s", "memory": "256MB", "cores": 1.0, "cpu": "30500ms"},
                },
                "timeout": "2m",
                "retry": {"attempts": 1},
                "on_lost": 3,
            }
        },
    }
    assert request.metadata == {"userId": "user_123", "projectId": "proj_456", "line": 7}
    assert request.labels == {"userId": "user_123", "projectId": "proj_456", LABEL: "python"}


def test_all_that_can_be_said_is_understood_by_who_reads_documents() -> None:
    request = asked(
        language="js",
        version="20",
        stdin="in",
        files={"a.txt": "x"},
        outputs=["b.txt"],
        resourceLimit={
            "timeout": 2, "memory": "64MB", "cpu": 0.5, "processes": 4, "openFiles": 32, "disk": "1MB",
            "inodes": 100, "output": "1KB", "network": True,
        },
        protections=["seccomp", "memory_hard"],
        priority=5,
        callbackUrl="https://example.org/done",
        callbackSecret="HOOK",
        retries=2,
        queueTimeout="1m",
        cache="2h",
    )  # fmt: skip
    definition = document.read(request.document())
    (step,) = definition.steps
    assert needs.needs(step) == {
        "code", "code/javascript", "code/javascript/20", "code:limits", "code:network", "sandbox:seccomp",
        "sandbox:memory_hard",
    }  # fmt: skip
    assert (step.retry.attempts, step.losses_max, step.timeout_s) == (3, 3, 92.0)
    assert definition.queue_timeout_s == 60.0
    assert step.with_["limits"]["cpu"] == "1500ms"
    assert (request.priority, request.callback, request.callback_secret, request.cache_s) == (
        5,
        "https://example.org/done",
        "HOOK",
        7200.0,
    )
    assert not request.modest


def test_who_says_nothing_of_limits_gets_the_usual_ones_or_none_where_nobody_knows_any() -> None:
    request = asked()
    assert request.modest
    (limited,) = document.read(request.document()).steps
    (plain,) = document.read(request.document(limited=False)).steps
    assert limited.with_["limits"] == {"timeout": "30s"}
    assert "limits" not in plain.with_
    assert needs.needs(limited) - needs.needs(plain) == {needs.CODE_TIME}


def test_null_is_as_good_as_nothing() -> None:
    assert asked(version=None, stdin=None, resourceLimit={"cpu": None}, cache=None) == asked(resourceLimit={})


def test_a_result_is_kept_for_an_hour_unless_it_is_said_for_how_long() -> None:
    assert (asked().cache_s, asked(cache=False).cache_s) == (0.0, 0.0)
    assert (asked(cache=True).cache_s, asked(cache="90s").cache_s, asked(cache=5).cache_s) == (3600, 90, 5)


def test_the_content_is_what_decides_the_result_and_nothing_else() -> None:
    same = asked(priority=3, metadata={"a": "b"}, retries=1, cache=True, queueTimeout="1m")
    assert asked(language="py").content() == asked().content() == same.content()
    others = [
        asked(code="2"), asked(stdin="x"), asked(version="3"), asked(files={"a": "b"}), asked(outputs=["a"]),
        asked(resourceLimit={"timeout": "5s"}), asked(protections=["seccomp"]), asked(language="ruby"),
    ]  # fmt: skip
    assert len({request.content() for request in (same, *others)}) == 9


def test_every_fault_is_told_at_once_each_with_its_place() -> None:
    found = faults_of(
        {
            "language": "Py thon",
            "code": "x" * 65_537,
            "resourceLimit": {"timeout": "soon", "cpu": "many", "openFiles": 1, "memroy": 1, "network": 1},
            "protections": ["armour"],
            "metadata": {"windlass:x": "y"},
            "priority": 101,
            "retries": 11,
            "queueTimeout": "0s",
            "cache": "25h",
            "callbackUrl": "ftp://x",
            "callbackSecret": "not a name",
            "lenguage": "c",
        }
    )
    assert set(found) == {
        "/language", "/code", "/resourceLimit/timeout", "/resourceLimit/cpu", "/resourceLimit/openFiles",
        "/resourceLimit/memroy", "/resourceLimit/network", "/protections/0", "/metadata/windlass:x",
        "/priority", "/retries", "/queueTimeout", "/cache", "/callbackUrl", "/callbackSecret", "/lenguage",
    }  # fmt: skip
    assert "65,536" in found["/code"]
    assert "did you mean `memory`" in found["/resourceLimit/memroy"]
    assert "did you mean `language`" in found["/lenguage"]


@pytest.mark.parametrize(
    ("body", "place", "words"),
    [
        ([], "", "expected an object"),
        ({}, "", "is missing"),
        ({"language": "c", "code": "1", "metadata": {"a": "x" * 17_000}}, "/metadata", "16,384 bytes"),
        ({"language": "c", "code": "1", "callbackSecret": "A"}, "/callbackSecret", "without `callbackUrl`"),
        ({"language": "c", "code": "1", "resourceLimit": []}, "/resourceLimit", "an object such as"),
        ({"language": "c", "code": "1", "cache": "yes"}, "/cache", "no duration"),
        ({"language": "c", "code": "1", "cache": 0}, "/cache", "more than nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(body: Any, place: str, words: str) -> None:
    assert words in faults_of(body)[place]


def test_what_is_read_without_a_fault_is_always_a_sound_document() -> None:
    """The step's own reader agrees with this one, whatever limit is asked for."""
    for limit in ({"timeout": "1d", "cpu": 1024}, {"timeout": "10ms", "cpu": "0.01"}, {"memory": 1_000_000}):
        document.read(asked(resourceLimit=limit).document())
