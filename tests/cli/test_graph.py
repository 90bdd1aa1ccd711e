"""`windlass graph`: a workflow drawn by levels, with the fallbacks, and with the states of a run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.cli import main
from windlass.cli.drawing import Graph, Vertex, mermaid
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client

REPORT = """
id: report
steps:
  fetch: {kind: noop}
  check: {kind: noop, needs: [fetch]}
  print: {kind: shell, needs: [fetch, check], with: {command: "exit 1"}, on_failure: {fallback: keep}}
  keep: {kind: noop}
  tell: {kind: wait, needs: [print], with: {for: 1h}}
"""


def graph(*words: str) -> Result:
    return CliRunner().invoke(main, ["graph", *words])


@pytest.fixture
def report(tmp_path: Path) -> str:
    (tmp_path / "report.yaml").write_text(REPORT)
    return str(tmp_path / "report.yaml")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("engine") / "data") as (_, client):
        yield client


def test_steps_stand_by_level_and_say_whom_they_follow(report: str) -> None:
    result = graph(report)
    assert result.exit_code == 0, result.output
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["report:", "5", "steps", "in", "4", "levels"],
        ["level", "step", "kind", "follows"],
        ["1", "fetch", "noop"],
        ["2", "check", "noop", "fetch"],
        ["3", "print", "shell", "fetch,", "check"],
        ["4", "tell", "wait", "print"],
        ["┄", "keep", "noop", "in", "place", "of", "print"],
    ]


def test_mermaid_draws_fallbacks_dashed(report: str) -> None:
    lines = [line.strip() for line in graph(report, "--mermaid").stdout.splitlines()]
    assert lines[0] == "flowchart TD"
    assert 's0["fetch<br/>noop"]' in lines
    assert "s0 --> s1" in lines
    assert "s2 -. if it fails .-> s3" in lines
    assert "style s3 stroke-dasharray: 5 5" in lines


def test_programs_get_levels_and_edges(report: str) -> None:
    seen: dict[str, Any] = json.loads(graph(report, "--json").stdout)
    levels = {step["id"]: step["level"] for step in seen["steps"]}
    assert levels == {"fetch": 1, "check": 2, "print": 3, "keep": None, "tell": 4}
    assert [step["fallback"] for step in seen["steps"] if step["id"] == "print"] == ["keep"]
    assert json.loads(graph(report, "--mermaid", "--json").stdout)["mermaid"].startswith("flowchart")


def test_a_thousand_steps_are_counted_by_level(tmp_path: Path) -> None:
    wide = [f"  w{n}: {{kind: noop, needs: [start]}}" for n in range(500)]
    deep = [f"  d{n}: {{kind: noop, needs: [{f'd{n - 1}' if n else 'start'}]}}" for n in range(498)]
    last = "  end: {kind: noop, needs: [" + ", ".join(f"w{n}" for n in range(500)) + "]}"
    path = tmp_path / "large.yaml"
    path.write_text("\n".join(["id: large", "steps:", "  start: {kind: noop}", *wide, *deep, last]))
    result = graph(str(path))
    assert result.exit_code == 0
    head, columns, first, second, *rest = result.stdout.splitlines()
    assert head == "large: 1000 steps in 499 levels"
    assert columns.split() == ["level", "steps", "kinds", "which"]
    assert first.split() == ["1", "1", "1", "noop", "start"]
    assert second.split()[:4] == ["2", "501", "501", "noop"]
    assert second.endswith("w0, w1, w2, w3 … d0 (501)")
    assert "--each" in rest[-1]
    assert len(graph(str(path), "--each").stdout.splitlines()) == 1002
    drawn = graph(str(path), "--mermaid").stdout
    assert drawn.count(" --> ") == 1498
    assert "maxEdges" in drawn


def test_a_deep_graph_is_no_trouble() -> None:
    steps = [Vertex(f"s{n}", "noop", (f"s{n - 1}",) if n else ()) for n in range(50_000)]
    assert max(Graph("deep", steps).levels) == 50_000
    assert sum(1 for _ in mermaid(Graph("deep", steps))) > 100_000 - 1


def test_a_run_shows_how_far_its_steps_are(server: Client) -> None:
    server.apply("report", REPORT.encode(), "application/yaml")
    server.start("report", run_id="report-1")
    wait_until(lambda: server.run("report-1")["steps"][4]["status"] == "running")
    result = graph("report-1", "--server", server.url)
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0][:4] == ["report-1", "report", "v1", "running:"]
    statuses = {row[1]: row[3] for row in rows[2:]}
    assert statuses["fetch"] == statuses["keep"] == "succeeded"
    assert statuses["print"] == server.run("report-1")["steps"][2]["status"]
    assert statuses["tell"] == "running"
    drawn = graph("report-1", "--mermaid", "--server", server.url).stdout
    assert 's0["fetch<br/>noop"]:::succeeded' in drawn
    assert "classDef succeeded fill:" in drawn
    # A run keeps its steps when its workflow is gone.
    server.delete("report")
    assert "tell" in graph("report-1", "--server", server.url).stdout
    server.order("report-1", "cancel")


def test_a_workflow_is_drawn_by_its_id(server: Client) -> None:
    server.apply("by-id", REPORT.replace("id: report", "id: by-id").encode(), "application/yaml")
    assert "by-id v1: 5 steps in 4 levels" in graph("by-id", "--server", server.url).stdout


def test_an_id_that_we_made_is_looked_for_among_the_runs_first(server: Client) -> None:
    body = b"id: exec_twin\nsteps: {a: {kind: noop}}"
    server.apply("exec_twin", body, "application/yaml")
    server.start("exec_twin", run_id="exec_twin")
    wait_until(lambda: server.run("exec_twin")["status"] in ENDED)
    assert "succeeded" in graph("exec_twin", "--server", server.url).stdout


def test_what_is_neither_is_refused_in_one_line(server: Client) -> None:
    result = graph("nobody", "--server", server.url)
    assert result.exit_code == 7
    assert result.stderr.startswith("error: there is no workflow and no run nobody; ")


def test_an_unsound_document_is_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "circle.yaml"
    path.write_text("id: circle\nsteps:\n  a: {kind: noop, needs: [b]}\n  b: {kind: noop, needs: [a]}\n")
    result = graph(str(path))
    assert result.exit_code == 7
    assert result.stderr.startswith(f"{path}:")
