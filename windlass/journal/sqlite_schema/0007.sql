-- One row per attempt that a worker had, lost ones included: who had it, and how it went. What is not yet known of
-- an attempt that runs is empty.
CREATE VIEW dag_node_attempt AS
SELECT
  g.run || '/' || g.step || '/' || g.attempt AS id,
  g.run AS workflow_instance_id,
  g.namespace AS namespace,
  g.step AS node_id,
  g.attempt AS attempt,
  CASE
    WHEN last.type = 'StepSucceeded' THEN 'SUCCEED'
    WHEN last.type = 'AttemptFailed' THEN 'FAILED'
    WHEN last.type = 'AttemptLost' THEN 'LOST'
    WHEN g.run_ended_at IS NOT NULL THEN 'CANCELED'
    ELSE 'RUNNING'
  END AS status,
  held.body ->> '$.worker' AS worker_address,
  strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(last.body ->> '$.started_at', g.granted_at), 'unixepoch') AS start_time,
  strftime('%Y-%m-%dT%H:%M:%fZ', CASE
    WHEN last.type = 'StepGranted' THEN g.run_ended_at ELSE last.at
  END, 'unixepoch') AS finished_time,
  coalesce(last.body ->> '$.reason', last.body ->> '$.failure.message') AS reason
FROM (
  SELECT
    r.shard AS shard,
    r.namespace AS namespace,
    r.id AS run,
    r.ended_at AS run_ended_at,
    e.entity AS entity,
    e.body ->> '$.step' AS step,
    e.body ->> '$.attempt' AS attempt,
    max(e.seq) AS last_seq,
    max(CASE WHEN e.body ->> '$.worker' <> '' THEN e.seq END) AS held_seq,
    max(CASE WHEN e.type = 'StepGranted' THEN e.at END) AS granted_at
  FROM runs r
  JOIN events e ON e.shard = r.shard AND e.entity = 'run/' || r.namespace || '/' || r.id
  WHERE e.type IN ('StepGranted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost') AND json_valid(e.body)
  GROUP BY r.shard, r.namespace, r.id, e.body ->> '$.step', e.body ->> '$.attempt'
) g
JOIN events last ON last.shard = g.shard AND last.entity = g.entity AND last.seq = g.last_seq
JOIN events held ON held.shard = g.shard AND held.entity = g.entity AND held.seq = g.held_seq;
