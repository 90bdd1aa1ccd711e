-- What is kept beside the journal, and belongs to no shard.

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL, -- of its secret, which is kept nowhere
  role TEXT NOT NULL,
  namespace TEXT NOT NULL, -- '*': all of them
  name TEXT NOT NULL,
  created_at REAL NOT NULL,
  created_by TEXT NOT NULL,
  expires_at REAL,
  revoked_at REAL,
  used_at REAL
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  key TEXT NOT NULL, -- which key sealed it
  sealed BLOB NOT NULL,
  version INTEGER NOT NULL,
  updated_at REAL NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  namespace TEXT NOT NULL,
  workflow TEXT NOT NULL, -- '': any
  url TEXT NOT NULL,
  "on" TEXT NOT NULL, -- JSON
  key TEXT NOT NULL,
  sealed BLOB NOT NULL,
  created_at REAL NOT NULL,
  created_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who did what. A number is never given twice, even if all before it were deleted.
CREATE TABLE audit (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  at REAL NOT NULL,
  who TEXT NOT NULL,
  role TEXT NOT NULL,
  namespace TEXT NOT NULL,
  act TEXT NOT NULL,
  thing TEXT NOT NULL, -- kind/id
  address TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  detail TEXT NOT NULL,
  request TEXT NOT NULL
) STRICT;

CREATE INDEX audit_of_namespace ON audit (namespace, n);
CREATE INDEX audit_by_age ON audit (at);
