-- The tables of the journal. `shard` leads every key of what belongs to a shard, so that the tables can be
-- distributed by it; beside it stands the 32-bit hash of the id, from which another number of shards could be
-- computed. Keys are compared byte by byte (COLLATE "C"): the same order everywhere, and the fastest.
-- min_reader: 1

-- The fence: whoever writes for a shard must know its epoch. An append locks the row, a claim changes it; nothing
-- else is ever kept here, because every change of the row makes appends wait.
CREATE TABLE shards (
  shard int PRIMARY KEY,
  epoch bigint NOT NULL,
  owner text -- one life of a node; NULL: nobody's
) WITH (fillfactor = 50);

CREATE TABLE events (
  shard int NOT NULL,
  entity text COLLATE "C" NOT NULL, -- kind/namespace/id
  seq bigint NOT NULL,
  hash bigint NOT NULL,
  at float8 NOT NULL CHECK (at <> 'NaN'), -- seconds since 1970, as every time here
  type text NOT NULL,
  version bigint NOT NULL,
  body text NOT NULL, -- JSON, byte for byte as it was given
  PRIMARY KEY (shard, entity, seq)
);

CREATE TABLE snapshots (
  shard int NOT NULL,
  entity text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  hash bigint NOT NULL,
  version bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (shard, entity, seq)
);

CREATE TABLE runs (
  shard int NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash bigint NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  started_at float8 NOT NULL CHECK (started_at <> 'NaN'),
  ended_at float8,
  priority bigint NOT NULL,
  labels text NOT NULL, -- JSON
  request_hash text NOT NULL,
  error text NOT NULL,
  settled boolean NOT NULL,
  asleep boolean NOT NULL,
  wake_at float8,
  purged boolean NOT NULL,
  PRIMARY KEY (shard, namespace, id)
);

-- Lists are walked backwards, newest first, and each of these indexes has its own place for NULLs (of which there
-- are none). So a question that names that order can be answered by one index only. Left to choose, the planner
-- takes an index with fewer columns when most runs fit, and then walks through all that have come since.
CREATE INDEX runs_newest ON runs (namespace, started_at NULLS FIRST, id NULLS FIRST);
CREATE INDEX runs_of_workflow ON runs (namespace, workflow, started_at NULLS FIRST, id NULLS LAST);
CREATE INDEX runs_by_status ON runs (namespace, status, started_at NULLS LAST, id NULLS FIRST);
CREATE INDEX runs_of_workflow_by_status
  ON runs (namespace, workflow, status, started_at NULLS LAST, id NULLS LAST);
CREATE INDEX runs_unsettled ON runs (shard, started_at, namespace, id) WHERE NOT settled;
CREATE INDEX runs_expired ON runs (shard, ended_at, namespace, id) WHERE settled AND NOT purged;

-- One row per label of a run: how runs are found by label.
CREATE TABLE labels (
  shard int NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL, -- of the run
  key text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  started_at float8 NOT NULL, -- of the run
  PRIMARY KEY (shard, namespace, id, key)
);

CREATE INDEX labels_newest ON labels (namespace, key, value, started_at, id);

CREATE TABLE documents (
  shard int NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  hash bigint NOT NULL,
  document_hash text NOT NULL,
  body text NOT NULL, -- JSON
  at float8 NOT NULL CHECK (at <> 'NaN'),
  created_at float8 NOT NULL CHECK (created_at <> 'NaN'),
  deleted boolean NOT NULL,
  PRIMARY KEY (shard, namespace, id, version)
);

CREATE INDEX documents_by_id ON documents (namespace, id, version);

CREATE TABLE stuck (
  shard int NOT NULL,
  entity text COLLATE "C" NOT NULL,
  hash bigint NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  since float8 NOT NULL CHECK (since <> 'NaN'),
  error text NOT NULL,
  PRIMARY KEY (shard, entity)
);

CREATE INDEX stuck_by_age ON stuck (namespace, since, entity);

-- What steps print, line by line. Deleted with the events of its run.
CREATE TABLE logs (
  shard int NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL, -- of the run
  n bigint NOT NULL, -- 1, 2, 3 … per run
  hash bigint NOT NULL,
  at float8 NOT NULL CHECK (at <> 'NaN'),
  step text NOT NULL,
  attempt bigint NOT NULL,
  stream text NOT NULL, -- stdout, stderr; system: Windlass itself
  text text NOT NULL,
  PRIMARY KEY (shard, namespace, id, n)
);

CREATE TABLE settings (
  name text PRIMARY KEY,
  value text NOT NULL
);

