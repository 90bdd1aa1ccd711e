"""What a search for runs finds, alike in every journal: ids that begin so, workflows that have the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from windlass.journal import RunQuery, RunRow

FEW: Final = 5_000  # runs that are looked at one by one in a few ms
IDS_FEW: Final = (
    50_000  # that are found by their ids and then sorted: as long as to walk a fifth of a million
)
_LAST: Final = "\U0010ffff"
_SURROGATES: Final = range(0xD800, 0xE000)  # which no text can have


class Ids(NamedTuple):
    """From the one, up to but without the other; None: to the end."""

    low: str
    high: str | None


def finds(text: str, run: str, workflow: str) -> bool:
    return run.startswith(text) or names(text, workflow)


def names(text: str, workflow: str) -> bool:
    """Whether the workflow has the text in its id, in whatever case."""
    return text.casefold() in workflow.casefold()


def beginning(text: str) -> Ids:
    """The ids that begin with the text, where ids are in the order of their code points."""
    cut = text.rstrip(_LAST)
    if not cut:
        return Ids(text, None)
    after = ord(cut[-1]) + 1
    return Ids(text, cut[:-1] + chr(_SURROGATES.stop if after in _SURROGATES else after))


def merged(*found: Iterable[RunRow], limit: int) -> list[RunRow]:
    """The newest of all, each once."""
    rows = {row.key: row for rows in found for row in rows}
    return sorted(rows.values(), key=age, reverse=True)[:limit]


def age(row: RunRow) -> tuple[float, str]:
    return row.started_at, row.key.id


def named(text: str, workflows: Iterable[str]) -> list[str]:
    return [workflow for workflow in workflows if names(text, workflow)]


def settles(query: RunQuery, having: Sequence[str], workflows: Sequence[str]) -> bool:
    """Whether the search leaves nothing out: the workflow that is asked for has the text, or all have it."""
    assert query.search is not None
    if query.workflow is not None:
        return names(query.search, query.workflow)
    return len(having) == len(workflows)
