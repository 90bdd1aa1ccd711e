"""What proves what: the requirements, the tests that carry their ids, and the benchmarks that show them.

The requirements are the tables of `docs/requirements.md`, one row each: id, text, our reading, proof. A test
proves an id by carrying `@pytest.mark.accepts("S2.21")`; a benchmark shows one by naming it in its module's
`SHOWS`. The proof column is written from these, never by hand.
"""

import ast
import contextlib
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
REQUIREMENTS = REPOSITORY / "docs" / "requirements.md"
BENCHMARKS = REPOSITORY / "bench"
# The command that runs the benchmarks of a folder, and where it keeps its figures.
COMMANDS = {BENCHMARKS: "make bench", BENCHMARKS / "cluster": "make bench-cluster"}
FIGURES = (BENCHMARKS / "last.json", BENCHMARKS / "cluster_last.json")
UNPROVEN = "later"

ROW = re.compile(r"\| (?P<id>S\d+\.\d+[a-z]?) \|")
CELLS_BETWEEN = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Requirement:
    id: str
    text: str
    reading: str
    proof: str
    line: int  # its index in the document


class Benchmark(NamedTuple):
    name: str
    command: str  # that runs it


@dataclass(frozen=True, slots=True)
class Proofs:
    """Who claims to prove an id: tests as `file::name`, and benchmarks."""

    tests: Mapping[str, list[str]] = field(default_factory=dict)
    benchmarks: Mapping[str, list[Benchmark]] = field(default_factory=dict)

    def ids(self) -> set[str]:
        return {*self.tests, *self.benchmarks}

    def cell(self, id: str) -> str:
        """The proof column of one requirement."""
        shown = [f"benchmark {name} (`{command}`)" for name, command in self.benchmarks.get(id, [])]
        proofs = [f"`{test}`" for test in self.tests.get(id, [])] + shown
        return "<br>".join(proofs).replace("|", "\\|") or UNPROVEN


class CannotCollect(Exception):
    """Some test file could not be read; what the others prove would be half the truth."""


def requirements(document: str) -> list[Requirement]:
    """The rows of all tables, in the order of the document."""
    found = []
    for number, line in enumerate(document.splitlines()):
        if ROW.match(line):
            id, text, reading, proof = (cell.strip() for cell in CELLS_BETWEEN.split(line)[1:-1])
            found.append(Requirement(id, text, reading, proof, number))
    return found


def with_proofs(document: str, proofs: Proofs) -> str:
    """The document with its proof column as the marks have it."""
    lines = document.splitlines()
    for row in requirements(document):
        lines[row.line] = f"| {row.id} | {row.text} | {row.reading} | {proofs.cell(row.id)} |"
    return "\n".join(lines) + "\n"


def proofs() -> Proofs:
    return Proofs(marked_tests(), shown_by_benchmarks())


def marked_tests() -> dict[str, list[str]]:
    """id → tests that carry it, by asking pytest to collect them all. Raises CannotCollect."""
    collector = _Collector()
    output = io.StringIO()
    arguments = [
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",  # it makes up all its requests while it collects
        "--rootdir",
        str(REPOSITORY),
        str(REPOSITORY / "tests"),
    ]
    with contextlib.redirect_stdout(output):
        code = pytest.main(arguments, plugins=[collector])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise CannotCollect("\n\n".join(collector.faults) or output.getvalue())
    return {id: list(dict.fromkeys(tests)) for id, tests in collector.found.items()}


def shown_by_benchmarks() -> dict[str, list[Benchmark]]:
    """id → benchmarks that name it in `SHOWS`. The modules are read, not run."""
    found: dict[str, list[Benchmark]] = {}
    for path in sorted(BENCHMARKS.rglob("*.py")):
        for id, name in _shows(ast.parse(path.read_text(), str(path)).body).items():
            found.setdefault(id, []).append(Benchmark(name, COMMANDS[path.parent]))
    return found


def last_figures() -> dict[str, str]:
    """Benchmark → what it measured last on this machine; empty if it never ran here."""
    found: dict[str, str] = {}
    for path in FIGURES:
        content = json.loads(path.read_text()) if path.exists() else {}
        for name, figure in content.get("figures", content).items():
            found[name] = figure if isinstance(figure, str) else json.dumps(figure)
    return found


def in_order(ids: Iterable[str]) -> list[str]:
    """S0.9 before S0.10, and S0.62 before S0.62b."""
    return sorted(ids, key=lambda id: [(int(n), rest) for n, rest in re.findall(r"(\d+)([a-z]?)", id)])


class _Collector:
    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}
        self.faults: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.faults.append(report.longreprtext)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for mark in item.iter_markers("accepts"):
                for id in mark.args:
                    # One test with many parameters is one proof.
                    self.found.setdefault(id, []).append(item.nodeid.split("[")[0])


def _shows(body: list[ast.stmt]) -> dict[str, str]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="SHOWS")], value=value):
                return dict(ast.literal_eval(value))
            case ast.AnnAssign(target=ast.Name(id="SHOWS"), value=ast.expr() as value):
                return dict(ast.literal_eval(value))
    return {}
