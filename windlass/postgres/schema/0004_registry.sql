-- What is kept beside the journal, and belongs to no shard: any node reads and writes it. New tables only, so that
-- nodes that do not know them go on while they are made.
-- min_reader: 3

CREATE TABLE tokens (
  id text COLLATE "C" PRIMARY KEY,
  hash text NOT NULL, -- of its secret, which is kept nowhere
  role text NOT NULL,
  namespace text COLLATE "C" NOT NULL, -- '*': all of them
  name text NOT NULL,
  created_at float8 NOT NULL,
  created_by text NOT NULL,
  expires_at float8,
  revoked_at float8,
  used_at float8 -- changes often: in no index, and there is room for it on the page
) WITH (fillfactor = 70);

CREATE TABLE secrets (
  namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text NOT NULL, -- which key sealed it
  sealed bytea NOT NULL,
  version bigint NOT NULL,
  updated_at float8 NOT NULL,
  updated_by text NOT NULL,
  PRIMARY KEY (namespace, name)
);

CREATE TABLE webhooks (
  id text COLLATE "C" PRIMARY KEY,
  namespace text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL, -- '': any
  url text NOT NULL,
  "on" text[] NOT NULL,
  key text NOT NULL,
  sealed bytea NOT NULL,
  created_at float8 NOT NULL,
  created_by text NOT NULL
);

CREATE TABLE audit ( -- who did what
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at float8 NOT NULL,
  who text COLLATE "C" NOT NULL,
  role text NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  act text NOT NULL,
  thing text NOT NULL, -- kind/id
  address text NOT NULL,
  outcome bigint NOT NULL,
  detail text NOT NULL,
  request text NOT NULL
);

CREATE INDEX audit_of_namespace ON audit (namespace, n);
CREATE INDEX audit_by_age ON audit (at);
