-- Entities that are no runs and have something to do by themselves, or that lists show: workflows with a schedule,
-- limits. What a shard must wake when it opens is found here.
CREATE TABLE entities (
  shard INTEGER NOT NULL,
  kind TEXT NOT NULL,
  namespace TEXT NOT NULL,
  id TEXT NOT NULL,
  hash INTEGER NOT NULL,
  wake_at REAL,
  awake INTEGER NOT NULL,
  summary TEXT NOT NULL, -- JSON
  PRIMARY KEY (shard, kind, namespace, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX entities_by_id ON entities (kind, namespace, id);
CREATE INDEX entities_unsettled ON entities (shard, kind, namespace, id) WHERE awake = 1 OR wake_at IS NOT NULL;
