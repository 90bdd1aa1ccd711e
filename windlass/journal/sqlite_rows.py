"""What the SQLite journal says to its connections: the statements, and rows ⇄ values.

Between any two rows of `executemany` the sqlite3 module lets go of Python's global lock, and may have to wait
5 ms for it while the loop is busy: 400 rows took up to 2.6 s that way. So many rows go into one statement.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from windlass.core.names import Key, run_key, workflow_key
from windlass.core.sharding import hash32
from windlass.journal import (
    Document,
    EntityRow,
    Fact,
    Group,
    Notice,
    RunRow,
    Snapshot,
    Stored,
    StuckRow,
    Unsettled,
)

Connection = sqlite3.Connection
Row = tuple[Any, ...]  # as the database has it: text, numbers, None

_encoder: Final = msgspec.json.Encoder(order="sorted")


def as_json(value: object) -> str:
    return _encoder.encode(value).decode()


class _Insert:
    """INSERT of any number of rows in few statements, each row a run of values in one flat list.

    OR FAIL spares SQLite the undo log of the single statement (a third of the time): what fails is rolled
    back as a whole anyway.
    """

    SIZES: Final = (256, 64, 16, 8, 4, 2, 1)

    def __init__(self, table: str, columns: str, *, on_conflict: str = "", how: str = "OR FAIL") -> None:
        self.width = columns.count(",") + 1
        row = f"({', '.join('?' * self.width)})"
        self._sql = {
            size: f"INSERT {how} INTO {table} ({columns}) VALUES {', '.join([row] * size)} {on_conflict}"
            for size in self.SIZES
        }

    def run(self, cx: Connection, values: list[Any]) -> None:
        start = 0
        for size, sql in self._sql.items():
            step = size * self.width
            while len(values) - start >= step:
                cx.execute(sql, values[start : start + step])
                start += step


_RUN_COLUMNS: Final = (
    "shard, namespace, id, hash, workflow, version, status, started_at, ended_at, priority, labels, "
    "request_hash, error, settled, asleep, wake_at, purged, waiting_for"
)
RUN_VALUES: Final = (
    "r.namespace, r.id, r.workflow, r.version, r.status, r.started_at, r.ended_at, r.priority, r.labels, "
    "r.request_hash, r.error, r.settled, r.asleep, r.wake_at, r.purged, r.waiting_for"
)
_RUN_CHANGES: Final = ", ".join(
    f"{column} = excluded.{column}"
    for column in (
        "version", "status", "ended_at", "priority", "request_hash", "error", "settled", "asleep", "wake_at",
        "purged", "waiting_for",
    )
)  # fmt: skip

INSERT_EVENTS: Final = _Insert("events", "shard, entity, seq, hash, at, type, version, body")
# The usual change of a row leaves alone what most indexes are made of, and so the indexes too.
UPSERT_RUNS: Final = _Insert(
    "runs",
    _RUN_COLUMNS,
    on_conflict=f"ON CONFLICT (shard, namespace, id) DO UPDATE SET {_RUN_CHANGES} WHERE "
    "workflow = excluded.workflow AND started_at = excluded.started_at AND labels = excluded.labels",
)
REPLACE_RUNS: Final = _Insert("runs", _RUN_COLUMNS, how="OR REPLACE")
INSERT_LABELS: Final = _Insert("labels", "namespace, key, value, started_at, id, shard", how="OR IGNORE")
REPLACE_DOCUMENTS: Final = _Insert(
    "documents",
    "shard, namespace, id, version, hash, document_hash, body, at, created_at, deleted, text",
    how="OR REPLACE",
)
REPLACE_SNAPSHOTS: Final = _Insert("snapshots", "shard, entity, seq, hash, version, body", how="OR REPLACE")
INSERT_LOGS: Final = _Insert("logs", "shard, namespace, id, n, at, step, attempt, stream, text")
REPLACE_STUCK: Final = _Insert("stuck", "shard, entity, hash, namespace, since, error", how="OR REPLACE")
INSERT_NOTICES: Final = _Insert(
    "notices",
    "shard, id, hook, namespace, workflow, run, what, at, body",
    on_conflict="ON CONFLICT DO NOTHING",
)
REPLACE_ENTITIES: Final = _Insert(
    "entities", "shard, kind, namespace, id, hash, wake_at, awake, summary", how="OR REPLACE"
)

CLAIM: Final = """
    INSERT INTO shards (shard, epoch) SELECT value, 1 FROM json_each(?) WHERE true
    ON CONFLICT (shard) DO UPDATE SET epoch = epoch + 1"""
EPOCHS: Final = """
    SELECT json_group_array(json_array(shard, epoch)) FROM shards
    WHERE shard IN (SELECT value FROM json_each(?))"""
DELETE_LABELS: Final = """
    DELETE FROM labels WHERE (namespace, key, value, started_at, id, shard) IN (
      SELECT r.namespace, l.key, l.value, r.started_at, r.id, r.shard FROM runs r, json_each(r.labels) l
      WHERE r.shard = ? AND r.namespace = ? AND r.id = ?)"""
TRIM_SNAPSHOTS: Final = """
    DELETE FROM snapshots WHERE shard = :shard AND entity = :entity AND seq < (
      SELECT seq FROM snapshots WHERE shard = :shard AND entity = :entity
      ORDER BY seq DESC LIMIT 1 OFFSET 1)"""
DELETE_EVENTS: Final = "DELETE FROM events WHERE shard = ? AND entity = ? AND seq <= ?"
FREE: Final = "DELETE FROM stuck WHERE shard = ? AND entity IN (SELECT value FROM json_each(?))"
FORGET_NOTICES: Final = "DELETE FROM notices WHERE shard = ? AND id IN (SELECT value FROM json_each(?))"
FORGET_ENTITIES: Final = """
    DELETE FROM entities WHERE shard = ? AND (kind, namespace, id) IN (
      SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))"""
PURGE_EVENTS: Final = "DELETE FROM events WHERE shard = ? AND entity IN (SELECT value FROM json_each(?))"
PURGE_SNAPSHOTS: Final = (
    "DELETE FROM snapshots WHERE shard = ? AND entity IN (SELECT value FROM json_each(?))"
)
PURGE_LOGS: Final = """
    DELETE FROM logs
    WHERE shard = ? AND (namespace, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))"""
PURGE_RUNS: Final = """
    UPDATE runs SET purged = 1, waiting_for = ''
    WHERE shard = ? AND (namespace, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))"""

LOAD_FACTS: Final = """
    SELECT e.entity, e.seq, e.at, e.type, e.version, CAST(e.body AS BLOB)
    FROM json_each(:keys) k
    CROSS JOIN events e ON e.shard = :shard AND e.entity = k.value AND e.seq > coalesce(
      (SELECT max(s.seq) FROM snapshots s WHERE s.shard = :shard AND s.entity = k.value), 0)"""
LOAD_SNAPSHOTS: Final = """
    SELECT s.entity, s.seq, s.version, CAST(s.body AS BLOB)
    FROM json_each(:keys) k CROSS JOIN snapshots s ON s.shard = :shard AND s.entity = k.value AND s.seq = (
      SELECT max(n.seq) FROM snapshots n WHERE n.shard = :shard AND n.entity = k.value)"""
LOAD_RUNS: Final = f"""
    SELECT {RUN_VALUES} FROM json_each(:keys) k
    CROSS JOIN runs r ON r.shard = :shard AND r.namespace = k.value ->> 0 AND r.id = k.value ->> 1"""
LOAD_STUCK: Final = """
    SELECT s.entity, s.since, s.error
    FROM json_each(:keys) k CROSS JOIN stuck s ON s.shard = :shard AND s.entity = k.value"""
FACTS: Final = """
    SELECT seq, at, type, version, CAST(body AS BLOB) FROM events
    WHERE shard = ? AND entity = ? AND seq > ? ORDER BY seq LIMIT ?"""
LAST_FACTS: Final = """
    SELECT seq, at, type, version, CAST(body AS BLOB) FROM events
    WHERE shard = ? AND entity = ? ORDER BY seq DESC LIMIT ?"""
LOGS: Final = """
    SELECT n, at, step, attempt, stream, text FROM logs
    WHERE shard = :shard AND namespace = :namespace AND id = :id AND n > :after
      AND (:step IS NULL OR step = :step)
    ORDER BY n LIMIT :limit"""
LAST_LOGS: Final = """
    SELECT n, at, step, attempt, stream, text FROM logs
    WHERE shard = :shard AND namespace = :namespace AND id = :id AND (:step IS NULL OR step = :step)
    ORDER BY n DESC LIMIT :limit"""
LOG_SIZE: Final = """
    SELECT coalesce(max(n), 0), coalesce(sum(length(CAST(text AS BLOB)) + 1), 0) FROM logs
    WHERE shard = ? AND namespace = ? AND id = ?"""
UNSETTLED: Final = """
    SELECT 'run', r.namespace, r.id, r.asleep = 1 AND r.waiting_for IS NOT NULL, r.wake_at FROM runs r
    WHERE r.shard = ? AND r.settled = 0
      AND (r.asleep = 0 OR r.wake_at IS NOT NULL OR r.waiting_for IS NULL) AND NOT EXISTS (
      SELECT 1 FROM stuck s WHERE s.shard = r.shard AND s.entity = 'run/' || r.namespace || '/' || r.id)
    ORDER BY r.started_at, r.namespace, r.id"""
UNSETTLED_ENTITIES: Final = """
    SELECT e.kind, e.namespace, e.id, 1 - e.awake, e.wake_at FROM entities e INDEXED BY entities_unsettled
    WHERE e.shard = ? AND (e.awake = 1 OR e.wake_at IS NOT NULL) AND NOT EXISTS (
      SELECT 1 FROM stuck s
      WHERE s.shard = e.shard AND s.entity = e.kind || '/' || e.namespace || '/' || e.id)
    ORDER BY e.kind, e.namespace, e.id"""
_ENTITY_VALUES: Final = "id, wake_at, awake, CAST(summary AS BLOB)"
ENTITY_ROW: Final = f"""
    SELECT {_ENTITY_VALUES} FROM entities WHERE shard = ? AND kind = ? AND namespace = ? AND id = ?"""
ENTITY_ROWS: Final = f"""
    SELECT {_ENTITY_VALUES} FROM entities
    WHERE kind = ? AND namespace = ? AND id > ? ORDER BY id LIMIT ?"""
NOTICES: Final = """
    SELECT id, hook, namespace, workflow, run, what, at, CAST(body AS BLOB) FROM notices
    WHERE shard = :shard AND (:at IS NULL OR (at, id) > (:at, :id)) ORDER BY at, id LIMIT :limit"""
STUCK: Final = "SELECT entity, since, error FROM stuck WHERE namespace = ? ORDER BY since, entity"
_DOCUMENT_VALUES: Final = (
    "d.namespace, d.id, d.version, d.document_hash, CAST(d.body AS BLOB), d.at, d.created_at, d.deleted, "
    "d.text"
)
DOCUMENT: Final = f"""
    SELECT {_DOCUMENT_VALUES} FROM documents d
    WHERE d.shard = :shard AND d.namespace = :namespace AND d.id = :id AND d.version = ifnull(:version, (
      SELECT max(n.version) FROM documents n
      WHERE n.shard = :shard AND n.namespace = :namespace AND n.id = :id))"""
DOCUMENTS: Final = f"""
    SELECT {_DOCUMENT_VALUES} FROM documents d
    WHERE d.namespace = ? AND d.id > ? AND d.deleted = 0 AND d.version = (
      SELECT max(n.version) FROM documents n
      WHERE n.shard = d.shard AND n.namespace = d.namespace AND n.id = d.id)
    ORDER BY d.id LIMIT ?"""
RUN: Final = f"SELECT {RUN_VALUES} FROM runs r WHERE r.shard = ? AND r.namespace = ? AND r.id = ?"
NEWEST_RUNS: Final = f"""
    SELECT {RUN_VALUES} FROM json_each(:workflows) w
    CROSS JOIN runs r ON r.namespace = :namespace AND r.workflow = w.value AND (r.started_at, r.id) = (
      SELECT n.started_at, n.id FROM runs n WHERE n.namespace = :namespace AND n.workflow = w.value
      ORDER BY n.started_at DESC, n.id DESC LIMIT 1)"""
COUNT_RUNS: Final = """
    SELECT count(*) FROM (SELECT 1 FROM runs WHERE namespace = ? AND workflow = ? LIMIT ?)"""
# A workflow is defined while its newest version is not deleted.
_DEFINED: Final = """d.deleted = 0 AND d.version = (
      SELECT max(n.version) FROM documents n
      WHERE n.shard = d.shard AND n.namespace = d.namespace AND n.id = d.id)"""
COUNT_ENTITIES: Final = f"""
    SELECT shard, sum(n) FROM (
      SELECT shard, count(*) AS n FROM runs WHERE settled = 0 GROUP BY shard
      UNION ALL SELECT d.shard, count(*) FROM documents d WHERE {_DEFINED} GROUP BY d.shard)
    GROUP BY shard ORDER BY shard"""
ENTITIES: Final = f"""
    SELECT * FROM (
      SELECT 'run', namespace, id FROM runs WHERE shard = :shard AND settled = 0
      UNION ALL SELECT 'workflow', d.namespace, d.id FROM documents d WHERE d.shard = :shard AND {_DEFINED})
    ORDER BY 1, 2, 3 LIMIT :limit"""
EXPIRED: Final = """
    SELECT namespace, id FROM runs WHERE shard = ? AND settled = 1 AND purged = 0 AND ended_at < ?
    ORDER BY ended_at, namespace, id LIMIT ?"""


def keep(cx: Connection, groups: Sequence[Group]) -> list[bool]:
    """Within a transaction: write every group whose epoch is its shard's own, in their order."""
    epochs = read_epochs(cx, as_json(list({group.shard for group in groups})))
    outcomes = [epochs.get(group.shard) == group.epoch for group in groups]
    kept = [group for group, ours in zip(groups, outcomes, strict=True) if ours]
    for wave in _waves(kept):
        _insert(cx, wave)
        for group in wave:
            _remove(cx, group)
    return outcomes


