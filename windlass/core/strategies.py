"""Which shard an id belongs to, by a strategy of the user's choice.

A strategy is a name and a pure function of the id alone. It is written down once, with the number of shards,
when a cluster is new: another answer for an id that is in use would be another run of the same name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from windlass.core import sharding
from windlass.core.errors import Invalid, Refused
from windlass.core.faults import quote

Place = Callable[[str, int], int]  # (id, number of shards) → its shard, from 0 to that number - 1
Prefix = Callable[[str], str]  # id of a workflow → what the ids of its runs begin with

LABELS: Final = {"shard-data": 0, "shard-ml": 1, "shard-default": 2}
LABEL_OF_TYPE: Final = {"data-pipeline": "shard-data", "ml-training": "shard-ml"}
OTHERS: Final = "shard-default"

PREFIX_ATTRIBUTE: Final = "run_prefix"  # of a function of the user's: a Prefix, if runs are to lie by kind
_PREFIX: Final = re.compile(r"[A-Za-z0-9._:-]{0,100}")
_PROBES: Final = 256


def _no_prefix(workflow: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Strategy:
    """`of` answers the same for the same id, in every process and for ever."""

    name: str  # as it is configured and kept: hash, by-type, or module:function
    of: Place
    prefix: Prefix = _no_prefix
    shards_min: int = 1


def run_prefix(strategy: Strategy, workflow: str) -> str:
    """What a new run id of this workflow must begin with, so that the run lies with its kind."""
    return strategy.prefix(workflow)


def label(ident: str) -> str:
    """The label of an id by its type, which is the text before its first colon."""
    return LABEL_OF_TYPE.get(_type(ident), OTHERS)


def _by_type(ident: str, shards: int) -> int:
    """There for compatibility: everything of neither known type lies on one shard, and so on one node."""
    if shards < len(LABELS):
        raise Invalid(_too_few("by-type", len(LABELS), shards))
    return LABELS[label(ident)]


def _type_prefix(workflow: str) -> str:
    known = _type(workflow)
    return f"{known}:" if known in LABEL_OF_TYPE else ""


def _type(ident: str) -> str:
    return ident.partition(":")[0]


HASH: Final = Strategy("hash", sharding.of)
BY_TYPE: Final = Strategy("by-type", _by_type, _type_prefix, shards_min=len(LABELS))
BUILT_IN: Final = {strategy.name: strategy for strategy in (HASH, BY_TYPE)}


def custom(name: str, function: Callable[[str, int], object]) -> Strategy:
    """A strategy around a function of the user's, which is not trusted.

    Every answer is checked before it is used, and remembered: a function of the id alone need not be asked
    twice. One that raises, or answers no shard, refuses what was asked of that id, and nothing else.
    """

    @lru_cache(maxsize=sharding.REMEMBERED)
    def of(ident: str, shards: int) -> int:
        answer = _asked(name, function, ident, shards)
        if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < shards:
            return int(answer)
        told = f"shards go from 0 to {shards - 1}, and it answers {quote(repr(answer))}"
        raise Refused(f"the strategy {name} has no shard for {quote(ident)}: {told}")

    given = getattr(function, PREFIX_ATTRIBUTE, None)
    if given is None:
        return Strategy(name, of)

    def prefix(workflow: str) -> str:
        answer = _asked(f"{name}.{PREFIX_ATTRIBUTE}", given, workflow)
        if isinstance(answer, str) and _PREFIX.fullmatch(answer):
            return answer
        told = f"an id has letters, digits and . _ : -, and it answers {quote(repr(answer))}"
        raise Refused(f"{name}.{PREFIX_ATTRIBUTE} has no prefix for the runs of {quote(workflow)}: {told}")

    return Strategy(name, of, prefix)


def fit(strategy: Strategy, shards: int) -> None:
    """Raises Invalid if the strategy cannot work with so many shards."""
    if shards < strategy.shards_min:
        raise Invalid(_too_few(strategy.name, strategy.shards_min, shards))


def fingerprint(strategy: Strategy, shards: int) -> str:
    """Differs for strategies that place ids differently, whatever they are called.

    Nodes with different ones must not be in one cluster. It also finds functions that are not of the id
    alone: Python's own `hash` of a text is another one in every process.
    """
    fit(strategy, shards)
    idents = [ident for n in range(_PROBES) for ident in (f"probe-{n}", f"{sharding.hash32(str(n)):x}:{n}")]
    answers = [strategy.of(ident, shards) for ident in [*idents, *LABEL_OF_TYPE]]
    return hashlib.sha256(repr((shards, answers)).encode()).hexdigest()[:16]


def _asked(name: str, function: Callable[..., object], ident: str, *more: int) -> object:
    try:
        return function(ident, *more)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise Refused(f"the strategy {name} fails for {quote(ident)}: {told}") from error


def _too_few(name: str, needed: int, shards: int) -> str:
    return f"the strategy {name} needs {needed} shards or more, and there are {shards}"
