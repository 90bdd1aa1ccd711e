-- Where programs outside may start runs, or send them signals: each with a secret of its own.
CREATE TABLE inbound_hooks (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  rule BLOB NOT NULL, -- JSON: what a delivery does
  key TEXT NOT NULL,
  sealed BLOB NOT NULL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