-- What `keep` is given. In each row, n is the number of its group, from 1.
CREATE TYPE given_fact AS (
  n int, entity text, seq bigint, hash bigint, at float8, type text, version bigint, body text
);
CREATE TYPE given_run AS (
  n int, namespace text, id text, hash bigint, workflow text, version bigint, status text, started_at float8,
  ended_at float8, priority bigint, labels text, request_hash text, error text, settled boolean,
  asleep boolean, wake_at float8, purged boolean
);
CREATE TYPE given_label AS (n int, namespace text, id text, key text, value text, started_at float8);
CREATE TYPE given_document AS (
  n int, namespace text, id text, version bigint, hash bigint, document_hash text, body text, at float8,
  created_at float8, deleted boolean
);
CREATE TYPE given_snapshot AS (n int, entity text, seq bigint, hash bigint, version bigint, body text);
CREATE TYPE given_line AS (
  n int, namespace text, id text, line bigint, hash bigint, at float8, step text, attempt bigint, stream text,
  text text
);
CREATE TYPE given_stuck AS (
  n int, entity text, hash bigint, namespace text, since float8, error text
);
CREATE TYPE given_deletion AS (n int, entity text, seq bigint);
CREATE TYPE given_entity AS (n int, entity text);
CREATE TYPE given_purge AS (n int, entity text, namespace text, id text); -- namespace and id only of runs

-- The append: the groups whose epoch is still their shard's own are kept, all of each, and their shards are
-- answered in the groups' order, NULL for those that are fenced.
--
-- The first statement locks the rows of the fence, in the order of shards. It waits for a claim that is under
-- way, and then sees what that claim wrote; and every statement after it takes a new snapshot. So nobody with an
-- older epoch writes anything after the claim was answered. A function, so that all of it is sent whole: no
-- transaction waits for its client.
--
-- `waves` has the last group of each wave. Within a wave everything is inserted before anything is removed, and
-- no row is given twice that replaces another.
--
-- A later schema leaves this function as it is, for programs that still call it, and adds one of another name.
CREATE FUNCTION keep(
  of_shards int[], epochs bigint[], waves int[],
  facts given_fact[], new_runs given_run[], new_labels given_label[], new_documents given_document[],
  new_snapshots given_snapshot[], lines given_line[], new_stuck given_stuck[],
  deletions given_deletion[], freed given_entity[], purged_runs given_purge[]
) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  kept int[]; -- per group its shard; NULL: fenced
  after int := 0; -- the last group of the wave before
  upto int; -- the last group of this wave
  expected int;
  changed int;
