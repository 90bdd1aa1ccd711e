-- What is yet to be told to webhooks. It is kept in the same append as what it tells of, under the same fence.
-- min_reader: 1

CREATE TABLE notices (
  shard int NOT NULL,
  id text COLLATE "C" NOT NULL, -- the same however often it is told
  hook text NOT NULL,
  namespace text NOT NULL,
  workflow text NOT NULL,
  run text NOT NULL,
  what text NOT NULL,
  at float8 NOT NULL CHECK (at <> 'NaN'),
  body text NOT NULL, -- JSON, byte for byte as it is sent
  PRIMARY KEY (shard, id)
);

CREATE INDEX notices_by_age ON notices (shard, at, id);

CREATE TYPE given_notice AS (
  n int, id text, hook text, namespace text, workflow text, run text, what text, at float8, body text
);
CREATE TYPE given_delivery AS (n int, id text);

-- `keep`, and notices with it: one statement, and so one transaction. `keep` has locked the fence when it returns,
-- and what it answers is still so when the notices are written.
CREATE FUNCTION keep_and_tell(
  of_shards int[], epochs bigint[], waves int[],
  facts given_fact[], new_runs given_run[], new_labels given_label[], new_documents given_document[],
  new_snapshots given_snapshot[], lines given_line[], new_stuck given_stuck[],
  deletions given_deletion[], freed given_entity[], purged_runs given_purge[],
  new_notices given_notice[], delivered given_delivery[]
) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  kept int[] := keep(
    of_shards, epochs, waves, facts, new_runs, new_labels, new_documents, new_snapshots, lines, new_stuck,
    deletions, freed, purged_runs);
  after int := 0;
  upto int;
BEGIN
  FOREACH upto IN ARRAY waves LOOP
    IF cardinality(new_notices) > 0 THEN
      INSERT INTO notices (shard, id, hook, namespace, workflow, run, what, at, body)
      SELECT kept[i.n], i.id, i.hook, i.namespace, i.workflow, i.run, i.what, i.at, i.body
      FROM unnest(new_notices) i WHERE i.n > after AND i.n <= upto AND kept[i.n] IS NOT NULL
      ON CONFLICT DO NOTHING;
    END IF;

    IF cardinality(delivered) > 0 THEN
      DELETE FROM notices t USING unnest(delivered) i
      WHERE i.n > after AND i.n <= upto AND t.shard = kept[i.n] AND t.id = i.id;
    END IF;

    after := upto;
  END LOOP;
  RETURN kept;
END $$;
