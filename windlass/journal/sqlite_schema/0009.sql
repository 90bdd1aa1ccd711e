-- Code tasks in plain SQL, and the steps of runs that bring their own document. Nothing here is read by the engine.

-- One row per code task, which is a run of `windlass:task`; it says what `core/task_fold.py` says. How it ended is
-- told by the row of the run, and so even after its events were purged; the rest by the last attempt, `tried`. Until
-- a grant is recorded, moments after it was given, a task that is executed already is shown as SUBMITTED or RETRYING.
-- `error` is what the program said of it, `reason` why the task has ended so. `time_s` is empty where an older client
-- told it as text.
CREATE VIEW code_task AS
SELECT
  g.id AS task_id,
  g.namespace AS namespace,
  g.labels ->> '$."windlass:language"' AS language,
  started.body ->> '$.document.steps.code.with.version' AS version,
  CASE
    WHEN g.status IN ('succeeded', 'partial_success') THEN 'COMPLETED'
    WHEN g.status = 'cancelled' THEN 'CANCELLED'
    WHEN g.status = 'failed' THEN CASE
      WHEN g.error LIKE 'step code failed: TimeLimit: %' THEN 'TIMEOUT'
      WHEN g.error LIKE 'step code failed: Timeout: %' THEN 'TIMEOUT'
      WHEN g.error LIKE 'step code failed: TimeoutTotal: %' THEN 'TIMEOUT'
      ELSE 'FAILED'
    END
    WHEN g.tried_seq IS NULL THEN 'SUBMITTED'
    WHEN g.waits_seq > g.tried_seq THEN 'RETRYING'
    WHEN tried.type = 'StepGranted' THEN 'EXECUTING'
    ELSE 'FAILED' -- lost, and paused: nothing follows before it goes on
  END AS status,
  strftime('%Y-%m-%dT%H:%M:%fZ', g.started_at, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', g.queued_at, 'unixepoch') AS submitted_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(
    granted.at, nullif(tried.body ->> '$.started_at', 0), tried.at
  ), 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(g.ended_at, CASE
    WHEN tried.type = 'AttemptLost' AND g.tried_seq > coalesce(g.waits_seq, 0) THEN tried.at
  END), 'unixepoch') AS completed_at,
  CASE WHEN tried.seq IS NOT NULL THEN
    coalesce(granted.body ->> '$.worker', nullif(tried.body ->> '$.worker', ''), 'unknown')
  END AS client, -- of the last attempt, as is what follows
  g.attempts AS attempts,
  tried.body ->> '$.value.exitCode' AS exit_code,
  CASE WHEN tried.type <> 'StepGranted' THEN coalesce(
    nullif(tried.body ->> '$.value.stdout', ''), tried.body ->> '$.value.output', ''
  ) END AS output,
  CASE WHEN tried.type <> 'StepGranted' THEN coalesce(
    nullif(tried.body ->> '$.value.stderr', ''),
    nullif(tried.body ->> '$.value.error', ''),
    CASE WHEN tried.body ->> '$.failure.type' = 'CompileError' THEN nullif(tried.body ->> '$.failure.detail', '') END,
    tried.body ->> '$.failure.message',
    tried.body ->> '$.reason',
    ''
  ) END AS error,
  CASE WHEN json_type(tried.body, '$.value.timeS') IN ('integer', 'real') THEN
    tried.body ->> '$.value.timeS'
  END AS time_s,
  tried.body ->> '$.value.cpuS' AS cpu_s,
  tried.body ->> '$.value.peakBytes' AS peak_bytes,
  tried.body ->> '$.value.exceeded' AS exceeded,
  g.priority AS priority,
  CASE WHEN started.seq IS NOT NULL THEN coalesce(started.body -> '$.input.metadata', '{}') END AS metadata,
  nullif(g.error, '') AS reason
FROM (
  SELECT
    r.*,
    e.entity AS entity,
    min(CASE WHEN e.type = 'StepQueued' THEN e.at END) AS queued_at,
    max(CASE
      WHEN e.type IN ('StepQueued', 'RetryScheduled', 'StepParked', 'StepReleased') THEN e.seq
    END) AS waits_seq,
    max(CASE
      WHEN e.type IN ('StepGranted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost') THEN e.seq
    END) AS tried_seq,
    max(CASE WHEN e.type = 'StepGranted' THEN e.seq END) AS granted_seq,
    count(DISTINCT CASE
      WHEN e.type IN ('StepGranted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost') THEN e.body ->> '$.attempt'
    END) AS attempts
  FROM runs r
  LEFT JOIN events e
    ON e.shard = r.shard AND e.entity = 'run/' || r.namespace || '/' || r.id AND json_valid(e.body)
  WHERE r.workflow = 'windlass:task'
  GROUP BY r.shard, r.namespace, r.id
) g
LEFT JOIN events started
  ON started.shard = g.shard AND started.entity = g.entity AND started.seq = 1 AND json_valid(started.body)
