-- The YAML of a version as somebody wrote it, with its comments. '': it came as JSON, or before texts were kept.
ALTER TABLE documents ADD COLUMN text TEXT NOT NULL DEFAULT '';
