-- What steps print, line by line. Deleted with the events of its run.
CREATE TABLE logs (
  shard INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  id TEXT NOT NULL, -- of the run
  n INTEGER NOT NULL, -- 1, 2, 3 … per run
  at REAL NOT NULL,
  step TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  stream TEXT NOT NULL, -- stdout, stderr; system: Windlass itself
  text TEXT NOT NULL,
  PRIMARY KEY (shard, namespace, id, n)
) STRICT, WITHOUT ROWID;
