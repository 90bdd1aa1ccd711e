-- History in plain SQL, under the names and in the words of the older system. Nothing here is read by the engine.
-- min_reader: 1

-- The text as JSON; NULL where PostgreSQL can make nothing of it, so that one such row does not hide the others.
CREATE FUNCTION as_json(given text) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  PERFORM given::jsonb; -- which is stricter: json would take \u0000 here, and fail when it is read
  RETURN given::json;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

CREATE FUNCTION as_time(seconds float8) RETURNS text LANGUAGE sql STABLE STRICT AS $$
  SELECT to_char(to_timestamp(seconds) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- One row per run. `wf_context` is what its steps share now: what it was started with, then what steps added,
-- key by key, the later one winning. It is gone, like the events it is made of, when the run is purged.
CREATE VIEW workflow_build_history AS
SELECT
  r.id AS id,
  r.namespace AS namespace,
  r.workflow AS work_flow_id,
  as_time(r.started_at) AS start_time,
  as_time(r.ended_at) AS end_time,
  CASE r.status
    WHEN 'queued' THEN 'WAITING'
    WHEN 'running' THEN 'RUNNING'
    WHEN 'paused' THEN 'RUNNING'
    WHEN 'succeeded' THEN 'SUCCEED'
    WHEN 'partial_success' THEN 'PARTIAL_SUCCESS'
    WHEN 'failed' THEN 'FAILED'
    WHEN 'cancelled' THEN 'STOPPED'
    WHEN 'stuck' THEN 'FAILED'
  END AS instance_status,
  CASE r.status
    WHEN 'succeeded' THEN 1
    WHEN 'partial_success' THEN 1
    WHEN 'failed' THEN -1
    WHEN 'stuck' THEN -1
    WHEN 'cancelled' THEN 3
    ELSE 2
  END AS state,
  'MANUAL' AS trigger_type,
  CASE WHEN NOT r.purged THEN coalesce((
    SELECT '{' || string_agg(to_json(found.key)::text || ':' || found.value, ',') || '}'
    FROM (
      SELECT DISTINCT ON (c.key) c.key AS key, c.value::text AS value
      FROM events e
      CROSS JOIN LATERAL (SELECT as_json(e.body) -> 'context' AS context OFFSET 0) j -- OFFSET 0: read it once
      CROSS JOIN LATERAL json_each(CASE WHEN json_typeof(j.context) = 'object' THEN j.context END) c
      WHERE e.shard = r.shard
        AND e.entity = 'run/' || r.namespace || '/' || r.id
        AND e.type IN ('RunStarted', 'StepSucceeded')
      ORDER BY c.key, e.seq DESC
    ) found
  ), '{}') END AS wf_context,
  r.version AS last_ver
FROM runs r;

-- One row per step that something has happened to. A step's events are folded in one pass to the numbers of the
-- ones that matter: its last, the last that says when it began, the last that names its worker.
CREATE VIEW dag_node_execution AS
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
    CASE json_typeof(as_json(d.body) -> 'steps')
      WHEN 'object' THEN as_json(d.body) -> 'steps' -> g.step
      WHEN 'array' THEN (
        SELECT s FROM json_array_elements(as_json(d.body) -> 'steps') s WHERE s ->> 'id' = g.step LIMIT 1
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
) found;
