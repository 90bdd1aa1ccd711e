"""What the page weighs, what it holds, and that its own tests pass."""

import gzip
import re
import subprocess
from pathlib import Path

import pytest

import hatch_build
from tests.ui.browser import BUILT

INITIAL_BYTES_MAX = 200_000
UI_S = 400.0  # several times what it takes beside two other processes
# Names of standards, which nobody is asked for, and what error messages of libraries point readers to.
HARMLESS = re.compile(
    r"https?://(www\.w3\.org/|react\.dev/|reactflow\.dev|localhost|127\.0\.0\.1|github\.com/[\w-]+/[\w-]+/(issues|blob))"
)

pytestmark = pytest.mark.skipif(
    not (BUILT / "index.html").exists(), reason="the web page is not built: make env, with Node.js at hand"
)


def initial_scripts() -> list[Path]:
    """What the index loads, and what that cannot do without."""
    found = {Path(name) for name in re.findall(r'"/ui/([^"]+\.js)"', (BUILT / "index.html").read_text())}
    assert found
    waiting = list(found)
    while waiting:
        path = waiting.pop()
        for name in re.findall(r'(?:^|[;}\s])import[^;()]*?"\./([^"]+\.js)"', (BUILT / path).read_text()):
            needed = path.parent / name
            if needed not in found:
                found.add(needed)
                waiting.append(needed)
    return [BUILT / path for path in found]


def test_what_is_loaded_at_first_is_small() -> None:
    scripts = initial_scripts()
    assert sum(len(gzip.compress(path.read_bytes())) for path in scripts) < INITIAL_BYTES_MAX


def test_graphs_and_editors_are_not_loaded_at_first() -> None:
    text = "".join(path.read_text() for path in initial_scripts())
    assert "react-flow__" not in text and "cm-editor" not in text


def test_nothing_in_it_is_fetched_from_elsewhere() -> None:
    found = set()
    for path in BUILT.rglob("*"):
        if path.suffix in (".js", ".css", ".html", ".svg"):
            found |= set(re.findall(r"https?://[\w.-]+[^\s\"'`)\\]*", HARMLESS.sub("", path.read_text())))
    assert found == set()


def test_no_inline_script_is_in_the_index() -> None:
    index = (BUILT / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", index) == [] and " on" not in re.sub(r">[^<]*<", "><", index)


@pytest.mark.timeout(UI_S + 20)
@pytest.mark.parametrize("script", ["test", "lint"])
def test_the_page_passes_its_own_checks(script: str) -> None:
    node = hatch_build.find_node()
    assert node is not None
    done = subprocess.run(
        [*node.npm, "run", "--silent", script],
        cwd=hatch_build.SOURCE,
        capture_output=True,
        text=True,
        timeout=UI_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
