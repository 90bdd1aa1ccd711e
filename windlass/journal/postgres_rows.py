"""What the PostgreSQL journal says to its connections: the statements, and rows ⇄ values.

A commit is one call of the function `keep` (windlass/postgres/schema/0001_journal.sql), which has the fence;
with notices, of `keep_and_tell` (0005_notices.sql), which calls it; with rows of entities, of
`keep_with_entities` (0009_entities.sql), which calls that one; with runs that wait for somebody, of
`keep_with_waiting` (0011_waiting.sql); with documents, of `keep_with_texts` (0014_texts.sql). Each calls the
one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec

from windlass.core.names import Key, run_key, workflow_key
from windlass.core.sharding import hash32
from windlass.journal import (
    Document,
    EntityRow,
    Fact,
    Group,
    LogLine,
    Notice,
    RunRow,
    Snapshot,
    Stored,
    StuckRow,
    Unsettled,
)

T = TypeVar("T")
Row = Sequence[Any]  # as the driver has it: text, numbers, booleans, None

_encoder: Final = msgspec.json.Encoder(order="sorted")

RUN_VALUES: Final = (
    "r.namespace, r.id, r.workflow, r.version, r.status, r.started_at, r.ended_at, r.priority, r.labels, "
    "r.request_hash, r.error, r.settled, r.asleep, r.wake_at, r.purged, r.waiting_for"
)


# In the order of shards, as an append locks them: so neither waits for the other in a circle.
CLAIM: Final = """
    INSERT INTO shards AS s (shard, epoch) SELECT shard, 1 FROM unnest($1::int[]) AS shard ORDER BY shard
    ON CONFLICT (shard) DO UPDATE SET epoch = s.epoch + 1 RETURNING shard, epoch"""
KEEP: Final = f"SELECT keep({', '.join(f'${n}' for n in range(1, 14))})"
KEEP_AND_TELL: Final = f"SELECT keep_and_tell({', '.join(f'${n}' for n in range(1, 16))})"
KEEP_WITH_ENTITIES: Final = f"SELECT keep_with_entities({', '.join(f'${n}' for n in range(1, 18))})"
KEEP_WITH_WAITING: Final = f"SELECT keep_with_waiting({', '.join(f'${n}' for n in range(1, 19))})"
KEEP_WITH_TEXTS: Final = f"SELECT keep_with_texts({', '.join(f'${n}' for n in range(1, 20))})"
SETTING: Final = """
    WITH new AS (INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING value)
    SELECT value FROM new UNION ALL SELECT value FROM settings WHERE name = $1"""

# Everything in one statement: one view of all four tables.
LOAD: Final = f"""
    SELECT s.seq, s.version, s.body, e.seqs, e.ats, e.types, e.versions, e.bodies, w.since, w.error,
      {RUN_VALUES}
    FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS k (entity, namespace, id, n)
    LEFT JOIN LATERAL (
      SELECT n.seq, n.version, n.body FROM snapshots n WHERE n.shard = $1 AND n.entity = k.entity
      ORDER BY n.seq DESC LIMIT 1) s ON true
    LEFT JOIN LATERAL (
      SELECT array_agg(f.seq) AS seqs, array_agg(f.at) AS ats, array_agg(f.type) AS types,
        array_agg(f.version) AS versions, array_agg(f.body) AS bodies
      FROM (
        SELECT * FROM events f WHERE f.shard = $1 AND f.entity = k.entity AND f.seq > coalesce(s.seq, 0)
        ORDER BY f.seq) f) e ON true
    LEFT JOIN stuck w ON w.shard = $1 AND w.entity = k.entity
    LEFT JOIN runs r ON r.shard = $1 AND r.namespace = k.namespace AND r.id = k.id
    ORDER BY k.n"""
_FACT_VALUES: Final = "seq, at, type, version, body"
FACTS: Final = f"""
    SELECT {_FACT_VALUES} FROM events
    WHERE shard = $1 AND entity = $2 AND seq > $3 ORDER BY seq LIMIT $4"""
LAST_FACTS: Final = f"""
    SELECT {_FACT_VALUES} FROM events
    WHERE shard = $1 AND entity = $2 ORDER BY seq DESC LIMIT $3"""
_LINE_VALUES: Final = "n, at, step, attempt, stream, text"
LOGS: Final = f"""
    SELECT {_LINE_VALUES} FROM logs
    WHERE shard = $1 AND namespace = $2 AND id = $3 AND n > $4 AND ($5::text IS NULL OR step = $5)
    ORDER BY n LIMIT $6"""
LAST_LOGS: Final = f"""
    SELECT {_LINE_VALUES} FROM logs
    WHERE shard = $1 AND namespace = $2 AND id = $3 AND ($4::text IS NULL OR step = $4)
    ORDER BY n DESC LIMIT $5"""
LOG_SIZE: Final = """
    SELECT coalesce(max(n), 0), coalesce(sum(octet_length(text) + 1), 0)::bigint FROM logs
    WHERE shard = $1 AND namespace = $2 AND id = $3"""
UNSETTLED: Final = """
    SELECT 'run', r.namespace, r.id, r.asleep AND r.waiting_for IS NOT NULL, r.wake_at FROM runs r
    WHERE r.shard = $1 AND NOT r.settled
      AND (NOT r.asleep OR r.wake_at IS NOT NULL OR r.waiting_for IS NULL) AND NOT EXISTS (
      SELECT 1 FROM stuck s WHERE s.shard = r.shard AND s.entity = 'run/' || r.namespace || '/' || r.id)
    ORDER BY r.started_at, r.namespace, r.id"""
UNSETTLED_ENTITIES: Final = """
    SELECT e.kind, e.namespace, e.id, NOT e.awake, e.wake_at FROM entities e
    WHERE e.shard = $1 AND (e.awake OR e.wake_at IS NOT NULL) AND NOT EXISTS (
      SELECT 1 FROM stuck s
      WHERE s.shard = e.shard AND s.entity = e.kind || '/' || e.namespace || '/' || e.id)
    ORDER BY e.kind, e.namespace, e.id"""
_ENTITY_VALUES: Final = "id, wake_at, awake, summary"
ENTITY_ROW: Final = f"""
    SELECT {_ENTITY_VALUES} FROM entities WHERE shard = $1 AND kind = $2 AND namespace = $3 AND id = $4"""
ENTITY_ROWS: Final = f"""
    SELECT {_ENTITY_VALUES} FROM entities
    WHERE kind = $1 AND namespace = $2 AND id > $3 ORDER BY id LIMIT $4"""
NOTICES: Final = """
    SELECT id, hook, namespace, workflow, run, what, at, body FROM notices
    WHERE shard = $1 AND ($2::float8 IS NULL OR (at, id) > ($2, $3)) ORDER BY at, id LIMIT $4"""
STUCK: Final = "SELECT entity, since, error FROM stuck WHERE namespace = $1 ORDER BY since, entity"
_DOCUMENT_VALUES: Final = (
    "d.namespace, d.id, d.version, d.document_hash, d.body, d.at, d.created_at, d.deleted, d.text"
)
DOCUMENT: Final = f"""
    SELECT {_DOCUMENT_VALUES} FROM documents d
    WHERE d.shard = $1 AND d.namespace = $2 AND d.id = $3 AND ($4::bigint IS NULL OR d.version = $4)
    ORDER BY d.version DESC LIMIT 1"""
# A workflow is defined while its newest version is not deleted.
_DEFINED: Final = """NOT d.deleted AND d.version = (
      SELECT max(n.version) FROM documents n
      WHERE n.shard = d.shard AND n.namespace = d.namespace AND n.id = d.id)"""
DOCUMENTS: Final = f"""
    SELECT {_DOCUMENT_VALUES} FROM documents d WHERE d.namespace = $1 AND d.id > $2 AND {_DEFINED}
    ORDER BY d.id LIMIT $3"""
RUN: Final = f"SELECT {RUN_VALUES} FROM runs r WHERE r.shard = $1 AND r.namespace = $2 AND r.id = $3"
NEWEST_RUNS: Final = f"""
    SELECT {RUN_VALUES} FROM unnest($2::text[]) AS w (id) CROSS JOIN LATERAL (
      SELECT * FROM runs n WHERE n.namespace = $1 AND n.workflow = w.id
      ORDER BY n.started_at DESC NULLS LAST, n.id DESC NULLS FIRST LIMIT 1) r"""
COUNT_RUNS: Final = """
    SELECT count(*) FROM (SELECT 1 FROM runs WHERE namespace = $1 AND workflow = $2 LIMIT $3) AS found"""
COUNT_ENTITIES: Final = f"""
    SELECT shard, sum(n)::bigint FROM (
      SELECT shard, count(*) AS n FROM runs WHERE NOT settled GROUP BY shard
      UNION ALL SELECT d.shard, count(*) FROM documents d WHERE {_DEFINED} GROUP BY d.shard) AS found
    GROUP BY shard ORDER BY shard"""
ENTITIES: Final = f"""
    SELECT * FROM (
      SELECT 'run', namespace, id FROM runs WHERE shard = $1 AND NOT settled
      UNION ALL SELECT 'workflow', d.namespace, d.id FROM documents d WHERE d.shard = $1 AND {_DEFINED}) AS e
    ORDER BY 1, 2, 3 LIMIT $2"""
EXPIRED: Final = """
    SELECT namespace, id FROM runs WHERE shard = $1 AND settled AND NOT purged AND ended_at < $2
    ORDER BY ended_at, namespace, id LIMIT $3"""


def append(groups: Sequence[Group]) -> tuple[str, list[list[Any]]]:
    """The call that keeps the groups, and its arguments: the shortest that will do."""
    values = keep_values(groups)
    if any(group.documents for group in groups):
        others = [*notice_values(groups), *entity_values(groups), waiting_values(groups)]
        return KEEP_WITH_TEXTS, [*values, *others, text_values(groups)]
    if any(_tells_waiting(row) for group in groups for row in group.runs):
        others = [*notice_values(groups), *entity_values(groups)]
        return KEEP_WITH_WAITING, [*values, *others, waiting_values(groups)]
    if any(group.entities or group.entities_gone for group in groups):
        return KEEP_WITH_ENTITIES, [*values, *notice_values(groups), *entity_values(groups)]
    if any(group.notices or group.delivered for group in groups):
        return KEEP_AND_TELL, [*values, *notice_values(groups)]
    return KEEP, values


def keep_values(groups: Sequence[Group]) -> list[list[Any]]:
    """The arguments of `keep`. Raises what Python raises for values that cannot be written down."""
    numbered = list(enumerate(groups, start=1))
    waves = list(_waves(numbered))
    facts = [
        (n, f.key.text(), f.seq, hash32(f.key.id), f.at, f.type, f.version, f.body.decode())
        for n, group in numbered
        for f in group.facts
    ]
    lines = [
        (
            n, line.key.namespace, line.key.id, line.n, hash32(line.key.id), line.at, line.step, line.attempt,
            line.stream, line.text,
        )
        for n, group in numbered
        for line in group.logs
    ]  # fmt: skip
    runs = [found for wave in waves for found in _latest(wave, lambda group: group.runs, _key)]
    documents = [found for wave in waves for found in _latest(wave, lambda group: group.documents, _version)]
    snapshots = [found for wave in waves for found in _latest(wave, lambda group: group.snapshots, _moment)]
    stuck_rows = [found for wave in waves for found in _latest(wave, lambda group: group.stuck, _key)]
    return [
        [group.shard for group in groups],
        [group.epoch for group in groups],
        [wave[-1][0] for wave in waves],
        facts,
        [_run_values(n, row) for n, row in runs],
        [
            (n, row.key.namespace, row.key.id, name, value, row.started_at)
            for n, row in runs
            for name, value in row.labels.items()
        ],
        [
            (
                n, d.key.namespace, d.key.id, d.version, hash32(d.key.id), d.hash, d.body.decode(), d.at,
                d.created_at, d.deleted,
            )
            for n, d in documents
        ],
        [(n, s.key.text(), s.seq, hash32(s.key.id), s.version, s.body.decode()) for n, s in snapshots],
        lines,
        [
            (n, w.key.text(), hash32(w.key.id), w.key.namespace, w.since, w.error)
            for n, w in stuck_rows
        ],
        [(n, key.text(), upto) for n, group in numbered for key, upto in group.deletions],
        [(n, key.text()) for n, group in numbered for key in group.freed],
        [(n, key.text(), *_run_name(key)) for n, group in numbered for key in group.purged],
    ]  # fmt: skip


def notice_values(groups: Sequence[Group]) -> list[list[Any]]:
    """The arguments of `keep_and_tell` that `keep` has not."""
    return [
        [
            (n, t.id, t.hook, t.namespace, t.workflow, t.run, t.what, t.at, t.body.decode())
            for n, group in enumerate(groups, start=1)
            for t in group.notices
        ],
        [(n, ident) for n, group in enumerate(groups, start=1) for ident in group.delivered],
    ]


def entity_values(groups: Sequence[Group]) -> list[list[Any]]:
    """The arguments of `keep_with_entities` that `keep_and_tell` has not."""
    numbered = list(enumerate(groups, start=1))
    rows = [found for wave in _waves(numbered) for found in _latest(wave, lambda group: group.entities, _key)]
    return [
        [
            (n, *row.key, hash32(row.key.id), row.wake_at, row.awake, row.summary.decode())
            for n, row in rows
        ],
        [(n, *key) for n, group in numbered for key in group.entities_gone],
    ]  # fmt: skip


def waiting_values(groups: Sequence[Group]) -> list[Row]:
    """The argument of `keep_with_waiting` that `keep_with_entities` has not."""
    numbered = list(enumerate(groups, start=1))
    rows = [found for wave in _waves(numbered) for found in _latest(wave, lambda group: group.runs, _key)]
    return [(n, row.key.namespace, row.key.id, row.waiting_for) for n, row in rows]


def text_values(groups: Sequence[Group]) -> list[Row]:
    """The argument of `keep_with_texts` that `keep_with_waiting` has not."""
    numbered = list(enumerate(groups, start=1))
    found = [
        one for wave in _waves(numbered) for one in _latest(wave, lambda group: group.documents, _version)
    ]
    return [(n, d.key.namespace, d.key.id, d.version, d.text) for n, d in found]


def _tells_waiting(row: RunRow) -> bool:
    """Whether `keep` alone would leave something unsaid: see `forget_waiting`."""
    return row.asleep or row.waiting_for != ""


def _latest(
    wave: list[tuple[int, Group]], given: Callable[[Group], list[T]], place: Callable[[T], object]
) -> list[tuple[int, T]]:
    """Of what replaces another only the last one, with the number of its group.

    The database would refuse the second for the same place. Groups of another epoch are another matter: at
    most one of the two is kept.
    """
    everything = [(n, group, item) for n, group in wave for item in given(group)]
    latest = {(group.shard, group.epoch, place(item)): (n, item) for n, group, item in everything}
    if len(latest) < len(everything):
        _encoder.encode([item for _, _, item in everything])  # what is replaced must be storable all the same
    return list(latest.values())


def _key(row: RunRow | StuckRow | EntityRow) -> object:
    return row.key


def _version(document: Document) -> object:
    return document.key, document.version


def _moment(snapshot: Snapshot) -> object:
    return snapshot.key, snapshot.seq


def _waves(groups: Iterable[tuple[int, Group]]) -> Iterator[list[tuple[int, Group]]]:
    """Groups that can be written together, insertions first, as if they came one after the other.

    Shards do not touch each other's rows; so only what follows a removal in the same shard has to wait.
    """
    wave: list[tuple[int, Group]] = []
    removing: set[int] = set()
    for n, group in groups:
        if group.shard in removing:
            yield wave
            wave, removing = [], set()
        wave.append((n, group))
        if group.deletions or group.freed or group.purged or group.delivered or group.entities_gone:
            removing.add(group.shard)
    yield wave


def _run_values(n: int, row: RunRow) -> Row:
    return (
        n, row.key.namespace, row.key.id, hash32(row.key.id), row.workflow, row.version, row.status,
        row.started_at, row.ended_at, row.priority,
        _encoder.encode(row.labels).decode() if row.labels else "{}",
        row.request_hash, row.error, row.settled, row.asleep, row.wake_at, row.purged,
    )  # fmt: skip


def _run_name(key: Key) -> tuple[str | None, str | None]:
    return (key.namespace, key.id) if key.kind == "run" else (None, None)


def load_values(shard: int, keys: Sequence[Key]) -> list[Any]:
    names = [_run_name(key) for key in keys]
    return [shard, [key.text() for key in keys], [name[0] for name in names], [name[1] for name in names]]


def stored(key: Key, row: Row) -> Stored:
    seq, version, body, seqs, ats, types, versions, bodies, since, error, *run_row = row
    facts = zip(seqs, ats, types, versions, bodies, strict=True) if seqs else ()
    return Stored(
        key=key,
        snapshot=None if seq is None else Snapshot(key, seq, version, body.encode()),
        facts=tuple(fact(key, values) for values in facts),
        run=None if run_row[0] is None else run(run_row),
        stuck=None if since is None else StuckRow(key=key, since=since, error=error),
    )


def fact(key: Key, row: Row) -> Fact:
    seq, at, type, version, body = row
    return Fact(key, seq, at, type, version, body.encode())


def line(key: Key, row: Row) -> LogLine:
    return LogLine(key, *row)


def run(row: Row) -> RunRow:
    return RunRow(
        key=run_key(row[1], row[0]),
        workflow=row[2],
        version=row[3],
        status=row[4],
        started_at=row[5],
        ended_at=row[6],
        priority=row[7],
        labels={} if row[8] == "{}" else msgspec.json.decode(row[8]),
        request_hash=row[9],
        error=row[10],
        settled=row[11],
        asleep=row[12],
        wake_at=row[13],
        purged=row[14],
        waiting_for=row[15],
    )


def unsettled(row: Row) -> Unsettled:
    kind, namespace, ident, asleep, wake_at = row
    return Unsettled(Key(kind, namespace, ident), asleep, wake_at)


def entity(key: Key, row: Row) -> EntityRow:
    _, wake_at, awake, summary = row
    return EntityRow(key=key, wake_at=wake_at, awake=awake, summary=summary.encode())


def document(row: Row) -> Document:
    return Document(
        key=workflow_key(row[1], row[0]),
        version=row[2],
        hash=row[3],
        body=row[4].encode(),
        at=row[5],
        created_at=row[6],
        deleted=row[7],
        text=row[8],
    )


def notice(row: Row) -> Notice:
    ident, hook, namespace, workflow, run, what, at, body = row
    return Notice(
        id=ident,
        hook=hook,
        namespace=namespace,
        workflow=workflow,
        run=run,
        what=what,
        at=at,
        body=body.encode(),
    )


def stuck(row: Row) -> StuckRow:
    return StuckRow(key=Key.parse(row[0]), since=row[1], error=row[2])
