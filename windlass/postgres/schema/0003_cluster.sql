-- Who is alive, and who may write which shard.
--
-- What changes members or owners is a function here, so that it is one statement for whoever asks: no transaction
-- waits for its client. All of them lock the row of `cluster` first, and happen one after the other; then nodes,
-- then shards in their order. A beat touches nothing but the row of its own node, and an append only shards.
-- A later schema leaves these functions as they are, for programs that still call them.

CREATE TABLE cluster ( -- exactly one row, written once
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  name text NOT NULL,
  shards int NOT NULL,
  strategy text NOT NULL, -- how an id becomes a shard
  secret text NOT NULL, -- what nodes prove to each other
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE nodes ( -- the living, and those that died of late
  id text PRIMARY KEY, -- one life of a node
  name text NOT NULL,
  engine boolean NOT NULL, -- it may own shards
  state text NOT NULL CHECK (state IN ('up', 'leaving', 'dead')),
  beat bigint NOT NULL,
  beaten_at float8 NOT NULL, -- seconds since 1970 by this server's clock; for people, nothing is decided by it
  load json NOT NULL,
  member json NOT NULL -- the rest, as it has described itself
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX nodes_alive ON nodes (name) WHERE state <> 'dead';

CREATE TABLE plan ( -- exactly one row, made with that of `cluster`
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  round bigint NOT NULL,
  body text NOT NULL -- JSON
);

CREATE TABLE cluster_events ( -- what happened, for people to read; the older ones are deleted
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type text NOT NULL,
  at float8 NOT NULL,
  body jsonb NOT NULL
);

CREATE INDEX cluster_events_by_type ON cluster_events (type, number);

CREATE FUNCTION now_s() RETURNS float8 LANGUAGE sql VOLATILE AS
  'SELECT extract(epoch FROM clock_timestamp())::float8';

-- Write down what happened; without a time, it happened now.
CREATE FUNCTION tell(what text, happened_at float8, about jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  newest bigint;
BEGIN
  INSERT INTO cluster_events (type, at, body)
  VALUES (what, coalesce(nullif(happened_at, 0), now_s()), about) RETURNING number INTO newest;
  IF newest % 100 = 0 THEN
    DELETE FROM cluster_events WHERE number <= newest - 10000 OR at < now_s() - 30 * 86400;
  END IF;
END $$;

CREATE FUNCTION tell_of_member(who text, became text, why text) RETURNS void LANGUAGE sql AS $$
  SELECT tell('member', 0, jsonb_build_object('node', who, 'status', became, 'reason', why))
$$;

-- What lives in these shards: runs that are not settled, and workflows whose newest version is not deleted.
CREATE FUNCTION living(wanted int[]) RETURNS TABLE (shard int, kind text, namespace text, id text)
LANGUAGE sql STABLE AS $$
  SELECT r.shard, 'run', r.namespace, r.id FROM runs r WHERE r.shard = ANY (wanted) AND NOT r.settled
  UNION ALL
  SELECT d.shard, 'workflow', d.namespace, d.id FROM documents d
  WHERE d.shard = ANY (wanted) AND NOT d.deleted AND NOT EXISTS (
    SELECT FROM documents n
    WHERE n.shard = d.shard AND n.namespace = d.namespace AND n.id = d.id AND n.version > d.version)
$$;

CREATE FUNCTION living_told(wanted int[]) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'entities', (SELECT count(*) FROM living(wanted)),
    'listed', (
      SELECT coalesce(jsonb_agg(l.kind || '/' || l.namespace || '/' || l.id), '[]') FROM (
        SELECT * FROM living(wanted)
        ORDER BY kind COLLATE "C", namespace COLLATE "C", id COLLATE "C" LIMIT 100
      ) l))
$$;

-- Take everything from a node; shards without an heir that may own them become nobody's.
CREATE FUNCTION hand_over(from_node text, wanted int[], heirs text[]) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  handed int[];
BEGIN
  PERFORM 1 FROM shards WHERE owner = from_node ORDER BY shard FOR NO KEY UPDATE;
  WITH heir AS (
    SELECT h.shard, n.id FROM unnest(wanted, heirs) h(shard, node)
    JOIN nodes n ON n.id = h.node AND n.state = 'up' AND n.engine
  ), changed AS (
    UPDATE shards s SET epoch = s.epoch + 1, owner = heir.id
    FROM shards old LEFT JOIN heir ON heir.shard = old.shard
    WHERE old.owner = from_node AND s.shard = old.shard
    RETURNING s.shard
  )
  SELECT coalesce(array_agg(shard), '{}') INTO handed FROM changed;
  RETURN handed;
END $$;

-- False: it has beaten since, is dead already, or never was.
CREATE FUNCTION bury_node(dead text, seen_beat bigint, wanted int[], heirs text[], why text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  gone record;
  lost int[];
  ended_at float8;
BEGIN
  PERFORM 1 FROM cluster FOR UPDATE;
  UPDATE nodes SET state = 'dead' WHERE id = dead AND state <> 'dead' AND beat = seen_beat
  RETURNING name, beaten_at INTO gone;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  lost := hand_over(dead, wanted, heirs);
  ended_at := now_s();
  PERFORM tell('failover', ended_at, living_told(lost) || jsonb_build_object(
    'node', gone.name, 'reason', why, 'started_at', gone.beaten_at,
    'downtime_s', greatest(ended_at - gone.beaten_at, 0)));
  PERFORM tell_of_member(gone.name, 'dead', why);
  RETURN true;
END $$;

-- NULL: it has joined. 'dead': this life was buried. Else the description of a living node that has the name.
CREATE FUNCTION join_cluster(
  new_id text, new_name text, is_engine boolean, first_beat bigint, first_load json, described json, sure text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  other record;
BEGIN
  PERFORM 1 FROM cluster FOR UPDATE;
  SELECT state INTO other FROM nodes WHERE id = new_id;
  IF FOUND THEN -- asked again, because the first answer got lost
    RETURN CASE WHEN other.state = 'dead' THEN 'dead' END;
  END IF;
  SELECT id, beat, member INTO other FROM nodes WHERE name = new_name AND state <> 'dead' FOR UPDATE;
  IF FOUND THEN
    IF other.id IS DISTINCT FROM sure THEN
      RETURN other.member;
    END IF;
    PERFORM bury_node(other.id, other.beat, '{}', '{}', 'a new life of the node has taken its place');
  END IF;
  DELETE FROM nodes WHERE state = 'dead' AND beaten_at < now_s() - 3600;
  INSERT INTO nodes (id, name, engine, state, beat, beaten_at, load, member)
  VALUES (new_id, new_name, is_engine, 'up', first_beat, now_s(), first_load, CASE
    WHEN (described ->> 'started_at')::float8 > 0 THEN described
    ELSE (described::jsonb || jsonb_build_object('started_at', now_s()))::json END);
  PERFORM tell_of_member(new_name, 'joined', 'it came up at ' || (described ->> 'address'));
  RETURN NULL;
END $$;

-- Those that were nobody's until now.
CREATE FUNCTION take_shards(wanted int[], takers text[]) RETURNS SETOF shards LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM cluster FOR UPDATE;
  PERFORM 1 FROM shards WHERE shard = ANY (wanted) AND owner IS NULL ORDER BY shard FOR NO KEY UPDATE;
  RETURN QUERY UPDATE shards s SET epoch = s.epoch + 1, owner = n.id
    FROM unnest(wanted, takers) t(shard, node) JOIN nodes n ON n.id = t.node AND n.state = 'up' AND n.engine
    WHERE s.shard = t.shard AND s.owner IS NULL
    RETURNING s.*;
END $$;

-- The new epoch; NULL: it was not theirs at that epoch, or the target cannot own it.
CREATE FUNCTION give_shard(giver text, which int, known_epoch bigint, target text, why text, began_at float8)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  target_name text;
  new_epoch bigint;
BEGIN
  PERFORM 1 FROM cluster FOR UPDATE;
  SELECT name INTO target_name FROM nodes WHERE id = target AND state = 'up' AND engine;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  UPDATE shards SET epoch = epoch + 1, owner = target
  WHERE shard = which AND owner = giver AND epoch = known_epoch RETURNING epoch INTO new_epoch;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  PERFORM tell('migration', 0, living_told(ARRAY[which]) || jsonb_build_object(
    'source', (SELECT name FROM nodes WHERE id = giver), 'target', target_name, 'shard', which,
    'reason', why, 'started_at', began_at));
  RETURN new_epoch;
END $$;

CREATE FUNCTION withdraw_node(who text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  its_name text;
BEGIN
  PERFORM 1 FROM cluster FOR UPDATE;
  UPDATE nodes SET state = 'leaving' WHERE id = who AND state = 'up' RETURNING name INTO its_name;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM tell_of_member(its_name, 'leaving', 'it hands its shards over');
  RETURN true;
END $$;

CREATE FUNCTION leave_cluster(who text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  its_name text;
BEGIN
  PERFORM 1 FROM cluster FOR UPDATE;
  DELETE FROM nodes WHERE id = who AND state <> 'dead' RETURNING name INTO its_name;
  IF FOUND THEN
    PERFORM hand_over(who, '{}', '{}');
    PERFORM tell_of_member(its_name, 'left', 'it was stopped');
  END IF;
END $$;
