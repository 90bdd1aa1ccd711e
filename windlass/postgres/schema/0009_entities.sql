-- Entities that are no runs and have something to do by themselves, or that lists show: workflows with a schedule,
-- limits. What a shard must wake when it opens is found here.
-- min_reader: 1

CREATE TABLE entities (
  shard int NOT NULL,
  kind text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  hash bigint NOT NULL,
  wake_at float8 CHECK (wake_at <> 'NaN'),
  awake boolean NOT NULL,
  summary text NOT NULL, -- JSON, byte for byte as it was given
  PRIMARY KEY (shard, kind, namespace, id)
);

CREATE INDEX entities_by_id ON entities (kind, namespace, id);
CREATE INDEX entities_unsettled ON entities (shard, kind, namespace, id) WHERE awake OR wake_at IS NOT NULL;

CREATE TYPE given_entity_row AS (
  n int, kind text, namespace text, id text, hash bigint, wake_at float8, awake boolean, summary text
);
CREATE TYPE given_entity_gone AS (n int, kind text, namespace text, id text);

-- `keep_and_tell`, and entities with it: one statement, and so one transaction. The fence is locked when it returns,
-- and what it answers is still so when the entities are written.
CREATE FUNCTION keep_with_entities(
  of_shards int[], epochs bigint[], waves int[],
  facts given_fact[], new_runs given_run[], new_labels given_label[], new_documents given_document[],
  new_snapshots given_snapshot[], lines given_line[], new_stuck given_stuck[],
  deletions given_deletion[], freed given_entity[], purged_runs given_purge[],
  new_notices given_notice[], delivered given_delivery[],
  new_entities given_entity_row[], entities_gone given_entity_gone[]
) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  kept int[] := keep_and_tell(
    of_shards, epochs, waves, facts, new_runs, new_labels, new_documents, new_snapshots, lines, new_stuck,
    deletions, freed, purged_runs, new_notices, delivered);
  after int := 0;
  upto int;
BEGIN
  FOREACH upto IN ARRAY waves LOOP
    IF cardinality(new_entities) > 0 THEN
      INSERT INTO entities (shard, kind, namespace, id, hash, wake_at, awake, summary)
      SELECT kept[i.n], i.kind, i.namespace, i.id, i.hash, i.wake_at, i.awake, i.summary
      FROM unnest(new_entities) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
      ON CONFLICT (shard, kind, namespace, id) DO UPDATE SET
        wake_at = excluded.wake_at, awake = excluded.awake, summary = excluded.summary;
    END IF;

    IF cardinality(entities_gone) > 0 THEN
      DELETE FROM entities e USING unnest(entities_gone) i
      WHERE i.n > after AND i.n <= upto AND e.shard = kept[i.n]
        AND e.kind = i.kind AND e.namespace = i.namespace AND e.id = i.id;
    END IF;

    after := upto;
  END LOOP;
  RETURN kept;
END $$;