def claim(cx: Connection, shards: Sequence[int]) -> dict[int, int]:
    wanted = as_json(list(dict.fromkeys(shards)))
    cx.execute(CLAIM, (wanted,))
    return read_epochs(cx, wanted)


def setting(cx: Connection, name: str, value: str) -> str:
    cx.execute("INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)", (name, value))
    return str(cx.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()[0])


def read_epochs(cx: Connection, shards: str) -> dict[int, int]:
    """In one row, whatever their number."""
    pairs: list[tuple[int, int]] = msgspec.json.decode(cx.execute(EPOCHS, (shards,)).fetchone()[0])
    return dict(pairs)


def read_unsettled(cx: Connection, shard: int) -> list[Unsettled]:
    """Not one view: who opens a shard has claimed it, and nobody else writes there by then."""
    found = [row for sql in (UNSETTLED, UNSETTLED_ENTITIES) for row in cx.execute(sql, (shard,)).fetchall()]
    return [unsettled(row) for row in found]


def load(cx: Connection, shard: int, keys: Sequence[Key]) -> list[Stored]:
    texts = {key: key.text() for key in keys}
    entities = {"shard": shard, "keys": as_json(list(texts.values()))}
    runs = {"shard": shard, "keys": as_json([(k.namespace, k.id) for k in texts if k.kind == "run"])}
    cx.execute("BEGIN")  # one view of all four tables
    snapshots = {row[0]: row for row in cx.execute(LOAD_SNAPSHOTS, entities).fetchall()}
    facts: dict[str, list[Row]] = {}
    for row in cx.execute(LOAD_FACTS, entities).fetchall():
        facts.setdefault(row[0], []).append(row)
    rows = {row.key: row for row in map(run, cx.execute(LOAD_RUNS, runs).fetchall())}
    stuck_rows = {row.key: row for row in map(stuck, cx.execute(LOAD_STUCK, entities).fetchall())}
    cx.execute("COMMIT")
    return [
        Stored(
            key=key,
            snapshot=Snapshot(key, *snapshots[texts[key]][1:]) if texts[key] in snapshots else None,
            facts=tuple(Fact(key, *row[1:]) for row in sorted(facts.get(texts[key], ()), key=_seq)),
            run=rows.get(key),
            stuck=stuck_rows.get(key),
        )
        for key in keys
    ]


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
        settled=bool(row[11]),
        asleep=bool(row[12]),
        wake_at=row[13],
        purged=bool(row[14]),
        waiting_for=row[15],
    )


