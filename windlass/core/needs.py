"""What a step needs of a worker: the names of capabilities, all of which it has to offer.

A worker offers the kinds of step it runs, and whatever else it says of itself. Code is run by language: who
runs Python code offers `code` and `code/python`, and by the version that it has `code/python/3.11` and the
like. Who holds it to a time and an amount of memory offers `code:time`; who holds it to all limits there are
and hands it files, `code:limits`; who lets it use the network where a step asks for that, `code:network`; and
for each protection that its sandbox holds, `sandbox:NAME`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from windlass.core.definition import Step
from windlass.core.task import Task

CODE: Final = "code"
CODE_TIME: Final = "code:time"
CODE_LIMITS: Final = "code:limits"
TIME_AND_MEMORY: Final = frozenset({"timeout", "memory", "cores", "cpu"})
CODE_NETWORK: Final = "code:network"
SANDBOX: Final = "sandbox"
ALIASES: Final = {
    "go": "golang",
    "py": "python",
    "python3": "python",
    "js": "javascript",
    "node": "javascript",
    "nodejs": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "shell": "bash",
    "c++": "cpp",
    "rs": "rust",
    "rb": "ruby",
    "pl": "perl",
}


def needs(step: Step | Task) -> frozenset[str]:
    """Of a step, or of a task, which is one attempt at it."""
    own = (step.kind, *step.requires)
    if step.kind != CODE:
        return frozenset(own)
    said = step.with_
    (*_, language) = named = offers([said["language"]])
    more = [f"{language}/{said['version']}"] if said.get("version") else []
    limits = said.get("limits") or {}
    if said.get("files") or said.get("outputs") or not TIME_AND_MEMORY.issuperset(limits):
        more.append(CODE_LIMITS)
    elif limits:
        more.append(CODE_TIME)
    if limits.get("network"):
        more.append(CODE_NETWORK)
    demanded = said.get("protections") or ()
    more += map(protects, [demanded] if isinstance(demanded, str) else demanded)
    return frozenset((*own, *named, *more))


def offers(languages: Iterable[str]) -> list[str]:
    """What a worker offers that runs code in these languages, whichever of their names it uses."""
    return [CODE, *dict.fromkeys(f"{CODE}/{language_of(name)}" for name in languages)]


def offers_version(language: str, version: str) -> list[str]:
    """What else a worker offers that runs this version of it: each way in which it begins."""
    parts = version.split(".")[:4]
    return [f"{CODE}/{language_of(language)}/{'.'.join(parts[:n])}" for n in range(1, len(parts) + 1)]


def protects(protection: str) -> str:
    """What a worker offers whose sandbox holds it."""
    return f"{SANDBOX}:{protection}"


def language_of(name: str) -> str:
    """The one name of a language that has several."""
    small = name.strip().lower()
    return ALIASES.get(small, small)
