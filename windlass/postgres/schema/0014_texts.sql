-- The YAML of a version as somebody wrote it, with its comments.
-- min_reader: 1

ALTER TABLE documents ADD COLUMN text text NOT NULL DEFAULT ''; -- '': it came as JSON, or before texts were kept

CREATE TYPE given_text AS (n int, namespace text, id text, version bigint, text text);

-- `keep_with_waiting`, and the texts of documents with it: one statement, and so one transaction.
CREATE FUNCTION keep_with_texts(
  of_shards int[], epochs bigint[], waves int[],
  facts given_fact[], new_runs given_run[], new_labels given_label[], new_documents given_document[],
  new_snapshots given_snapshot[], lines given_line[], new_stuck given_stuck[],
  deletions given_deletion[], freed given_entity[], purged_runs given_purge[],
  new_notices given_notice[], delivered given_delivery[],
  new_entities given_entity_row[], entities_gone given_entity_gone[],
  new_waiting given_waiting[], new_texts given_text[]
) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  kept int[] := keep_with_waiting(
    of_shards, epochs, waves, facts, new_runs, new_labels, new_documents, new_snapshots, lines, new_stuck,
    deletions, freed, purged_runs, new_notices, delivered, new_entities, entities_gone, new_waiting);
  after int := 0;
  upto int;
BEGIN
  FOREACH upto IN ARRAY waves LOOP
    UPDATE documents d SET text = i.text FROM unnest(new_texts) i
    WHERE i.n > after AND i.n <= upto AND d.shard = kept[i.n]
      AND d.namespace = i.namespace AND d.id = i.id AND d.version = i.version AND d.text <> i.text;
    after := upto;
  END LOOP;
  RETURN kept;
END $$;
