-- Workers that are connected to a node, or were a moment ago, and what is set for all nodes while they run. New
-- tables only, so that nodes that do not know them go on while they are made.
-- min_reader: 1

CREATE TABLE workers (
  session text COLLATE "C" PRIMARY KEY, -- one life of its process
  worker text NOT NULL,
  node text NOT NULL,
  "by" text NOT NULL,
  address text NOT NULL,
  at float8 NOT NULL, -- changes often: in no index, and there is room for it on the page
  facts bytea NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE cluster_settings (
  name text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  body bytea NOT NULL,
  at float8 NOT NULL,
  "by" text NOT NULL
);
