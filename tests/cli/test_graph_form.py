"""Graphs on a real engine with its real worker: what documents of v0.4 hold runs, and runs rightly."""

import json
import random
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.engines import serving
from tests.core.graphs import IN_THE_WILD, SQL, Document, any_graph, graph, minimal, node
from tests.waiting import wait_until
from windlass.cli import main
from windlass.core.vocabulary import ENDED
from windlass.sdk.client import Client


@dataclass(frozen=True)
class House:
    client: Client
    files: Path  # where file stages are at home

    def play(self, given: Document) -> Any:
        """The run, as it ended."""
        name = str(given["id"])
        self.client.apply(name, json.dumps(given).encode(), "application/json")
        run = self.client.start(name, run_id=f"{name}-1")["runId"]
        wait_until(lambda: self.client.run(run)["status"] in ENDED)
        return self.client.run(run)

    def history(self, workflow: str) -> Any:
        with urllib.request.urlopen(f"{self.client.url}/api/history/{workflow}", timeout=60) as answer:
            return json.load(answer)["executions"][0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    data = tmp_path_factory.mktemp("engine") / "data"
    with serving(data) as (_, client):
        files = data / "files"
        files.mkdir(exist_ok=True)
        (files / "in.txt").write_text("first\nsecond\n")
        (files / "in.csv").write_text("name;n\na;1\n\nb;2\n")
        yield House(client, files)


def cli(home: House | None, *words: str) -> Result:
    server = [] if home is None else ["--server", home.client.url]
    return CliRunner().invoke(main, [*server, *words])


@pytest.mark.accepts("S0.56")
def test_every_document_of_old_parses_and_executes(home: House) -> None:
    documents = [*IN_THE_WILD.values(), *(any_graph(random.Random(seed), "x") for seed in range(12))]
    for i, given in enumerate(documents):
        run = home.play({**given, "id": f"old-{i}"})
        assert (run["status"], run["error"]) == ("succeeded", None), given
        kept = home.client.workflow(f"old-{i}")
        assert (kept, list(kept)) == ({**given, "id": f"old-{i}"}, list(given))
        told = home.history(f"old-{i}")
        assert sorted(each["nodeId"] for each in told["nodes"]) == sorted(
            str(each["id"]) for each in given["nodes"]
        )
        assert {each["status"] for each in told["nodes"]} == {"completed"}


def test_rows_flow_along_the_edges_that_are_drawn(home: House) -> None:
    run = home.play(
        graph(
            node("numbers", "sequence.numbers", "source", start="1", end="20"),
            node("words", "memory.collection", "source", data=["x,1", "y"]),
            node("large", "filter", "transform", condition="value > 15"),
            node("named", "map", "transform", expression="prefix:n"),
            node("all", "file.text", "sink", path="flow/all.txt"),
            node("some", "file.text", "sink", path="flow/some.txt"),
            node("count", "aggregate.count", "sink"),
            edges=[
                *("numbers > large", "large > named", "named > some"),
                *("numbers > all", "words > all", "words > count"),
            ],
            id="flow",
        )
    )
    assert run["status"] == "succeeded", run
    assert [step["id"] for step in run["steps"]] == ["pipeline"]
    assert (home.files / "flow" / "some.txt").read_text().splitlines() == ["n16", "n17", "n18", "n19", "n20"]
    every = (home.files / "flow" / "all.txt").read_text().splitlines()
    assert sorted(every) == sorted([*map(str, range(1, 21)), "x,1", "y"])
    told = {each["nodeId"]: each["recordsProcessed"] for each in home.history("flow")["nodes"]}
    assert told == {"numbers": 20, "words": 2, "large": 5, "named": 5, "all": 22, "some": 5, "count": 2}


def test_parts_that_only_order_joins_are_steps_and_what_is_done_stays_done(home: House) -> None:
    mark = home.files / "tried"
    run = home.play(
        graph(
            node("once", "random.numbers", "source", count=3, min=1, max=10**9),
            node("kept", "file.text", "sink", path="kept.txt"),
            {
                "id": "check",
                "nodeType": "shell",
                "config": {
                    "command": f"cp {home.files}/kept.txt {mark}.$WINDLASS_ATTEMPT && test -e {mark}.2",
                    "retry": {"attempts": 2, "backoff": "1ms"},
                },
            },
            node("read", "file.text", "source", path="kept.txt"),
            node("log", "console.log", "sink"),
            edges=["once > kept", "kept > check", "check > read", "read > log"],
            id="parts",
        )
    )
    assert run["status"] == "succeeded", run
    assert [(step["id"], step["kind"], step["attempts"], step["needs"]) for step in run["steps"]] == [
        ("once", "pipeline", 1, []),
        ("check", "shell", 2, ["once"]),
        ("read", "pipeline", 1, ["check"]),
    ]
    first, second = (Path(f"{mark}.{attempt}").read_text() for attempt in (1, 2))
    assert first == second == (home.files / "kept.txt").read_text()
    events = [event for event in home.client.events("parts-1")["items"] if event["type"].startswith("Stage")]
    assert [(event["type"], event["stage"]) for event in events if event["step"] == "once"] == [
        ("StageStarted", "once"),
        ("StageEnded", "once"),
        ("StageStarted", "kept"),
        ("StageEnded", "kept"),
    ]


def test_a_source_without_its_file_fails_there_and_leaves_no_file_behind(home: House) -> None:
    given = graph(
        node("gone", "file.text", "source", path="gone.txt"),
        node("copy", "file.text", "sink", path="copy.txt"),
        edges=["gone > copy"],
        id="gone",
    )
    assert home.play(given)["status"] == "failed"
    assert not (home.files / "copy.txt").exists()
    gone = next(each for each in home.history("gone")["nodes"] if each["nodeId"] == "gone")
    assert gone["status"] == "failed" and "gone.txt" in gone["error"]


def test_graphs_are_checked_saved_drawn_and_shown_by_the_commands(home: House, tmp_path: Path) -> None:
    path = tmp_path / "test.json"
    path.write_text(json.dumps(minimal(id="by-hand")))
    checked = cli(None, "validate", str(path))
    assert (checked.exit_code, checked.stdout) == (0, f"{path}: sound (by-hand, 1 step)\n")
    assert "created" in cli(home, "apply", str(path)).stdout
    assert "unchanged" in cli(home, "apply", str(path)).stdout
    for what in (str(path), "by-hand"):
        drawn = cli(home, "graph", what)
        assert drawn.exit_code == 0, drawn.output
        assert [line.split() for line in drawn.stdout.splitlines()] == [
            ["by-hand:", "1", "steps", "in", "1", "level"],
            ["level", "step", "kind", "follows"],
            ["1", "source_1", "pipeline"],
        ]
    (listed,) = [line for line in cli(home, "workflows").stdout.splitlines() if line.startswith("by-hand ")]
    assert listed.split() == ["by-hand", "2", "Test"]
    run = home.play(minimal(id="by-hand"))
    assert "source_1" in cli(home, "show", run["id"]).stdout


def test_what_cannot_run_is_told_before_it_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "sql.json"
    path.write_text(json.dumps(SQL, indent=1))
    refused = cli(None, "validate", str(path))
    assert refused.exit_code != 0
    assert (
        f"{path}:19:16: a node of type `sql.query` cannot run here: it needs a SQL service" in refused.stderr
    )
    path.write_text(json.dumps(graph()))
    unfinished = cli(None, "validate", str(path))
    assert unfinished.exit_code != 0
    assert "the workflow has no nodes" in unfinished.stderr
