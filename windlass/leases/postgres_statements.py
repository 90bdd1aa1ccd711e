"""What the leases say to PostgreSQL, and rows ⇄ values. What changes owners is in `0003_cluster.sql`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from windlass.core.cluster import Holding, Load, Member, NodeId, Plan, State, View
from windlass.leases import Moved

Row = Mapping[str, Any]  # Any: as the driver gives it

# Only the first one to come makes the cluster.
FOUND: Final = """
    WITH made AS (
      INSERT INTO cluster (name, shards, strategy, secret) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
      RETURNING shards),
    planned AS (INSERT INTO plan (round, body) SELECT 0, '{}' FROM made ON CONFLICT DO NOTHING)
    INSERT INTO shards (shard, epoch) SELECT n, 0 FROM made, generate_series(0, made.shards - 1) n
    ON CONFLICT DO NOTHING"""
FOUNDED: Final = "SELECT name, shards, strategy, secret FROM cluster"

# A plan is long and seldom another one: it is sent to those who do not know its round.
_VIEW: Final = """
    (SELECT json_agg(json_build_array(member, state, beat, load)) FROM nodes)::text AS members,
    held.*,
    (SELECT body FROM plan WHERE round IS DISTINCT FROM $1) AS plan,
    now_s() AS at"""
_HELD: Final = """(
      SELECT array_agg(shard) AS shards, array_agg(epoch) AS epochs, array_agg(owner) AS owners
      FROM (SELECT shard, epoch, owner FROM shards ORDER BY shard) s
    ) held"""
LOOK: Final = f"SELECT {_VIEW} FROM {_HELD}"
BEAT: Final = f"""
    WITH beaten AS (
      UPDATE nodes SET beat = beat + 1, load = $3, beaten_at = now_s() WHERE id = $2 AND state <> 'dead'
      RETURNING beat)
    SELECT (SELECT beat FROM beaten) AS beat, {_VIEW} FROM {_HELD}"""
CENSUS: Final = f"""
    SELECT {_VIEW}, (
      SELECT json_object_agg(shard, n) FROM (
        SELECT shard, count(*) AS n FROM living(held.shards) GROUP BY shard) counted
    )::text AS entities,
    (SELECT json_object_agg(shard, json_build_object('at', at, 'source', coalesce(source, '')))
     FROM shard_moves)::text AS moved
    FROM {_HELD}"""
ENTITIES: Final = """
    SELECT kind, namespace, id FROM living(ARRAY[$1::int])
    ORDER BY kind COLLATE "C", namespace COLLATE "C", id COLLATE "C" LIMIT $2"""

JOIN: Final = "SELECT join_cluster($1, $2, $3, $4, $5, $6, $7)"
BURY: Final = "SELECT bury_node($1, $2, $3, $4, $5)"
TAKE: Final = "SELECT shard, epoch, owner FROM take_shards($1, $2)"
GIVE: Final = "SELECT give_shard($1, $2, $3, $4, $5, $6)"
WITHDRAW: Final = "SELECT withdraw_node($1)"
LEAVE: Final = "SELECT leave_cluster($1)"
RENEW: Final = """
    WITH ours AS (
      SELECT s.shard FROM shards s JOIN unnest($2::int[], $3::bigint[]) g(shard, epoch) USING (shard)
      WHERE s.owner = $1 AND s.epoch = g.epoch ORDER BY s.shard FOR NO KEY UPDATE OF s)
    UPDATE shards s SET epoch = s.epoch + 1 FROM ours WHERE s.shard = ours.shard RETURNING s.shard, s.epoch"""
PROPOSE: Final = "UPDATE plan SET round = $1, body = $2 WHERE round = $1 - 1 RETURNING round"

NOTE: Final = "SELECT tell($1, $2, $3::jsonb - '{type, at, number}'::text[])"
EVENTS: Final = """
    SELECT (body || jsonb_build_object('number', number, 'type', type, 'at', at))::text FROM cluster_events
    WHERE ($1::bigint IS NULL OR number < $1) AND ($2::text IS NULL OR type = $2)
    ORDER BY number DESC LIMIT $3"""

# Whoever is at the front of the queue that the given one stands in, for so long, and waits for its client.
# Who is at work gets done by itself, and others may wait for the same. All are found before the first is
# ended: as a mere condition, the planner would be free to end everybody first, and to ask afterwards whether
# they were in the way.
END_BLOCKERS: Final = """
    WITH RECURSIVE ahead(pid) AS (
      SELECT unnest(pg_blocking_pids($1))
      UNION SELECT unnest(pg_blocking_pids(ahead.pid)) FROM ahead),
    to_blame AS MATERIALIZED (
      SELECT a.pid, a.application_name, extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS age_s
      FROM ahead JOIN pg_stat_activity a USING (pid)
      WHERE a.usename = current_user AND a.xact_start < clock_timestamp() - make_interval(secs => $2)
        AND a.pid NOT IN ($1, pg_backend_pid()) AND cardinality(pg_blocking_pids(a.pid)) = 0
        AND (a.state LIKE 'idle in transaction%' OR a.wait_event_type = 'Client'))
    SELECT pid, application_name, age_s, pg_terminate_backend(pid) AS ended FROM to_blame"""

_members: Final = msgspec.json.Decoder(list[tuple[Member, State, int, Load]])
_plan: Final = msgspec.json.Decoder(Plan)
_counts: Final = msgspec.json.Decoder(dict[int, int])
_moved: Final = msgspec.json.Decoder(dict[int, Moved])


class Reader:
    """Makes views of what one connection answers, and remembers what seldom changes."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._plan: Plan | None = None
        self._held: tuple[list[int], list[int], list[str | None]] = ([], [], [])
        self._shards: dict[int, Holding] = {}

    @property
    def known_round(self) -> int | None:
        return None if self._plan is None else self._plan.round

    def view(self, row: Row) -> View:
        if row["plan"] is not None:
            self._plan = _plan.decode(row["plan"])
        assert self._plan is not None, "a plan that is not known is sent"
        held = (row["shards"] or [], row["epochs"] or [], row["owners"] or [])
        if held != self._held:
            self._held = held
            rows = zip(*held, strict=True)
            self._shards = {n: Holding(owner and NodeId(owner), epoch) for n, epoch, owner in rows}
        return View(
            members={m.id: m for m in map(_member, _members.decode(row["members"] or "[]"))},
            shards=dict(self._shards),
            plan=self._plan,
            at=row["at"],
            database=self._database,
        )

    def beaten(self, row: Row, me: NodeId, load: Load) -> View:
        """What a beat saw. A statement does not see what it writes itself: that is put in here."""
        view = self.view(row)
        mine = replace(view.members[me], beat=row["beat"], load=load)
        return replace(view, members=view.members | {me: mine})


def counts(row: Row) -> dict[int, int]:
    """The entities of every shard."""
    found = _counts.decode(row["entities"] or "{}")
    return {shard: found.get(shard, 0) for shard in row["shards"] or []}


def moved(row: Row) -> dict[int, Moved]:
    return _moved.decode(row["moved"] or "{}")


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _member(row: tuple[Member, State, int, Load]) -> Member:
    member, state, beat, load = row
    return replace(member, state=state, beat=beat, load=load)
