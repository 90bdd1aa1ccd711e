-- A status that is rare within a huge workflow, "running" above all: found without reading all of its runs.
CREATE INDEX runs_of_workflow_by_status ON runs (namespace, workflow, status, started_at, id);