BEGIN
  SELECT array_agg(fence.shard ORDER BY g.n) INTO kept
  FROM unnest(of_shards, epochs) WITH ORDINALITY AS g (shard, epoch, n)
  LEFT JOIN (
    SELECT s.shard, s.epoch FROM shards s WHERE s.shard = ANY (of_shards) ORDER BY s.shard FOR SHARE
  ) AS fence ON fence.shard = g.shard AND fence.epoch = g.epoch;

  FOREACH upto IN ARRAY waves LOOP
    IF cardinality(facts) > 0 THEN
      INSERT INTO events (shard, entity, seq, hash, at, type, version, body)
      SELECT kept[i.n], i.entity, i.seq, i.hash, i.at, i.type, i.version, i.body
      FROM unnest(facts) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL;
    END IF;

    IF cardinality(new_runs) > 0 THEN
      -- A run never changes its workflow, start or labels. Should it do so all the same, its labels are
      -- written anew.
      SELECT count(*) INTO expected
      FROM unnest(new_runs) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL;
      INSERT INTO runs AS r (
        shard, namespace, id, hash, workflow, version, status, started_at, ended_at, priority, labels,
        request_hash, error, settled, asleep, wake_at, purged
      )
      SELECT
        kept[i.n], i.namespace, i.id, i.hash, i.workflow, i.version, i.status, i.started_at, i.ended_at,
        i.priority, i.labels, i.request_hash, i.error, i.settled, i.asleep, i.wake_at, i.purged
      FROM unnest(new_runs) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
      ON CONFLICT (shard, namespace, id) DO UPDATE SET
        version = excluded.version, status = excluded.status, ended_at = excluded.ended_at,
        priority = excluded.priority, request_hash = excluded.request_hash, error = excluded.error,
        settled = excluded.settled, asleep = excluded.asleep, wake_at = excluded.wake_at,
        purged = excluded.purged
      WHERE r.workflow = excluded.workflow AND r.started_at = excluded.started_at
        AND r.labels = excluded.labels;
      GET DIAGNOSTICS changed = ROW_COUNT;
      IF changed < expected THEN
        DELETE FROM labels l USING unnest(new_runs) i
        WHERE i.n > after AND i.n <= upto AND l.shard = kept[i.n] AND l.namespace = i.namespace AND l.id = i.id;
        UPDATE runs r SET
          workflow = i.workflow, version = i.version, status = i.status, started_at = i.started_at,
          ended_at = i.ended_at, priority = i.priority, labels = i.labels, request_hash = i.request_hash,
          error = i.error, settled = i.settled, asleep = i.asleep, wake_at = i.wake_at, purged = i.purged
        FROM unnest(new_runs) i
        WHERE i.n > after AND i.n <= upto AND r.shard = kept[i.n] AND r.namespace = i.namespace AND r.id = i.id;
      END IF;
      IF cardinality(new_labels) > 0 THEN
        INSERT INTO labels (shard, namespace, id, key, value, started_at)
        SELECT kept[i.n], i.namespace, i.id, i.key, i.value, i.started_at
        FROM unnest(new_labels) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
        ON CONFLICT DO NOTHING;
      END IF;
    END IF;

    IF cardinality(new_snapshots) > 0 THEN
      INSERT INTO snapshots (shard, entity, seq, hash, version, body)
      SELECT kept[i.n], i.entity, i.seq, i.hash, i.version, i.body
      FROM unnest(new_snapshots) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
      ON CONFLICT (shard, entity, seq) DO UPDATE SET version = excluded.version, body = excluded.body;
      DELETE FROM snapshots s USING unnest(new_snapshots) i
      WHERE i.n > after AND i.n <= upto AND s.shard = kept[i.n] AND s.entity = i.entity AND s.seq < (
        SELECT k.seq FROM snapshots k WHERE k.shard = s.shard AND k.entity = s.entity
        ORDER BY k.seq DESC OFFSET 1 LIMIT 1);
    END IF;

    IF cardinality(lines) > 0 THEN
      INSERT INTO logs (shard, namespace, id, n, hash, at, step, attempt, stream, text)
      SELECT kept[i.n], i.namespace, i.id, i.line, i.hash, i.at, i.step, i.attempt, i.stream, i.text
      FROM unnest(lines) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL;
    END IF;

    IF cardinality(new_documents) > 0 THEN
      INSERT INTO documents (
        shard, namespace, id, version, hash, document_hash, body, at, created_at, deleted
      )
      SELECT
        kept[i.n], i.namespace, i.id, i.version, i.hash, i.document_hash, i.body, i.at, i.created_at, i.deleted
      FROM unnest(new_documents) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
      ON CONFLICT (shard, namespace, id, version) DO UPDATE SET
        document_hash = excluded.document_hash, body = excluded.body, at = excluded.at,
        created_at = excluded.created_at, deleted = excluded.deleted;
    END IF;

    IF cardinality(new_stuck) > 0 THEN
      INSERT INTO stuck (shard, entity, hash, namespace, since, error)
      SELECT kept[i.n], i.entity, i.hash, i.namespace, i.since, i.error
      FROM unnest(new_stuck) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
      ON CONFLICT (shard, entity) DO UPDATE SET since = excluded.since, error = excluded.error;
    END IF;

    IF cardinality(deletions) > 0 THEN
      DELETE FROM events e USING unnest(deletions) i
      WHERE i.n > after AND i.n <= upto AND e.shard = kept[i.n] AND e.entity = i.entity AND e.seq <= i.seq;
    END IF;

    IF cardinality(freed) > 0 THEN
      DELETE FROM stuck s USING unnest(freed) i
      WHERE i.n > after AND i.n <= upto AND s.shard = kept[i.n] AND s.entity = i.entity;
    END IF;

    IF cardinality(purged_runs) > 0 THEN
      DELETE FROM events e USING unnest(purged_runs) i
      WHERE i.n > after AND i.n <= upto AND e.shard = kept[i.n] AND e.entity = i.entity;
      DELETE FROM snapshots s USING unnest(purged_runs) i
      WHERE i.n > after AND i.n <= upto AND s.shard = kept[i.n] AND s.entity = i.entity;
      DELETE FROM logs l USING unnest(purged_runs) i
      WHERE i.n > after AND i.n <= upto AND l.shard = kept[i.n] AND l.namespace = i.namespace AND l.id = i.id;
      UPDATE runs r SET purged = true FROM unnest(purged_runs) i
      WHERE i.n > after AND i.n <= upto AND r.shard = kept[i.n] AND r.namespace = i.namespace AND r.id = i.id;
    END IF;

    after := upto;
  END LOOP;
  RETURN kept;
END $$;
