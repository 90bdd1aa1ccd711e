-- Where programs outside may start runs, or send them signals: each with a secret of its own. A new table only, so
-- that nodes that do not know it go on while it is made.
-- min_reader: 1

CREATE TABLE inbound_hooks (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  rule bytea NOT NULL, -- JSON: what a delivery does
  key text NOT NULL,
  sealed bytea NOT NULL,
  created_at float8 NOT NULL,
  updated_at float8 NOT NULL,
  updated_by text NOT NULL,
  PRIMARY KEY (namespace, name)
);
