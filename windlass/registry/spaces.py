"""Which namespaces there are, in SQL: from index to index, so that a million runs of one cost as much as one.

A namespace is nothing that is made: it is there when something is in it. One whose workflows are all deleted,
and that has neither runs nor tokens, is not.
"""

from __future__ import annotations

from typing import Final, get_args

from windlass.core.vocabulary import ENDED, RunStatus

OPEN: Final = ", ".join(f"'{status}'" for status in get_args(RunStatus) if status not in ENDED)

SQLITE: Final = f"""
    WITH RECURSIVE
    of_runs (name) AS (
      SELECT min(namespace) FROM runs
      UNION ALL
      SELECT (SELECT min(namespace) FROM runs WHERE namespace > o.name)
      FROM of_runs o WHERE o.name IS NOT NULL),
    of_documents (name) AS (
      SELECT min(namespace) FROM documents
      UNION ALL
      SELECT (SELECT min(namespace) FROM documents WHERE namespace > o.name)
      FROM of_documents o WHERE o.name IS NOT NULL),
    named (name, sure) AS (
      SELECT name, 1 FROM of_runs UNION ALL SELECT name, 0 FROM of_documents
      UNION ALL SELECT namespace, 1 FROM tokens WHERE namespace <> '*' AND revoked_at IS NULL),
    counted AS (
      SELECT n.name, max(n.sure) AS sure, (
        SELECT count(*) FROM (
          SELECT 1 FROM documents d INDEXED BY documents_by_id
          WHERE d.namespace = n.name AND d.deleted = 0 AND d.version = (
            SELECT max(m.version) FROM documents m WHERE m.namespace = d.namespace AND m.id = d.id)
          LIMIT :counted)) AS workflows
      FROM named n WHERE n.name IS NOT NULL AND (:only IS NULL OR n.name = :only) GROUP BY n.name)
    SELECT c.name, c.workflows, (
      SELECT count(*) FROM (
        SELECT 1 FROM runs r INDEXED BY runs_by_status
        WHERE r.namespace = c.name AND r.status IN ({OPEN}) AND r.settled = 0 LIMIT :counted))
    FROM counted c WHERE c.sure = 1 OR c.workflows > 0 ORDER BY c.name LIMIT :limit
"""

# Each order that is asked for is that of one index, so that no other one can serve.
POSTGRES: Final = f"""
    WITH RECURSIVE
    of_runs (name) AS (
      (SELECT namespace FROM runs ORDER BY namespace, started_at NULLS FIRST, id NULLS FIRST LIMIT 1)
      UNION ALL
      SELECT (
        SELECT namespace FROM runs WHERE namespace > o.name
        ORDER BY namespace, started_at NULLS FIRST, id NULLS FIRST LIMIT 1)
      FROM of_runs o WHERE o.name IS NOT NULL),
    of_documents (name) AS (
      (SELECT namespace FROM documents ORDER BY namespace, id, version LIMIT 1)
      UNION ALL
      SELECT (
        SELECT namespace FROM documents WHERE namespace > o.name ORDER BY namespace, id, version LIMIT 1)
      FROM of_documents o WHERE o.name IS NOT NULL),
    named (name, sure) AS (
      SELECT name, true FROM of_runs UNION ALL SELECT name, false FROM of_documents
      UNION ALL SELECT namespace, true FROM tokens WHERE namespace <> '*' AND revoked_at IS NULL),
    spaces AS (
      SELECT name COLLATE "C" AS name, bool_or(sure) AS sure FROM named
      WHERE name IS NOT NULL AND ($1::text IS NULL OR name = $1) GROUP BY 1)
    SELECT s.name, w.workflows, (
      SELECT count(*) FROM (
        SELECT FROM unnest(ARRAY[{OPEN}]) AS o (status), LATERAL (
          SELECT FROM runs r WHERE r.namespace = s.name AND r.status = o.status AND NOT r.settled
          ORDER BY r.started_at NULLS LAST, r.id NULLS FIRST LIMIT $3) each
        LIMIT $3) found)
    FROM spaces s, LATERAL (
      SELECT count(*) AS workflows FROM (
        SELECT FROM documents d
        WHERE d.namespace = s.name AND NOT d.deleted AND NOT EXISTS (
          SELECT FROM documents m WHERE m.namespace = d.namespace AND m.id = d.id AND m.version > d.version)
        LIMIT $3) found) w
    WHERE s.sure OR w.workflows > 0 ORDER BY s.name LIMIT $2
"""
