"""How the web page gets into the package: built once, left out on demand, and nobody's obstacle."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hatch_build

PAGE = "windlass/gateway/page/ui/"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """The build step and the source of the page, where nothing was built and no Node.js is to be found."""
    shutil.copy(hatch_build.ROOT / "hatch_build.py", tmp_path)
    (tmp_path / "ui").mkdir()
    for name in ("package.json", "package-lock.json", "index.html"):
        shutil.copy(hatch_build.SOURCE / name, tmp_path / "ui")
    return tmp_path


def make_env(folder: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """What `make env` calls."""
    return subprocess.run(
        [sys.executable, "hatch_build.py", *options],
        cwd=folder,
        env={"PATH": "/nowhere", **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_node_js_it_is_said_and_the_rest_goes_on(elsewhere: Path) -> None:
    done = make_env(elsewhere)
    assert done.returncode == 0, done.stderr
    assert "There is no web page here; all else works." in done.stdout and "Node.js 20.19" in done.stdout


def test_a_wheel_is_not_made_without_the_page_by_mistake(elsewhere: Path) -> None:
    assert make_env(elsewhere, "--must").returncode == 1


def test_who_wants_no_page_hears_nothing_of_it(elsewhere: Path) -> None:
    done = make_env(elsewhere, "--must", WINDLASS_NO_UI="1")
    assert (done.returncode, done.stdout) == (0, "")


def test_a_page_that_is_built_is_built_again_when_its_source_changes(elsewhere: Path) -> None:
    built = elsewhere / "windlass" / "gateway" / "page" / "ui"
    built.mkdir(parents=True)
    look = [sys.executable, "-c", "import hatch_build; print(hatch_build.digest(), hatch_build.is_built())"]

    def seen() -> list[str]:
        return subprocess.run(look, cwd=elsewhere, capture_output=True, text=True, check=True).stdout.split()

    digest, is_built = seen()
    assert is_built == "False"
    (built / hatch_build.STAMP).write_text(digest)
    assert seen() == [digest, "True"]
    assert make_env(elsewhere, "--must").stdout == ""
    (elsewhere / "ui" / "index.html").write_text("<!doctype html>")
    assert seen()[1] == "False"


@pytest.mark.skipif(
    not (hatch_build.BUILT / "index.html").exists(),
    reason="the web page is not built: make env, with Node.js at hand",
)
@pytest.mark.parametrize("wanted", [True, False])
def test_the_wheel_has_the_page_unless_it_is_left_out(tmp_path: Path, wanted: bool) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=hatch_build.ROOT,
        env={**os.environ, "WINDLASS_NO_UI": "" if wanted else "1"},
        capture_output=True,
        timeout=110,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert (f"{PAGE}index.html" in names) == wanted
    assert any(name.startswith(f"{PAGE}assets/") for name in names) == wanted
    assert "windlass/gateway/page/docs.html" in names
    assert not any("node_modules" in name or name.startswith("ui/") for name in names)


def test_no_address_of_a_registry_is_in_the_lock_file() -> None:
    text = (hatch_build.SOURCE / "package-lock.json").read_text()
    assert '"resolved"' not in text and "registry" not in text
