"""Who wrote what, noted by PostgreSQL itself at the moment it happens; for tests only.

Every change of a shard's owner or epoch, and every event that is kept, leaves a row. The writer is the
process whose connection it was, not whom the fence takes it for: its URL carries the name.
"""

from __future__ import annotations

from typing import Final

from windlass.postgres import Place, connect

WRITER: Final = "windlass.writer"  # a setting of each connection

INSTALL: Final = f"""
CREATE TABLE audit_shards (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at float8 NOT NULL DEFAULT extract(epoch FROM clock_timestamp()),
  shard int NOT NULL,
  old_epoch bigint NOT NULL,
  epoch bigint NOT NULL,
  old_owner text,
  owner text,
  owner_name text,
  writer text
);
CREATE TABLE audit_events (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at float8 NOT NULL DEFAULT extract(epoch FROM clock_timestamp()),
  shard int NOT NULL,
  entity text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  type text NOT NULL,
  epoch bigint,
  writer text
);
CREATE FUNCTION audit_shard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit_shards (shard, old_epoch, epoch, old_owner, owner, owner_name, writer)
  VALUES (new.shard, old.epoch, new.epoch, old.owner, new.owner,
    (SELECT name FROM nodes WHERE id = new.owner), current_setting('{WRITER}', true));
  RETURN NULL;
END $$;
CREATE FUNCTION audit_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit_events (shard, entity, seq, type, epoch, writer)
  SELECT e.shard, e.entity, e.seq, e.type, s.epoch, current_setting('{WRITER}', true)
  FROM kept e LEFT JOIN shards s ON s.shard = e.shard;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_shard AFTER UPDATE ON shards FOR EACH ROW EXECUTE FUNCTION audit_shard();
CREATE TRIGGER audit_event AFTER INSERT ON events REFERENCING NEW TABLE AS kept
  FOR EACH STATEMENT EXECUTE FUNCTION audit_event();
"""


async def install(place: Place) -> None:
    cx = await connect(place, application="windlass test")
    try:
        await cx.execute(INSTALL)
    finally:
        cx.terminate()
