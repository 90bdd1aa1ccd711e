"""The packages that tests use: what is missing is said, and nothing fails for it."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def test_where_nothing_can_be_installed_it_is_said_how_to() -> None:
    words = [sys.executable, "-m", "tests.tools"]
    done = subprocess.run(
        words,
        cwd=REPOSITORY,
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert "bubblewrap" in line and "apt-get install --yes --no-install-recommends bubblewrap" in line
