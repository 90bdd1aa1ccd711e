-- Code tasks in plain SQL, and the steps of runs that bring their own document. Nothing here is read by the engine.
-- min_reader: 1

-- The number that it is; NULL where it is none.
CREATE FUNCTION as_number(given text) RETURNS numeric LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN given::numeric;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

-- One row per code task, which is a run of `windlass:task`; it says what `core/task_fold.py` says. How it ended is
-- told by the row of the run, and so even after its events were purged; the rest by the last attempt, `tried`. Until
-- a grant is recorded, moments after it was given, a task that is executed already is shown as SUBMITTED or RETRYING.
-- `error` is what the program said of it, `reason` why the task has ended so. `time_s` is empty where an older client
-- told it as text.
CREATE VIEW code_task AS
SELECT
  r.id AS task_id,
  r.namespace AS namespace,
  as_json(r.labels) ->> 'windlass:language' AS language,
  started.body #>> '{document,steps,code,with,version}' AS version,
  CASE
    WHEN r.status IN ('succeeded', 'partial_success') THEN 'COMPLETED'
    WHEN r.status = 'cancelled' THEN 'CANCELLED'
    WHEN r.status = 'failed' THEN CASE
      WHEN r.error LIKE 'step code failed: TimeLimit: %' THEN 'TIMEOUT'
      WHEN r.error LIKE 'step code failed: Timeout: %' THEN 'TIMEOUT'
      WHEN r.error LIKE 'step code failed: TimeoutTotal: %' THEN 'TIMEOUT'
      ELSE 'FAILED'
    END
    WHEN g.tried_seq IS NULL THEN 'SUBMITTED'
    WHEN g.waits_seq > g.tried_seq THEN 'RETRYING'
    WHEN tried.type = 'StepGranted' THEN 'EXECUTING'
    ELSE 'FAILED' -- lost, and paused: nothing follows before it goes on
  END AS status,
  as_time(r.started_at) AS created_at,
  as_time(g.queued_at) AS submitted_at,
  as_time(coalesce(
    granted.at, nullif(as_number(tried.body ->> 'started_at'), 0)::float8, tried.at
  )) AS started_at,
  as_time(coalesce(r.ended_at, CASE
    WHEN tried.type = 'AttemptLost' AND g.tried_seq > coalesce(g.waits_seq, 0) THEN tried.at
  END)) AS completed_at,
  CASE WHEN g.tried_seq IS NOT NULL THEN
    coalesce(granted.body ->> 'worker', nullif(tried.body ->> 'worker', ''), 'unknown')
  END AS client, -- of the last attempt, as is what follows
  g.attempts AS attempts,
  as_number(told.value ->> 'exitCode') AS exit_code,
  CASE WHEN tried.type <> 'StepGranted' THEN coalesce(
    nullif(told.value ->> 'stdout', ''), told.value ->> 'output', ''
  ) END AS output,
  CASE WHEN tried.type <> 'StepGranted' THEN coalesce(
    nullif(told.value ->> 'stderr', ''),
    nullif(told.value ->> 'error', ''),
    CASE WHEN told.failure ->> 'type' = 'CompileError' THEN nullif(told.failure ->> 'detail', '') END,
    told.failure ->> 'message',
    tried.body ->> 'reason',
    ''
  ) END AS error,
  CASE WHEN json_typeof(told.value -> 'timeS') = 'number' THEN as_number(told.value ->> 'timeS') END AS time_s,
  as_number(told.value ->> 'cpuS') AS cpu_s,
  as_number(told.value ->> 'peakBytes') AS peak_bytes,
  told.value ->> 'exceeded' AS exceeded,
  r.priority AS priority,
  CASE WHEN started.body IS NOT NULL THEN
    coalesce((started.body #> '{input,metadata}')::text, '{}')
  END AS metadata,
  nullif(r.error, '') AS reason
FROM (SELECT *, 'run/' || namespace || '/' || id AS entity FROM runs WHERE workflow = 'windlass:task') r
CROSS JOIN LATERAL (
  SELECT
    min(e.at) FILTER (WHERE e.type = 'StepQueued') AS queued_at,
    max(e.seq) FILTER (
      WHERE e.type IN ('StepQueued', 'RetryScheduled', 'StepParked', 'StepReleased')
    ) AS waits_seq,
    max(e.seq) FILTER (WHERE j.attempt IS NOT NULL) AS tried_seq,
    max(e.seq) FILTER (WHERE e.type = 'StepGranted' AND j.attempt IS NOT NULL) AS granted_seq,
    count(DISTINCT j.attempt) AS attempts
  FROM events e
  CROSS JOIN LATERAL (
    SELECT CASE WHEN e.type IN ('StepGranted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost') THEN
      as_json(e.body) ->> 'attempt'
    END AS attempt OFFSET 0 -- read it once
  ) j
  WHERE e.shard = r.shard AND e.entity = r.entity
) g
LEFT JOIN LATERAL (
  SELECT as_json(e.body) AS body FROM events e WHERE e.shard = r.shard AND e.entity = r.entity AND e.seq = 1 OFFSET 0
) started ON true
LEFT JOIN LATERAL (
  SELECT e.type, e.at, as_json(e.body) AS body FROM events e
  WHERE e.shard = r.shard AND e.entity = r.entity AND e.seq = g.tried_seq OFFSET 0
) tried ON true
-- Of the same attempt; there is none where it ended before it was recorded.
LEFT JOIN LATERAL (
  SELECT e.at, as_json(e.body) AS body FROM events e
  WHERE e.shard = r.shard AND e.entity = r.entity AND e.seq = g.granted_seq
    AND as_json(e.body) ->> 'attempt' = tried.body ->> 'attempt' OFFSET 0
) granted ON true
CROSS JOIN LATERAL (SELECT tried.body -> 'value' AS value, tried.body -> 'failure' AS failure) told;

-- One row per step that something has happened to. A step's events are folded in one pass to the numbers of the
-- ones that matter: its last, the last that says when it began, the last that names its worker.
CREATE OR REPLACE VIEW dag_node_execution AS
SELECT
  run || '/' || step AS id,
  run AS workflow_instance_id,
  namespace AS namespace,
  step AS node_id,
  step AS node_name,
  CASE coalesce(written ->> 'kind', waits) WHEN 'wait' THEN 'CONTROL' ELSE 'TASK' END AS node_type,
  coalesce(written ->> 'kind', waits) AS task_name,
  CASE
    WHEN type = 'StepSucceeded' THEN 'SUCCEED'
    WHEN type = 'StepFailed' THEN 'FAILED'
    WHEN run_ended_at IS NOT NULL THEN 'CANCELED'
    WHEN type IN ('StepGranted', 'WaitStarted') THEN 'RUNNING'
    -- A pause takes back what no worker holds yet, and so does a step's failure that fails the run.
    WHEN type = 'StepQueued' AND seq > coalesce(withdrawn_seq, 0) THEN 'QUEUED'
    ELSE 'WAITING'
  END AS status,
  CASE type
    WHEN 'StepSucceeded' THEN coalesce((body -> 'value')::text, 'null')
    WHEN 'StepFailed' THEN (body -> 'failure')::text
  END AS result,
  as_time(began_at) AS start_time,
  as_time(CASE
    WHEN type IN ('StepSucceeded', 'StepFailed') THEN at
    WHEN began_at IS NOT NULL THEN run_ended_at
  END) AS finished_time,
  (coalesce(written ->> 'on_failure', body ->> 'policy', 'fail') = 'skip')::int AS skip_when_failed,
  1 AS enable,
  attempts - 1 AS retry_times,
  worker AS worker_address
FROM (
  SELECT
    g.run,
    g.namespace,
    g.step,
    g.run_ended_at,
    g.attempts,
    g.waits,
    last.seq,
    last.type,
    last.at,
    as_json(last.body) AS body,
    coalesce((as_json(began.body) ->> 'started_at')::float8, began.at) AS began_at,
    as_json(held.body) ->> 'worker' AS worker,
    (
      SELECT max(t.seq) FROM events t
      WHERE last.type = 'StepQueued' AND t.shard = g.shard AND t.entity = g.entity AND t.seq > g.last_seq
        AND (t.type = 'RunPaused' OR (t.type = 'StepFailed' AND as_json(t.body) ->> 'policy' = 'fail'))
    ) AS withdrawn_seq,
    CASE json_typeof(doc.steps)
      WHEN 'object' THEN doc.steps -> g.step
      WHEN 'array' THEN (SELECT s FROM json_array_elements(doc.steps) s WHERE s ->> 'id' = g.step LIMIT 1)
    END AS written -- the step as it stands in the document
  FROM (
    SELECT
      r.shard AS shard,
      r.namespace AS namespace,
      r.id AS run,
      r.workflow AS workflow,
      r.version AS version,
      r.ended_at AS run_ended_at,
      e.entity AS entity,
      j.body ->> 'step' AS step,
      max(e.seq) AS last_seq,
      max(e.seq) FILTER (
        WHERE e.type IN ('StepGranted', 'WaitStarted') OR (j.body ->> 'started_at')::float8 > 0
      ) AS began_seq,
      max(e.seq) FILTER (WHERE j.body ->> 'worker' <> '') AS held_seq,
      -- RetryScheduled names the attempt to come, which may never be made.
      max(CASE WHEN e.type <> 'RetryScheduled' THEN coalesce((j.body ->> 'attempt')::int, 1) ELSE 1 END) AS attempts,
      max(CASE WHEN e.type = 'WaitStarted' THEN 'wait' END) AS waits
    FROM runs r
    JOIN events e ON e.shard = r.shard AND e.entity = 'run/' || r.namespace || '/' || r.id
    CROSS JOIN LATERAL (SELECT as_json(e.body) AS body OFFSET 0) j
    WHERE e.type IN (
        'StepQueued', 'StepGranted', 'WaitStarted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost',
        'RetryScheduled', 'StepFailed'
      )
      AND j.body IS NOT NULL
    GROUP BY r.shard, r.namespace, r.id, e.entity, j.body ->> 'step'
  ) g
  JOIN events last ON last.shard = g.shard AND last.entity = g.entity AND last.seq = g.last_seq
  LEFT JOIN events began ON began.shard = g.shard AND began.entity = g.entity AND began.seq = g.began_seq
  LEFT JOIN events held ON held.shard = g.shard AND held.entity = g.entity AND held.seq = g.held_seq
  -- Documents lie in the shard of their workflow, which is not that of the run.
  LEFT JOIN documents d ON d.namespace = g.namespace AND d.id = g.workflow AND d.version = g.version
  -- Runs of version 0 have it in their first event.
  LEFT JOIN events brought ON g.version = 0
    AND brought.shard = g.shard AND brought.entity = g.entity AND brought.seq = 1
  CROSS JOIN LATERAL (
    SELECT coalesce(as_json(d.body), as_json(brought.body) -> 'document') -> 'steps' AS steps OFFSET 0
  ) doc
) found;
