-- Workers that are connected to a node, or were a moment ago, and what is set for all nodes while they run.
CREATE TABLE workers (
  session TEXT PRIMARY KEY, -- one life of its process
  worker TEXT NOT NULL,
  node TEXT NOT NULL,
  "by" TEXT NOT NULL,
  address TEXT NOT NULL,
  at REAL NOT NULL,
  facts BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster_settings (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  body BLOB NOT NULL,
  at REAL NOT NULL,
  "by" TEXT NOT NULL
) STRICT, WITHOUT ROWID;
