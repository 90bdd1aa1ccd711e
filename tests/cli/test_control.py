"""Signals, approvals, reruns and the schema at the command line, against an engine as users start it."""

import json
import shutil
from pathlib import Path

from click.testing import CliRunner, Result
from jsonschema_rs import Draft202012Validator

from tests.cli.engines import serving
from tests.waiting import wait_until
from windlass.cli import main
from windlass.cli.progress import Progress
from windlass.cli.show import EACH_MAX
from windlass.core.task import Json

ORDER = b"""
id: order
output: "${{ steps.ship.output }}"
steps:
  ask: {kind: approval, with: {prompt: "Ship ${{ inputs.what }}?"}}
  paid: {kind: signal, needs: ask, with: {name: payment}}
  each:
    kind: map
    needs: paid
    with: {over: "${{ steps.paid.output }}", step: {kind: noop, with: {value: "${{ item }}"}}}
  check:
    kind: shell
    needs: each
    with: {argv: [test, -e, "${{ inputs.flag }}"]}
  ship: {kind: noop, needs: check, with: {value: "${{ steps.each.output }}"}}
"""


def test_an_order_is_steered_to_its_end(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    with serving(tmp_path / "data") as (_, client):

        def call(*words: str, code: int = 0, stdin: str | None = None) -> Result:
            result = CliRunner().invoke(main, ["--server", client.url, *words], input=stdin)
            assert result.exit_code == code, result.output
            return result

        def told(run: str) -> str:
            return " ".join(call("show", run).stdout.split())

        client.apply("order", ORDER, "application/yaml")
        client.start("order", run_id="r1", input={"what": "boots", "flag": str(flag)})
        wait_until(lambda: client.run("r1")["steps"][0]["awaits"] is not None)
        # Given a run that waits for a yes, it says so and what to type.
        assert "waits for the yes of somebody (Ship boots?)" in told("r1")
        assert "`windlass approve r1 ask`" in call("explain", "r1").stdout
        assert "r1 ask: succeeded" in call("approve", "r1", "ask", "-m", "fine").stdout
        assert "does not wait for approval" in call("reject", "r1", "ask", code=7).stderr
        # Then for a signal.
        wait_until(lambda: client.run("r1")["steps"][1]["awaits"] is not None)
        assert "waits for signal: payment" in told("r1")
        call("signal", "r1", "payment", "-", stdin="[1, 2, 3]")
        # When a step fails, it is run once more with what came before.
        wait_until(lambda: client.run("r1")["status"] == "failed")
        assert "each[2]" in told("r1")
        flag.touch()
        again = call("rerun", "r1", "--run-id", "r2").stdout
        assert "r2 of order v1" in again and "kept from r1: ask, paid, each" in again
        wait_until(lambda: client.run("r2")["status"] == "succeeded")
        assert "rerun of r1" in told("r2") and "(kept) [1, 2, 3]" in told("r2")
        assert client.run("r2")["output"] == [1, 2, 3]
        # Or with other results, or another input.
        answer = json.loads(
            call("--json", "rerun", "r1", "--patch", "check={}", "--patch", "each=[9]").stdout
        )
        wait_until(lambda: client.run(answer["runId"])["status"] == "succeeded")
        assert client.run(answer["runId"])["output"] == [9]
        edited = json.loads(call("--json", "rerun", "r1", "-i", "what=hats", "--from", "check").stdout)
        assert client.run(edited["runId"])["input"] == {"what": "hats", "flag": str(flag)}
        assert "no step is named `chek`" in call("rerun", "r1", "--from", "chek", code=7).stderr
        # And its graph is that of the document.
        assert "each[0]" not in call("graph", "r2").stdout


def test_the_schema_is_printed_and_written(tmp_path: Path) -> None:
    printed = CliRunner().invoke(main, ["schema"])
    assert printed.exit_code == 0
    Draft202012Validator(json.loads(printed.stdout))
    file = tmp_path / "windlass.schema.json"
    written = CliRunner().invoke(main, ["schema", "--output", str(file)])
    assert written.exit_code == 0
    assert json.loads(file.read_text()) == json.loads(printed.stdout)
    shutil.rmtree(tmp_path)
    assert CliRunner().invoke(main, ["schema", "--output", str(file)]).exit_code == 1


def event(type: str, **more: Json) -> dict[str, Json]:
    return {"seq": 1, "at": "2026-01-01T08:00:00.000Z", "type": type, **more}


def test_who_watches_a_run_is_told_of_what_it_waits_for_and_not_of_every_item() -> None:
    progress = Progress(steps=2)

    def line(type: str, **more: Json) -> str:
        return str(progress.note(event(type, **more)))

    assert "waits for somebody" in line("StepAwaits", step="ask")
    assert "skipped: not today" in line("StepSkipped", step="b", reason="not today")
    assert "began the run r9" in line("ChildStarted", step="c", run="r9")
    assert "3 items" in line("MapStarted", step="each", items=[1, 2, 3])
    assert line("StepSucceeded", step="each[0]") == "None"
    assert "each[1]" in line("StepFailed", step="each[1]", failure={"type": "Odd", "message": "no"})
    assert "taken back" in line("UndoStarted", status="failed")
    assert progress.summary() == "waiting (3 of 5 done)"


def test_of_many_items_those_are_listed_that_have_not_succeeded(tmp_path: Path) -> None:
    many = f"""
id: many
steps:
  each: {{kind: map, with: {{over: {list(range(EACH_MAX + 5))}, step: {{kind: noop}}}}}}
"""
    with serving(tmp_path / "data") as (_, client):
        client.apply("many", many.encode(), "application/yaml")
        client.start("many", run_id="r1")
        wait_until(lambda: client.run("r1")["status"] == "succeeded")
        brief = CliRunner().invoke(main, ["--server", client.url, "show", "r1"]).stdout
        assert "each[3]" not in brief and f"{EACH_MAX + 5} more items" in brief
        assert "each[3]" in CliRunner().invoke(main, ["--server", client.url, "show", "r1", "--each"]).stdout


def test_what_a_run_gives_may_be_of_any_type(tmp_path: Path) -> None:
    document = tmp_path / "give.yaml"
    document.write_text('id: give\nsteps: {a: {kind: noop}}\noutput: "${{ inputs.what }}"\n')
    with serving(tmp_path / "data") as (_, client):
        for given in ("7", '"words"', "[1, null]", "false"):
            asked = ["--server", client.url, "run", str(document), "-i", f"what={given}"]
            told = CliRunner().invoke(main, asked)
            assert told.exit_code == 0 and f"output {given}" in told.stdout
        nothing = CliRunner().invoke(main, ["--server", client.url, "run", "give", "-i", "what=null"])
        assert nothing.exit_code == 0 and "output" not in nothing.stdout


def test_a_child_run_is_named_also_when_it_has_ended(tmp_path: Path) -> None:
    child = b"id: child\nsteps: {a: {kind: noop}}\noutput: 5\n"
    parent = b"id: parent\nsteps: {ask: {kind: workflow, with: {workflow: child}}}\n"
    with serving(tmp_path / "data") as (_, client):
        client.apply("child", child, "application/yaml")
        client.apply("parent", parent, "application/yaml")
        client.start("parent", run_id="r1")
        wait_until(lambda: client.run("r1")["status"] == "succeeded")
        name = client.run("r1")["steps"][0]["childRun"]
        assert f"(run {name}) 5" in CliRunner().invoke(main, ["--server", client.url, "show", "r1"]).stdout
