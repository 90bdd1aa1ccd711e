"""The part of the client that is about code tasks: send a program, see what became of it, stop it."""

from __future__ import annotations

import base64
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from windlass.core.errors import Unavailable
from windlass.core.task import Json
from windlass.sdk.sending import Method, Sending, encoded, path_to
from windlass.sdk.sse import Event

TASKS: Final = "tasks"
NO_WORKER: Final = 50301  # as the errors of tasks have it


class NoWorker(Unavailable):
    """Nobody who is connected and well can run it; nothing was kept."""


class TaskNews(NamedTuple):
    """`output`: a line without its end, {stream, text, at, attempt}; `ended`: the task, as `task` has it."""

    name: Literal["output", "ended"]
    data: dict[str, Json]
    n: int = 0  # the line's number, after which to go on


class Tasks(Sending):
    """Mixed into `Client`."""

    __slots__ = ()

    def submit_task(
        self,
        language: str,
        code: str,
        *,
        version: str = "",
        stdin: str = "",
        files: Mapping[str, str | bytes] | None = None,
        outputs: Sequence[str] = (),
        limits: Mapping[str, Json] | None = None,  # resourceLimit: timeout, memory, cpu, …
        protections: Sequence[str] = (),
        priority: int = 0,
        metadata: Mapping[str, Json] | None = None,
        callback_url: str = "",
        callback_secret: str = "",
        retries: int = 0,
        queue_timeout: str = "",
        cache: bool | str = False,
        wait_s: float | None = None,
        key: str = "",
    ) -> Json:
        """Run a program: {taskId, status, …}; with `wait_s`, the task as `task` has it once it has ended.

        `key`: the same one again starts nothing new. With `cache`, a result of the same program that is
        there already is answered; then the program itself is the key.
        """
        said: dict[str, Json] = {
            "version": version,
            "stdin": stdin,
            "files": {name: _content(content) for name, content in (files or {}).items()},
            "outputs": list(outputs),
            "resourceLimit": dict(limits or {}),
            "protections": list(protections),
            "priority": priority,
            "metadata": dict(metadata or {}),
            "callbackUrl": callback_url,
            "callbackSecret": callback_secret,
            "retries": retries,
            "queueTimeout": queue_timeout,
            "cache": cache,
        }
        asked = {"language": language, "code": code, **{name: value for name, value in said.items() if value}}
        return self._data(
            "POST",
            path_to(TASKS),
            encoded(asked),
            query={"wait": None if wait_s is None else f"{wait_s:.3f}s"},
            key=key or ("" if cache else None),
            wait_s=wait_s or 0.0,
        )

    def task(self, task: str) -> Json:
        """{taskId, status, language, result, timestamps, assignedClient, final, attempts, failure, …}."""
        return self._data("GET", _of(task))

    def tasks(
        self,
        *,
        status: str | None = None,
        language: str | None = None,
        label: str | None = None,  # k=v, of the metadata
        started_after: str | None = None,  # 2026-01-01T08:00:00Z
        started_before: str | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> Json:
        """One page, newest first: {items, next}."""
        asked: dict[str, object] = {"status": status, "language": language, "label": label}
        asked |= {"startedAfter": started_after, "startedBefore": started_before}
        return self._data("GET", path_to(TASKS), query={**asked, "limit": limit, "after": after})

    def cancel_task(self, task: str) -> Json:
        """Stop it for good: the task as it is then."""
        return self._data("DELETE", _of(task))

    def follow_task(self, task: str, *, after: int = 0) -> Iterator[TaskNews]:
        """What it printed, then each line as it is printed, and at last how it ended.

        A link that breaks is made again, for as long as there is patience; nothing comes twice.
        """
        for event in self._follow(lambda _: f"{_of(task)}/stream", after):
            if event.name == "output":
                yield TaskNews("output", json.loads(event.data), int(event.id))
            if event.name == "ended":
                yield TaskNews("ended", json.loads(event.data))
                return

    def _data(
        self,
        method: Method,
        path: str,
        body: bytes | None = None,
        *,
        query: Mapping[str, object] | None = None,
        key: str | None = None,
        wait_s: float = 0.0,
    ) -> Json:
        """What is in the envelope {code, message, data}."""
        return self._send(method, path, body, query=query, key=key, wait_s=wait_s)["data"]

    @abstractmethod
    def _follow(self, path: Callable[[int], str], after: int) -> Iterator[Event]: ...


def words_of(content: Mapping[str, Json]) -> str:
    """What an error of these doors says: {code, message, detail, …}."""
    return str(content.get("detail") or content.get("message") or "")


def is_error(content: Mapping[str, Json]) -> bool:
    return isinstance(content.get("code"), int) and "message" in content


def _of(task: str) -> str:
    return path_to(TASKS, task)


def _content(content: str | bytes) -> Json:
    """A text, or bytes as JSON can hold them."""
    return content if isinstance(content, str) else {"base64": base64.b64encode(content).decode()}
