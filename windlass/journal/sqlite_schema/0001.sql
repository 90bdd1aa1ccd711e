-- The tables. `shard` leads every key of what belongs to a shard, so that one shard's rows lie together; beside
-- it stands the 32-bit hash of the id, from which another number of shards could be computed.

PRAGMA application_id = 0x57494e44; -- "WIND": says whose file this is

CREATE TABLE migrations (
  version INTEGER PRIMARY KEY,
  applied_at TEXT NOT NULL
) STRICT;

-- The fence: whoever writes for a shard must know its epoch.
CREATE TABLE shards (
  shard INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
  shard INTEGER NOT NULL,
  entity TEXT NOT NULL, -- kind/namespace/id
  seq INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  at REAL NOT NULL, -- seconds since 1970, as every time here
  type TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL, -- JSON
  PRIMARY KEY (shard, entity, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshots (
  shard INTEGER NOT NULL,
  entity TEXT NOT NULL,
  seq INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (shard, entity, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  shard INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  id TEXT NOT NULL,
  hash INTEGER NOT NULL,
  workflow TEXT NOT NULL,
  version INTEGER NOT NULL,
  status TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  priority INTEGER NOT NULL,
  labels TEXT NOT NULL, -- JSON
  request_hash TEXT NOT NULL,
  error TEXT NOT NULL,
  settled INTEGER NOT NULL,
  asleep INTEGER NOT NULL,
  wake_at REAL,
  purged INTEGER NOT NULL,
  PRIMARY KEY (shard, namespace, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_newest ON runs (namespace, started_at, id);
CREATE INDEX runs_of_workflow ON runs (namespace, workflow, started_at, id);
CREATE INDEX runs_by_status ON runs (namespace, status, started_at, id);
CREATE INDEX runs_unsettled ON runs (shard, started_at, namespace, id) WHERE settled = 0;
CREATE INDEX runs_expired ON runs (shard, ended_at, namespace, id) WHERE settled = 1 AND purged = 0;

-- One row per label of a run: how runs are found by label.
CREATE TABLE labels (
  namespace TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  started_at REAL NOT NULL,
  id TEXT NOT NULL,
  shard INTEGER NOT NULL,
  PRIMARY KEY (namespace, key, value, started_at, id, shard)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
  shard INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  id TEXT NOT NULL,
  version INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  document_hash TEXT NOT NULL,
  body TEXT NOT NULL, -- JSON
  at REAL NOT NULL,
  created_at REAL NOT NULL,
  deleted INTEGER NOT NULL,
  PRIMARY KEY (shard, namespace, id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX documents_by_id ON documents (namespace, id, version);

CREATE TABLE stuck (
  shard INTEGER NOT NULL,
  entity TEXT NOT NULL,
  hash INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  since REAL NOT NULL,
  error TEXT NOT NULL,
  PRIMARY KEY (shard, entity)
) STRICT, WITHOUT ROWID;

CREATE INDEX stuck_by_age ON stuck (namespace, since, entity);

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