LEFT JOIN events tried ON tried.shard = g.shard AND tried.entity = g.entity AND tried.seq = g.tried_seq
-- Of the same attempt; there is none where it ended before it was recorded.
LEFT JOIN events granted ON granted.shard = g.shard AND granted.entity = g.entity AND granted.seq = g.granted_seq
  AND granted.body ->> '$.attempt' = tried.body ->> '$.attempt';

DROP VIEW dag_node_execution;

-- One row per step that something has happened to. A step's events are folded in one pass to the numbers of the
-- ones that matter: its last, the last that says when it began, the last that names its worker.
CREATE VIEW dag_node_execution AS
SELECT
  run || '/' || step AS id,
  run AS workflow_instance_id,
  namespace AS namespace,
  step AS node_id,
  step AS node_name,
  CASE coalesce(written ->> '$.kind', waits) WHEN 'wait' THEN 'CONTROL' ELSE 'TASK' END AS node_type,
  coalesce(written ->> '$.kind', waits) AS task_name,
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
    WHEN 'StepSucceeded' THEN coalesce(body -> '$.value', 'null')
    WHEN 'StepFailed' THEN body -> '$.failure'
  END AS result,
  strftime('%Y-%m-%dT%H:%M:%fZ', began_at, 'unixepoch') AS start_time,
  strftime('%Y-%m-%dT%H:%M:%fZ', CASE
    WHEN type IN ('StepSucceeded', 'StepFailed') THEN at
    WHEN began_at IS NOT NULL THEN run_ended_at
  END, 'unixepoch') AS finished_time,
  coalesce(written ->> '$.on_failure', body ->> '$.policy', 'fail') = 'skip' AS skip_when_failed,
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
    last.body,
    coalesce(began.body ->> '$.started_at', began.at) AS began_at,
    held.body ->> '$.worker' AS worker,
    (
      SELECT max(t.seq) FROM events t
      WHERE last.type = 'StepQueued' AND t.shard = g.shard AND t.entity = g.entity AND t.seq > g.last_seq
        AND (t.type = 'RunPaused' OR (t.type = 'StepFailed' AND t.body ->> '$.policy' = 'fail'))
    ) AS withdrawn_seq,
    CASE json_type(coalesce(d.body, brought.body -> '$.document'), '$.steps')
      WHEN 'object' THEN coalesce(d.body, brought.body -> '$.document') -> ('$.steps."' || g.step || '"')
      WHEN 'array' THEN (
        SELECT s.value FROM json_each(coalesce(d.body, brought.body -> '$.document'), '$.steps') s
        WHERE s.value ->> '$.id' = g.step
      )
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
      e.body ->> '$.step' AS step,
      max(e.seq) AS last_seq,
      max(CASE
        WHEN e.type IN ('StepGranted', 'WaitStarted') OR e.body ->> '$.started_at' > 0 THEN e.seq
      END) AS began_seq,
      max(CASE WHEN e.body ->> '$.worker' <> '' THEN e.seq END) AS held_seq,
      -- RetryScheduled names the attempt to come, which may never be made.
      max(CASE WHEN e.type <> 'RetryScheduled' THEN coalesce(e.body ->> '$.attempt', 1) ELSE 1 END) AS attempts,
      max(CASE WHEN e.type = 'WaitStarted' THEN 'wait' END) AS waits
    FROM runs r
    JOIN events e ON e.shard = r.shard AND e.entity = 'run/' || r.namespace || '/' || r.id
    WHERE e.type IN (
        'StepQueued', 'StepGranted', 'WaitStarted', 'StepSucceeded', 'AttemptFailed', 'AttemptLost',
        'RetryScheduled', 'StepFailed'
      )
      AND json_valid(e.body)
    GROUP BY r.shard, r.namespace, r.id, e.body ->> '$.step'
  ) g
  JOIN events last ON last.shard = g.shard AND last.entity = g.entity AND last.seq = g.last_seq
  LEFT JOIN events began ON began.shard = g.shard AND began.entity = g.entity AND began.seq = g.began_seq
  LEFT JOIN events held ON held.shard = g.shard AND held.entity = g.entity AND held.seq = g.held_seq
  -- Documents lie in the shard of their workflow, which is not that of the run.
  LEFT JOIN documents d ON d.namespace = g.namespace AND d.id = g.workflow AND d.version = g.version
  -- Runs of version 0 have it in their first event.
  LEFT JOIN events brought ON g.version = 0
    AND brought.shard = g.shard AND brought.entity = g.entity AND brought.seq = 1 AND json_valid(brought.body)
);
