-- When each shard last changed hands, and who had it before: for people who watch. A table of its own, because every
-- change of a row of `shards` makes appends wait; and a trigger, so that nodes that do not know of it write it, too.
-- min_reader: 1

CREATE TABLE shard_moves (
  shard int PRIMARY KEY,
  at float8 NOT NULL,
  source text, -- the name of the node that had it before; NULL: nobody, as far as is known
  holder text -- of the node that had it last: who leaves is no member any more when it is taken from it
);

CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Who takes what was nobody's for a moment has it from whoever had it before that.
  INSERT INTO shard_moves AS m (shard, at, source, holder)
  VALUES (
    NEW.shard, now_s(),
    (SELECT name FROM nodes WHERE id = OLD.owner), (SELECT name FROM nodes WHERE id = NEW.owner))
  ON CONFLICT (shard) DO UPDATE SET
    at = excluded.at,
    source = CASE WHEN OLD.owner IS NULL THEN m.source ELSE coalesce(excluded.source, m.holder) END,
    holder = coalesce(excluded.holder, m.holder);
  RETURN NULL;
END $$;

CREATE TRIGGER note_move AFTER UPDATE OF owner ON shards
FOR EACH ROW WHEN (OLD.owner IS DISTINCT FROM NEW.owner) EXECUTE FUNCTION note_move();
