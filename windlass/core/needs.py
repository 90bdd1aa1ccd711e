"""What a step needs of a worker: the names of capabilities, all of which it has to offer.

A worker offers the kinds of step it runs, and whatever else it says of itself. Code is run by language: who
runs Python code offers `code` and `code/python`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from windlass.core.definition import Step
from windlass.core.task import Task

CODE: Final = "code"
ALIASES: Final = {"go": "golang", "py": "python", "js": "javascript"}


def needs(step: Step | Task) -> frozenset[str]:
    """Of a step, or of a task, which is one attempt at it."""
    own = (step.kind, *step.requires)
    return frozenset((*own, *offers([step.with_["language"]])) if step.kind == CODE else own)


def offers(languages: Iterable[str]) -> list[str]:
    """What a worker offers that runs code in these languages, whichever of their names it uses."""
    return [CODE, *dict.fromkeys(f"{CODE}/{language_of(name)}" for name in languages)]


def language_of(name: str) -> str:
    """The one name of a language that has several."""
    small = name.strip().lower()
    return ALIASES.get(small, small)
