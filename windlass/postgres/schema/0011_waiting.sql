-- What a run waits for from outside, in its row: so that lists find those that wait for somebody.
-- min_reader: 1

-- '': for nothing; NULL: nobody has said yet, because an older program wrote the row.
ALTER TABLE runs ADD COLUMN waiting_for text COLLATE "C" DEFAULT '';

-- `shard` makes the order its own: see the other indexes of this table.
CREATE INDEX runs_waiting ON runs (namespace, started_at, id, shard) WHERE waiting_for <> '';

-- Who writes a row and says nothing of this, as `keep` does, says that the run waits for nothing. But programs that
-- know only `keep` do so for every run. Of one that they put to sleep, and so leave to whoever opens the shard next,
-- nobody has said; all others are read then anyway.
CREATE FUNCTION forget_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.waiting_for := CASE WHEN NEW.asleep AND NOT NEW.purged THEN NULL ELSE '' END;
  RETURN NEW;
END $$;

CREATE TRIGGER runs_forget_waiting BEFORE UPDATE ON runs FOR EACH ROW
  WHEN (OLD.waiting_for IS DISTINCT FROM '' AND NEW.waiting_for IS NOT DISTINCT FROM OLD.waiting_for)
  EXECUTE FUNCTION forget_waiting();

CREATE TYPE given_waiting AS (n int, namespace text, id text, waiting_for text);

-- `keep_with_entities`, and what the runs wait for with it: one statement, and so one transaction. Rows that say it
-- already are left alone.
CREATE FUNCTION keep_with_waiting(
  of_shards int[], epochs bigint[], waves int[],
  facts given_fact[], new_runs given_run[], new_labels given_label[], new_documents given_document[],
  new_snapshots given_snapshot[], lines given_line[], new_stuck given_stuck[],
  deletions given_deletion[], freed given_entity[], purged_runs given_purge[],
  new_notices given_notice[], delivered given_delivery[],
  new_entities given_entity_row[], entities_gone given_entity_gone[],
  new_waiting given_waiting[]
) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  kept int[] := keep_with_entities(
    of_shards, epochs, waves, facts, new_runs, new_labels, new_documents, new_snapshots, lines, new_stuck,
    deletions, freed, purged_runs, new_notices, delivered, new_entities, entities_gone);
  after int := 0;
  upto int;
BEGIN
  FOREACH upto IN ARRAY waves LOOP
    UPDATE runs r SET waiting_for = i.waiting_for FROM unnest(new_waiting) i
    WHERE i.n > after AND i.n <= upto AND r.shard = kept[i.n] AND r.namespace = i.namespace AND r.id = i.id
      AND NOT r.purged AND r.waiting_for IS DISTINCT FROM i.waiting_for;
    after := upto;
  END LOOP;
  RETURN kept;
END $$;
