"""Pipeline steps on a real worker: what each type of stage does, and where files may be."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from tests.worker.pipelines import SHOW, a_stage, pipeline, rows, sink, source, transform
from tests.worker.rig import Rig, play, working
from windlass.core.commands import FinishStep
from windlass.core.names import Attempt, StepId, WorkerId
from windlass.core.task import Failure, Json, Outcome, StageReport, Success, Task
from windlass.wire import codec, crew
from windlass.worker.pipeline.parts import prefix_of


class Seen:
    """What came of a pipeline, and what it left."""

    def __init__(self, outcome: Outcome, lines: list[str]) -> None:
        self.outcome = outcome
        self.lines = lines

    @property
    def value(self) -> Json:
        assert isinstance(self.outcome, Success), self.outcome
        return self.outcome.value

    @property
    def failure(self) -> Failure:
        assert isinstance(self.outcome, Failure), self.outcome
        return self.outcome


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, asyncio.Runner, Rig]]:
    """One worker for all that need none of their own: its child stays warm."""
    folder = tmp_path_factory.mktemp("worker")
    with asyncio.Runner() as runner:
        stack = runner.run(AsyncExitStack().__aenter__())
        yield folder, runner, runner.run(stack.enter_async_context(working(folder)))
        runner.run(stack.aclose())


@pytest.fixture
def files(home: tuple[Path, asyncio.Runner, Rig]) -> Path:
    """The folder that file stages stay under."""
    folder = home[0] / "files"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def run(home: tuple[Path, asyncio.Runner, Rig]) -> Callable[[Task], Seen]:
    _, runner, rig = home

    def one(task: Task) -> Seen:
        outcome = runner.run(rig.run(task))
        return Seen(outcome, [line.text for line in rig.lines(task)])

    return one


Run = Callable[[Task], Seen]


# Sources.


def test_a_sequence_has_both_its_ends_and_may_count_down(run: Run) -> None:
    assert run(pipeline(source("sequence.numbers", end=4), SHOW)).lines == ["1", "2", "3", "4"]
    down = source("sequence.numbers", start="5", end="0", step="-2")
    assert run(pipeline(down, SHOW)).lines == ["5", "3", "1"]
    assert run(pipeline(source("sequence.numbers", start=3, end=1), SHOW)).value["records"] == 0


def test_random_numbers_are_as_many_and_as_large_as_asked_for_and_others_each_time(run: Run) -> None:
    numbers = source("random.numbers", count="3000", min="-5", max="5")
    first, second = (run(pipeline(numbers, SHOW)).lines for _ in range(2))
    assert len(first) == 3000
    assert set(first) == {str(n) for n in range(-5, 6)}
    assert first != second
    wide = run(pipeline(source("random.numbers", count=50, min=-(2**62), max=2**62), SHOW)).lines
    assert len(set(wide)) == 50
    assert all(abs(int(row)) <= 2**62 for row in wide)


def test_a_collection_is_a_row_per_text_and_the_json_of_the_rest(run: Run) -> None:
    assert run(pipeline(rows("a b", 1, 2.5, None, True, {"x": [1]}), SHOW)).lines == [
        "a b", "1", "2.5", "null", "true", '{"x":[1]}',
    ]  # fmt: skip
    assert run(pipeline(source("memory.collection", data="one"), SHOW)).lines == ["one"]


def test_a_text_file_is_its_lines_and_comes_out_again_as_it_was(run: Run, files: Path) -> None:
    text = "one\n\n  two \nthr\u2028ee\r\nfour"
    (files / "in.txt").write_bytes(text.encode())
    seen = run(pipeline(source("file.text", path="in.txt"), sink("file.text", path="made/copy.txt")))
    assert seen.value["records"] == 5
    assert (files / "made/copy.txt").read_bytes() == text.replace("\r", "").encode() + b"\n"


def test_a_csv_file_is_its_rows_whatever_is_quoted_in_them(run: Run, files: Path) -> None:
    (files / "in.csv").write_bytes('\ufeffid;name\n1;"a\nb"\n\n2;5" pipe\n3;"say ""hi"";"\n'.encode())
    csv = source("file.csv", path="in.csv", delimiter=";", skipHeader="true")
    assert run(pipeline(csv, SHOW)).lines == ['1;"a\\nb"', '2;5" pipe', '3;"say ""hi"";"']
    (files / "crlf.csv").write_bytes(b'1;"a\r\nb"\r\n\r\n2;"c"\r\n3;d\r\n')
    crlf = source("file.csv", path="crlf.csv", delimiter=";")
    assert run(pipeline(crlf, SHOW)).lines == ['1;"a\\r\\nb"', '2;"c"', "3;d"]
    count = pipeline(source("file.csv", path="in.csv", delimiter=";"), sink("aggregate.count"))
    assert run(count).value["stages"]["out"] == {"records": 4, "count": 4}


def test_a_file_may_be_in_another_encoding(run: Run, files: Path) -> None:
    (files / "in.gbk").write_bytes("数据\n".encode("gbk"))
    both = pipeline(
        source("file.text", path="in.gbk", encoding="gbk"),
        sink("file.text", path="out.l1", encoding="latin-1"),
    )
    assert run(pipeline(source("file.text", path="in.gbk", encoding="gbk"), SHOW)).lines == ["数据"]
    assert run(both).failure.type == "BadRow"
    assert not (files / "out.l1").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"good\n\xff\xfe\n", "bad.csv, line 2: this is no utf-8"),
        (b"good\n" * 100_000 + b"\xe6\x95", "bad.csv, line 100,001: this is no utf-8"),
        (b"x" * 1_100_000, "bad.csv, line 1: it is longer than 1,048,576 signs"),
        (b"a\nb\n" + b"x" * 1_048_577 + b"\nc\n", "bad.csv, line 3: it is longer than 1,048,576 signs"),
        (b'1,"open\n2\n', "has no end; close its"),
        (b'1,"' + b"x\n" * 600_000, "a quoted field has no end"),
    ],
)
def test_what_is_no_row_fails_with_its_place(run: Run, files: Path, content: bytes, told: str) -> None:
    (files / "bad.csv").write_bytes(content)
    failure = run(pipeline(source("file.csv", path="bad.csv"), sink("file.text", path="never.txt"))).failure
    assert (failure.type, failure.retryable) == ("BadRow", False)
    assert told in failure.message
    assert not (files / "never.txt").exists()
    assert list(files.glob(".windlass*")) == []


# Transforms.


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("value > 5", ["10,x", " 7 ", '"6",y']),
        ("< 5", ["-3", "1e0"]),
        (">= 5", ["5", "10,x", " 7 ", '"6",y', "5.0"]),
        ("<= 5", ["5", "-3", "1e0", "5.0"]),
        ("== 5", ["5", "5.0"]),
        ("!= 5", ["10,x", "-3", " 7 ", '"6",y', "1e0"]),
        ('contains "a"', ["name,age", "nan"]),
    ],
)
def test_a_filter_keeps_what_fulfils_its_condition(run: Run, condition: str, kept: list[str]) -> None:
    given = ["5", "10,x", "name,age", "", "-3", " 7 ", '"6",y', "nan", "1e0", "5.0", "1_0"]
    seen = run(pipeline(rows(*given), transform("filter", condition=condition), SHOW))
    note = ["by: 4 rows have no number to compare, and were left out"] if "contains" not in condition else []
    assert seen.lines == kept + note


def test_a_filter_compares_whole_numbers_of_any_size_exactly(run: Run) -> None:
    given = [str(2**53), str(2**53 + 1), "9" * 30, "9" * 5000]
    seen = run(pipeline(rows(*given), transform("filter", condition=f"> {2**53}"), SHOW))
    assert seen.lines == given[1:]


def test_a_filter_may_look_at_fields_behind_another_delimiter(run: Run) -> None:
    by = transform("filter", condition="> 5", delimiter=";")
    assert run(pipeline(rows("3;9", "6;1"), by, SHOW)).lines == ["6;1"]


@pytest.mark.parametrize(
    ("expression", "made"),
    [
        ("toUpperCase", " STRASSE,é".upper()),
        ("toLowerCase", " strasse,é"),
        ("trim", "Strasse,é"),
        ("prefix:> ", ">  Strasse,é"),
        ("suffix:!", " Strasse,é!"),
    ],
)
def test_a_map_changes_every_row(run: Run, expression: str, made: str) -> None:
    assert run(pipeline(rows(" Strasse,é"), transform("map", expression=expression), SHOW)).lines == [made]


def test_distinct_rows_come_once_in_their_order(run: Run) -> None:
    assert run(pipeline(rows("b", "a", "b", "", "a", ""), transform("distinct"), SHOW)).lines == [
        "b",
        "a",
        "",
    ]


def test_a_batch_makes_one_row_of_several_only_where_it_is_told_to_join_them(run: Run) -> None:
    numbers = source("sequence.numbers", end=7)
    seen = run(pipeline(numbers, transform("batch", batchSize="3", join="+"), SHOW))
    assert seen.lines == ["1+2+3", "4+5+6", "7"]
    assert seen.value["stages"]["by"]["records"] == 3
    assert run(pipeline(numbers, transform("batch", batchSize=3), SHOW)).lines == list("1234567")
    large = pipeline(rows(*["x" * 300_000] * 5), transform("batch", batchSize=5, join=""), SHOW)
    assert run(large).failure.type == "BadRow"


def test_cleaning_trims_and_drops_what_holds_nothing(run: Run) -> None:
    given = rows(" a ", "", None, "  ", "b")
    assert run(pipeline(given, transform("data.clean"), SHOW)).lines == ["a", "b"]
    assert run(pipeline(given, transform("data.clean", removeNull=False), SHOW)).lines == [
        "a",
        "",
        "null",
        "",
        "b",
    ]
    assert run(pipeline(given, transform("data.clean", trim=False), SHOW)).lines == [" a ", "b"]


# Sinks.


def test_a_console_shows_as_many_rows_as_its_limit_and_says_how_many_more(run: Run) -> None:
    seen = run(pipeline(source("sequence.numbers", end=2500), sink("console.log")))
    assert seen.lines == [*map(str, range(1, 101)), "out: 2,400 more rows are not shown (limit 100)"]
    assert seen.value["stages"]["out"]["records"] == 2500
    assert run(pipeline(rows("a\nb\r"), sink("console.log", limit="1"))).lines == ["a\\nb\\r"]


def test_a_file_may_be_written_to_after_what_is_in_it(run: Run, files: Path) -> None:
    (files / "log.txt").write_text("old")
    (files / "log.txt").chmod(0o640)
    append = sink("file.text", path="log.txt", append=True)
    run(pipeline(rows("new"), append))
    run(pipeline(rows("newer"), append))
    assert (files / "log.txt").read_text() == "old\nnew\nnewer\n"
    assert (files / "log.txt").stat().st_mode & 0o777 == 0o640
    run(pipeline(rows("alone"), sink("file.text", path="log.txt")))
    assert (files / "log.txt").read_text() == "alone\n"


def test_a_json_file_holds_a_list(run: Run, files: Path) -> None:
    run(pipeline(rows("text", '"quoted"', 1, {"a": None}, "{broken"), sink("file.json", path="a.json")))
    assert json.loads((files / "a.json").read_text()) == ["text", "quoted", 1, {"a": None}, "{broken"]
    run(pipeline(rows(), sink("file.json", path="a.json")))
    assert json.loads((files / "a.json").read_text()) == []
    kept = run(pipeline(rows("x"), sink("file.json", path="a.json", overwrite=False))).failure
    assert (kept.type, kept.retryable) == ("FileExists", False)


def test_sums_and_counts_are_part_of_the_output(run: Run) -> None:
    add, count = sink("aggregate.sum", "add", field=2), sink("aggregate.count", "count")
    seen = run(pipeline(rows("a,1", "b,2.5", "c", "d,x"), add, count, edges="in>add in>count"))
    assert seen.value["stages"]["add"] == {"records": 4, "sum": 3.5, "without": 2}
    assert seen.value["stages"]["count"] == {"records": 4, "count": 4}
    assert seen.value["records"] == 8
    assert seen.lines == ["add: the sum is 3.5; 2 rows have no number there", "count: 4 rows"]
    whole = run(pipeline(rows(2**62, 2**62 - 1), sink("aggregate.sum")))
    assert whole.value["stages"]["out"]["sum"] == 2**63 - 1


def test_a_sum_finds_its_field_behind_quoted_ones(run: Run, files: Path) -> None:
    (files / "in.csv").write_text(
        'name,amount\n"Smith, John",100\n"O""Neil, ""x""\n",200.5\n"",3\nplain,"4"\n'
    )
    read = source("file.csv", path="in.csv", skipHeader=True)
    seen = run(pipeline(read, sink("aggregate.sum", field=2)))
    assert seen.value["stages"]["out"] == {"records": 4, "sum": 307.5, "without": 0}


# Shapes.


def test_rows_go_along_every_edge_and_only_there(run: Run, files: Path) -> None:
    small = a_stage("small", "transform", "filter", condition="<= 2")
    large = a_stage("large", "transform", "filter", condition="> 2")
    seen = run(
        pipeline(
            a_stage("one", "source", "sequence.numbers", end=4),
            a_stage("two", "source", "memory.collection", data=["1", "9"]),
            small,
            large,
            sink("file.text", "low", path="low.txt"),
            sink("file.text", "high", path="high.txt"),
            sink("aggregate.count", "all"),
            edges="one>small one>large two>large small>low large>high small>all large>all",
        )
    )
    assert (files / "low.txt").read_text().split() == ["1", "2"]
    assert (files / "high.txt").read_text().split() == ["3", "4", "9"]
    records = {name: stage["records"] for name, stage in seen.value["stages"].items()}
    assert records == {"one": 4, "two": 2, "small": 2, "large": 3, "low": 2, "high": 3, "all": 5}
    assert seen.value["records"] == 10


def test_where_ways_meet_again_a_row_comes_once_by_each(run: Run) -> None:
    up = a_stage("up", "transform", "map", expression="prefix:+")
    down = a_stage("down", "transform", "map", expression="prefix:-")
    edges = "in>up in>down up>out down>out in>out"
    seen = run(pipeline(source("sequence.numbers", end=3), up, down, SHOW, edges=edges))
    assert sorted(seen.lines) == sorted([*"123", "+1", "+2", "+3", "-1", "-2", "-3"])
    assert [line for line in seen.lines if line.startswith("+")] == ["+1", "+2", "+3"]


def test_a_long_line_of_stages_is_no_different(run: Run) -> None:
    steps = [a_stage(f"s{i}", "transform", "map", expression="suffix:.") for i in range(900)]
    seen = run(pipeline(rows("x"), *steps, SHOW))
    assert seen.lines == ["x" + "." * 900]


def test_the_stages_report_when_they_worked_and_what_they_did(run: Run) -> None:
    outcome = run(
        pipeline(source("sequence.numbers", end=5000), transform("distinct"), sink("aggregate.count"))
    ).outcome
    assert [(report.id, report.type, report.records, report.error) for report in outcome.stages] == [
        ("in", "sequence.numbers", 5000, ""),
        ("by", "distinct", 5000, ""),
        ("out", "aggregate.count", 5000, ""),
    ]
    for report in outcome.stages:
        assert 0 < report.started_at <= report.ended_at
    failed = run(
        pipeline(rows("é"), transform("distinct"), sink("file.text", path="x", encoding="ascii"))
    ).outcome
    assert [(report.id, report.records, bool(report.ended_at)) for report in failed.stages] == [
        ("in", 1, False), ("by", 1, False), ("out", 1, True),
    ]  # fmt: skip
    assert "ascii has no" in failed.stages[2].error
    for sent in (outcome, failed):
        assert crew.decode_outcome(crew.encode_outcome(sent)) == sent


# Files stay under their folders.


def forbidden(run: Run, path: str) -> str:
    told = set[str]()
    for task in (
        pipeline(source("file.text", path=path), SHOW),
        pipeline(rows("x"), sink("file.text", path=path)),
    ):
        failure = run(task).failure
        assert (failure.type, failure.retryable) == ("Forbidden", False), failure
        told.add(failure.message)
    return min(told)


def test_a_path_outside_of_the_folders_is_forbidden(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    assert "is outside of the folders for files" in forbidden(run, f"{tmp_path}/secret.txt")
    assert "see --files" in forbidden(run, f"{files}-more/x.txt")
    assert "/etc/passwd" in forbidden(run, "/etc/passwd")
    for path in ("../secret.txt", "a/../../secret.txt", f"{files}/../secret.txt"):
        assert run(pipeline(source("file.text", path=path), SHOW)).failure.type == "BadStep"
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_links_are_not_followed(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    for name, target in (
        ("out", tmp_path),
        ("link.txt", tmp_path / "secret.txt"),
        ("inner.txt", files / "real.txt"),
    ):
        (files / name).unlink(missing_ok=True)
        (files / name).symlink_to(target)
    (files / "real.txt").write_text("real\n")
    assert "is a link" in forbidden(run, "link.txt")
    assert "is a link" in forbidden(run, "inner.txt")
    assert "leads through a link" in forbidden(run, "out/secret.txt")
    assert "leads through a link" in forbidden(run, "real.txt/x.txt")
    assert (tmp_path / "secret.txt").read_text() == "secret"
    assert os.listdir(tmp_path) == ["secret.txt"]


def test_only_ordinary_files_are_opened(run: Run, files: Path) -> None:
    os.mkfifo(files / "fifo")
    (files / "folder").mkdir()
    assert "is a pipe" in forbidden(run, "fifo")
    assert "is a folder" in forbidden(run, "folder")


def test_an_absolute_path_may_lie_in_one_of_the_folders(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    (two / "in.txt").write_text("x\n")

    async def story() -> None:
        async with working(tmp_path, files=(one, two)) as rig:
            await rig.value(
                pipeline(source("file.text", path=f"{two}/in.txt"), sink("file.text", path="out.txt"))
            )

    play(story())
    assert (one / "out.txt").read_text() == "x\n"
    assert not (tmp_path / "files").exists()


def test_a_missing_file_is_told_before_anything_is_read(run: Run, files: Path) -> None:
    stages = (
        a_stage("a", "source", "sequence.numbers"),
        a_stage("b", "source", "file.text", path="no/such.txt"),
    )
    seen = run(pipeline(*stages, SHOW, edges="a>out b>out"))
    assert (seen.failure.type, seen.failure.retryable) == ("FileNotFound", True)
    assert seen.failure.message == "there is no file no/such.txt"
    assert seen.lines == []
    assert not (files / "no").exists()


# Whole or not at all.


def test_no_sink_appears_unless_all_went_well(run: Run, files: Path) -> None:
    (files / "kept.txt").write_text("as it was\n")
    good = sink("file.text", "good", path="kept.txt")
    bad = sink("file.text", "bad", path="new.txt", encoding="ascii")
    seen = run(pipeline(rows("a", "é"), good, bad, edges="in>good in>bad"))
    assert seen.failure.type == "BadRow"
    assert (files / "kept.txt").read_text() == "as it was\n"
    assert not (files / "new.txt").exists()
    assert list(files.glob(".windlass*")) == []


def test_two_ways_to_spell_one_file_are_one_file(run: Run, files: Path) -> None:
    sinks = (sink("file.text", "a", path="same.txt"), sink("file.text", "b", path=f"{files}/same.txt"))
    assert run(pipeline(rows("x"), *sinks, edges="in>a in>b")).failure.type == "SamePath"
    assert not (files / "same.txt").exists()


def test_what_an_attempt_left_that_died_with_its_worker_goes_with_the_next(run: Run, files: Path) -> None:
    second = msgspec.structs.replace(pipeline(rows("x"), sink("file.text", path="r.txt")), attempt=Attempt(2))
    left = files / f"{prefix_of(second)}1.0.part"
    others = files / f"{prefix_of(msgspec.structs.replace(second, step=StepId('other')))}1.0.part"
    for part in (left, others):
        part.write_text("half")
    assert run(second).value["records"] == 1
    assert not left.exists()
    assert others.exists()
    others.unlink()


def test_what_expressions_have_become_is_checked_once_more(run: Run) -> None:
    failure = run(pipeline(source("random.numbers", count="lots"), SHOW)).failure
    assert (failure.type, failure.retryable) == ("BadStep", False)
    assert failure.message.startswith("with/stages/0/config/count: expected a whole number")


def test_reports_of_stages_travel_between_nodes() -> None:
    report = StageReport("in", "file.csv", 1.5, 2.5, 3, "why")
    for outcome in (Success(1, stages=(report,)), Failure("BadRow", "x", stages=(report,))):
        assert crew.decode_outcome(crew.encode_outcome(outcome)) == outcome
        finish = FinishStep(
            at=9.0,
            step=StepId("s"),
            attempt=Attempt(1),
            outcome=outcome,
            worker=WorkerId("w"),
            started_at=8.0,
        )
        assert codec.decode_command(codec.encode_command(finish)) == finish
