-- Runs that slept when rows began to tell what runs wait for: nobody has said it of those that may be waiting. They
-- are read when their shard is opened. In a file of its own: it may take a while, and must not hold the table.
-- min_reader: 1

UPDATE runs r SET waiting_for = NULL
WHERE NOT r.settled AND r.asleep AND r.waiting_for = '' AND (
  EXISTS (
    SELECT 1 FROM events e
    WHERE e.shard = r.shard AND e.entity = 'run/' || r.namespace || '/' || r.id AND e.type = 'StepAwaits')
  OR EXISTS (
    SELECT 1 FROM snapshots s
    WHERE s.shard = r.shard AND s.entity = 'run/' || r.namespace || '/' || r.id AND s.body LIKE '%"awaiting"%'));