def unsettled(row: Row) -> Unsettled:
    kind, namespace, ident, asleep, wake_at = row
    return Unsettled(Key(kind, namespace, ident), bool(asleep), wake_at)


def entity(key: Key, row: Row) -> EntityRow:
    _, wake_at, awake, summary = row
    return EntityRow(key=key, wake_at=wake_at, awake=bool(awake), summary=summary)


def document(row: Row) -> Document:
    return Document(
        key=workflow_key(row[1], row[0]),
        version=row[2],
        hash=row[3],
        body=row[4],
        at=row[5],
        created_at=row[6],
        deleted=bool(row[7]),
        text=row[8],
    )


def stuck(row: Row) -> StuckRow:
    return StuckRow(key=Key.parse(row[0]), since=row[1], error=row[2])


def notice(row: Row) -> Notice:
    ident, hook, namespace, workflow, run, what, at, body = row
    return Notice(
        id=ident, hook=hook, namespace=namespace, workflow=workflow, run=run, what=what, at=at, body=body
    )


def _entity(key: Key) -> str:
    text = key.text()
    if "\0" in text:  # SQLite's JSON functions, by which keys are looked up, end at it
        raise ValueError("an id with a NUL in it")
    return text


def _time(at: float | None) -> float | None:
    if at is not None and math.isnan(at):  # which SQLite would keep as NULL
        raise ValueError("a time that is not a number")
    return at


