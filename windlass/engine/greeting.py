"""Checking how a worker introduces itself: before anything is believed, everything is looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from windlass.core import task_tokens
from windlass.core.fleet import Facts
from windlass.core.names import NAMESPACE, SessionId, WorkerId
from windlass.core.roles import EVERYWHERE, within
from windlass.wire.crew import HIGHEST, LOWEST, SLOTS_MAX, WORDS_MAX, Greet, Holding

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")  # it stands in paths
SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
WORD_MAX: Final = 200  # characters
WEIGHT_MAX: Final = 1e6
HELD_MAX: Final = 20_000  # tasks in one greeting or beat

Code = Literal["version", "greeting", "name", "namespace", "full", "protocol"]


class Rejection(Exception):
    """Why a worker is sent away. `again_s`: when it may come back; 0: once something was changed."""

    def __init__(self, code: Code, reason: str, again_s: float = 0.0) -> None:
        super().__init__(reason)
        self.code: Code = code
        self.reason = reason
        self.again_s = again_s


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the door knows of who comes in."""

    by: str = ""  # whose token it has shown; empty on an open server
    namespace: str = EVERYWHERE  # that its token allows
    address: str = ""


def version_of(greet: Greet) -> int:
    """The newest one that both speak. Raises Rejection."""
    version = min(greet.highest, HIGHEST)
    if version < max(greet.lowest, LOWEST):
        ours = f"{LOWEST} to {HIGHEST}"
        raise Rejection(
            "version", f"this node speaks versions {ours}, the worker {greet.lowest} to {greet.highest}"
        )
    return version


def facts_of(greet: Greet, arrival: Arrival) -> Facts:
    """What is known of the worker from now on. Raises Rejection."""
    if not NAME.fullmatch(greet.worker):
        raise Rejection(
            "name", f"{greet.worker[:40]!r} is no name: take up to 100 letters, digits and . _ : -"
        )
    if not SESSION.fullmatch(greet.session):
        raise Rejection("greeting", "a session is up to 64 letters, digits and . _ : -")
    if not 1 <= greet.slots <= SLOTS_MAX:
        raise Rejection("greeting", f"a worker has 1 to {SLOTS_MAX} slots")
    if not (math.isfinite(greet.weight) and 0 < greet.weight <= WEIGHT_MAX):
        raise Rejection("greeting", f"a weight is above 0 and at most {WEIGHT_MAX:g}")
    if len(greet.held) > HELD_MAX:
        raise Rejection("greeting", f"a worker holds at most {HELD_MAX} tasks")
    _check_words("capabilities", greet.capabilities)
    _check_words("labels", greet.labels)
    for text in (*greet.labels.values(), greet.host, greet.host_group, greet.program):
        if len(text) > WORD_MAX or not text.isprintable():
            raise Rejection("greeting", f"{text[:40]!r} is too long, or holds what cannot be shown")
    return Facts(
        id=WorkerId(greet.worker),
        session=SessionId(greet.session),
        slots=greet.slots,
        capabilities=tuple(dict.fromkeys(greet.capabilities)),
        namespaces=_namespaces(greet, arrival),
        labels=greet.labels,
        host=greet.host,
        host_group=greet.host_group,
        weight=greet.weight,
        program=greet.program,
        address=arrival.address,
    )


def proven(greet: Greet, key: bytes) -> tuple[list[Holding], list[Holding]]:
    """What it holds by right, and what it only says it holds."""
    worker, good, bad = WorkerId(greet.worker), list[Holding](), list[Holding]()
    for held in greet.held:
        (good if task_tokens.proves(key, held.token, held.name, worker) else bad).append(held)
    return good, bad


def _namespaces(greet: Greet, arrival: Arrival) -> tuple[str, ...]:
    _check_words("namespaces", greet.namespaces)
    for name in greet.namespaces:
        if not NAMESPACE.fullmatch(name):
            raise Rejection("namespace", f"{name[:40]!r} is no namespace")
        if not within(arrival.namespace, name):
            raise Rejection("namespace", f"its token is of the namespace {arrival.namespace}, not of {name}")
    if not greet.namespaces and arrival.namespace != EVERYWHERE:
        return (arrival.namespace,)
    return tuple(dict.fromkeys(greet.namespaces))


def _check_words(what: str, words: Iterable[str]) -> None:
    given = list(words)
    if len(given) > WORDS_MAX:
        raise Rejection("greeting", f"a worker has at most {WORDS_MAX} {what}")
    for word in given:
        if not 0 < len(word) <= WORD_MAX or not word.isprintable() or word.strip() != word:
            raise Rejection(
                "greeting", f"{word[:40]!r} among the {what} is empty, too long, or cannot be shown"
            )
