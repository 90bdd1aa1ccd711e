-- What a run waits for from outside, in its row: so that lists find those that wait for somebody. '': for nothing;
-- NULL: nobody has said yet.
ALTER TABLE runs ADD COLUMN waiting_for TEXT DEFAULT '';

CREATE INDEX runs_waiting ON runs (namespace, started_at, id) WHERE waiting_for <> '';

-- Those that sleep, and may be waiting, are read when their shard is opened; all others that are at work are, anyway.
UPDATE runs SET waiting_for = NULL
WHERE settled = 0 AND asleep = 1 AND (
  EXISTS (
    SELECT 1 FROM events e
    WHERE e.shard = runs.shard AND e.entity = 'run/' || runs.namespace || '/' || runs.id AND e.type = 'StepAwaits')
  OR EXISTS (
    SELECT 1 FROM snapshots s
    WHERE s.shard = runs.shard AND s.entity = 'run/' || runs.namespace || '/' || runs.id
      AND s.body LIKE '%"awaiting"%'));
