-- What is yet to be told to webhooks. It is kept in the same commit as what it tells of.
CREATE TABLE notices (
  shard INTEGER NOT NULL,
  id TEXT NOT NULL, -- the same however often it is told
  hook TEXT NOT NULL,
  namespace TEXT NOT NULL,
  workflow TEXT NOT NULL,
  run TEXT NOT NULL,
  what TEXT NOT NULL,
  at REAL NOT NULL,
  body TEXT NOT NULL, -- JSON, byte for byte as it is sent
  PRIMARY KEY (shard, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_by_age ON notices (shard, at, id);
