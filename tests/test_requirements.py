"""docs/requirements.md is complete, and what it says about proofs is true."""

import re
import subprocess
import sys

from tests.accepting import REPOSITORY, REQUIREMENTS, Benchmark, Proofs, requirements, with_proofs

COUNTS = {"S0": 85, "S1": 21, "S2": 28, "S3": 63}


def test_every_requirement_has_exactly_one_row_with_a_text_and_a_reading() -> None:
    rows = requirements(REQUIREMENTS.read_text())
    expected = [f"{seed}.{number}" for seed, count in COUNTS.items() for number in range(1, count + 1)]
    expected.insert(expected.index("S0.62") + 1, "S0.62b")
    assert [row.id for row in rows] == expected
    assert [row.id for row in rows if not (row.text and row.reading and row.proof)] == []


def test_the_proof_column_says_what_the_marks_say() -> None:
    # In a process of its own: this one has imported tests already, and may run only a few of them.
    command = [sys.executable, "-m", "tests.acceptance", "--check"]
    check = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=100)
    assert check.returncode == 0, check.stderr


def test_writing_proofs_changes_only_the_proof_column() -> None:
    document = (
        "# Title\n\n| id | text |\n|---|---|\n| S9.1 | a \\| b | our c | later |\n| S9.2 | d | e | `old` |\n"
    )
    proofs = Proofs({"S9.1": ["tests/test_a.py::test_b"]}, {"S9.1": [Benchmark("speed", "make bench")]})
    assert with_proofs(document, proofs) == (
        "# Title\n\n| id | text |\n|---|---|\n"
        "| S9.1 | a \\| b | our c | `tests/test_a.py::test_b`<br>benchmark speed (`make bench`) |\n"
        "| S9.2 | d | e | later |\n"
    )


def test_every_file_named_in_a_reading_exists() -> None:
    readings = [(row.id, row.reading) for row in requirements(REQUIREMENTS.read_text())]
    named = [(id, name) for id, reading in readings for name in re.findall(r"`([a-z]+/[\w/.]+)`", reading)]
    places = [
        (id, name, REPOSITORY / ("" if name.startswith("tests/") else "windlass") / name)
        for id, name in named
    ]
    missing = [f"{id} names {name}" for id, name, place in places if not place.exists()]
    assert not missing, "; ".join(missing)
