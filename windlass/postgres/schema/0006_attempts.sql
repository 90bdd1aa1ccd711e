-- One row per attempt that a worker had, lost ones included: who had it, and how it went. What is not yet known of
-- an attempt that runs is empty.
-- min_reader: 1

CREATE VIEW dag_node_attempt AS
SELECT
  run || '/' || step || '/' || attempt AS id,
  run AS workflow_instance_id,
  namespace AS namespace,
  step AS node_id,
  attempt AS attempt,
  CASE
    WHEN type = 'StepSucceeded' THEN 'SUCCEED'
    WHEN type = 'AttemptFailed' THEN 'FAILED'
    WHEN type = 'AttemptLost' THEN 'LOST'
    WHEN run_ended_at IS NOT NULL THEN 'CANCELED'
    ELSE 'RUNNING'
  END AS status,
  worker AS worker_address,
  as_time(coalesce((body ->> 'started_at')::float8, granted_at)) AS start_time,
  as_time(CASE WHEN type = 'StepGranted' THEN run_ended_at ELSE at END) AS finished_time,
  coalesce(body ->> 'reason', body -> 'failure' ->> 'message') AS reason
FROM (
  SELECT
    g.*,
    last.type AS type,
    last.at AS at,
    as_json(last.body) AS body,
    as_json(held.body) ->> 'worker' AS worker
  FROM (
    SELECT
      r.shard AS shard,
      r.namespace AS namespace,
      r.id AS run,
      r.ended_at AS run_ended_at,
      e.entity AS entity,
      j.body ->> 'step' AS step,
      (j.body ->> 'attempt')::int AS attempt,
      max(e.seq) AS last_seq,
      max(e.seq) FILTER (WHERE j.body ->> 'worker' <> '') AS held_seq,
      max(e.at) FILTER (WHERE e.type = 'StepGranted') AS granted_at
    FROM runs r
    JOIN events e ON e.shard = r.shard AND e.entity = 'run/' || r.namespace || '/' || r.id
    CROSS JOIN LATERAL (SELECT as_json(e.body) AS body OFFSET 0) j -- OFFSET 0: read it once
    WHERE e.type IN ('StepGranted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost') AND j.body IS NOT NULL
    GROUP BY r.shard, r.namespace, r.id, r.ended_at, e.entity, j.body ->> 'step', (j.body ->> 'attempt')::int
  ) g
  JOIN events last ON last.shard = g.shard AND last.entity = g.entity AND last.seq = g.last_seq
  JOIN events held ON held.shard = g.shard AND held.entity = g.entity AND held.seq = g.held_seq
) found;