def _seq(row: Row) -> int:
    return int(row[1])


def _waves(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """Groups that can be written together, insertions first, as if they came one after the other.

    Shards do not touch each other's rows; so only what follows a removal in the same shard has to wait.
    """
    wave: list[Group] = []
    removing: set[int] = set()
    for group in groups:
        if group.shard in removing:
            yield wave
            wave, removing = [], set()
        wave.append(group)
        if group.deletions or group.freed or group.purged or group.delivered or group.entities_gone:
            removing.add(group.shard)
    yield wave


def _insert(cx: Connection, wave: list[Group]) -> None:
    facts: list[Any] = []
    runs: list[tuple[int, RunRow]] = []
    documents: list[Any] = []
    snapshots: list[Any] = []
    logs: list[Any] = []
    stuck_rows: list[Any] = []
    notices: list[Any] = []
    entities: list[Any] = []
    for group in wave:
        shard = group.shard
        for f in group.facts:
            facts += (
                shard,
                _entity(f.key),
                f.seq,
                hash32(f.key.id),
                f.at,
                f.type,
                f.version,
                f.body.decode(),
            )
        for row in group.runs:
            _entity(row.key)
            runs.append((shard, row))
        for d in group.documents:
            _entity(d.key)
            documents += (shard, d.key.namespace, d.key.id, d.version, hash32(d.key.id), d.hash)
            documents += (d.body.decode(), d.at, d.created_at, int(d.deleted), d.text)
        for s in group.snapshots:
            snapshots += (shard, _entity(s.key), s.seq, hash32(s.key.id), s.version, s.body.decode())
        for key in {line.key for line in group.logs}:
            _entity(key)
        for line in group.logs:
            key = line.key
            logs += (shard, key.namespace, key.id, line.n, line.at, line.step, line.attempt)
            logs += (line.stream, line.text)
        for w in group.stuck:
            stuck_rows += (shard, _entity(w.key), hash32(w.key.id), w.key.namespace, w.since, w.error)
        for told in group.notices:
            notices += (shard, told.id, told.hook, told.namespace, told.workflow, told.run, told.what)
            notices += (told.at, told.body.decode())
        for e in group.entities:
            _entity(e.key)
            entities += (shard, *e.key, hash32(e.key.id), _time(e.wake_at), int(e.awake), e.summary.decode())
    INSERT_EVENTS.run(cx, facts)
    REPLACE_DOCUMENTS.run(cx, documents)
    REPLACE_SNAPSHOTS.run(cx, snapshots)
    INSERT_LOGS.run(cx, logs)
    REPLACE_STUCK.run(cx, stuck_rows)
    INSERT_NOTICES.run(cx, notices)
    REPLACE_ENTITIES.run(cx, entities)
    if runs:
        _upsert_runs(cx, runs)
    if snapshots:
        trimmed = {(g.shard, _entity(s.key)) for g in wave for s in g.snapshots}
        cx.executemany(TRIM_SNAPSHOTS, [{"shard": shard, "entity": entity} for shard, entity in trimmed])


def _upsert_runs(cx: Connection, rows: list[tuple[int, RunRow]]) -> None:
    values = [value for shard, row in rows for value in _run_values(shard, row)]
    before = cx.total_changes
    UPSERT_RUNS.run(cx, values)
    if cx.total_changes - before == len(rows):
        INSERT_LABELS.run(cx, [value for shard, row in rows for value in _label_values(shard, row)])
        return
    # Some row has changed what it never should (its workflow, start or labels): the slow way, then.
    for shard, row in rows:
        cx.execute(DELETE_LABELS, (shard, row.key.namespace, row.key.id))
        REPLACE_RUNS.run(cx, list(_run_values(shard, row)))
        INSERT_LABELS.run(cx, list(_label_values(shard, row)))


def _run_values(shard: int, row: RunRow) -> Row:
    return (
        shard, row.key.namespace, row.key.id, hash32(row.key.id), row.workflow, row.version, row.status,
        row.started_at, row.ended_at, row.priority, as_json(row.labels) if row.labels else "{}",
        row.request_hash, row.error, int(row.settled), int(row.asleep), row.wake_at, int(row.purged),
        row.waiting_for,
    )  # fmt: skip


def _label_values(shard: int, row: RunRow) -> Iterator[Any]:
    for key, value in row.labels.items():
        yield from (row.key.namespace, key, value, row.started_at, row.key.id, shard)


def _remove(cx: Connection, group: Group) -> None:
    if group.deletions:
        cx.executemany(DELETE_EVENTS, [(group.shard, key.text(), upto) for key, upto in group.deletions])
    if group.freed:
        cx.execute(FREE, (group.shard, as_json([key.text() for key in group.freed])))
    if group.delivered:
        cx.execute(FORGET_NOTICES, (group.shard, as_json(group.delivered)))
    if group.entities_gone:
        cx.execute(FORGET_ENTITIES, (group.shard, as_json(group.entities_gone)))
    if group.purged:
        entities = as_json([key.text() for key in group.purged])
        cx.execute(PURGE_EVENTS, (group.shard, entities))
        cx.execute(PURGE_SNAPSHOTS, (group.shard, entities))
        ids = as_json([(key.namespace, key.id) for key in group.purged if key.kind == "run"])
        cx.execute(PURGE_LOGS, (group.shard, ids))
        cx.execute(PURGE_RUNS, (group.shard, ids))
