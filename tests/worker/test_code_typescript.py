"""TypeScript by the compiler of npm, which few machines have: it is installed for these tests, once."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.worker.plain_sandbox import PlainSandbox
from tests.worker.rig import a_task, play, working
from windlass.worker import sandbox as sandboxes
from windlass.worker.code_tools import CodeTools
from windlass.worker.languages import Book, ours

PACKAGES = ("typescript@7", "@types/node@24")
INSTALL_S = 120.0
TWICE = """
import { readFileSync } from "node:fs"
interface Said { words: string }
const said: Said = { words: readFileSync(0, "utf8") }
process.stdout.write(said.words + said.words)
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with tsc, in a cache that outlives the tests."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("there is no npm on this machine")
    above = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    prefix = above / "windlass-tests" / "-".join(PACKAGES).replace("/", "-")
    if not (prefix / "bin/tsc").exists():
        words = ["npm", "install", "--global", "--prefix", str(prefix), "--no-fund", "--no-audit", *PACKAGES]
        try:
            done = subprocess.run(words, cwd="/", capture_output=True, text=True, timeout=INSTALL_S)
        except subprocess.TimeoutExpired:
            pytest.skip("npm did not install typescript in time")
        if done.returncode != 0:
            pytest.skip(f"npm cannot install typescript: {done.stderr[-300:]}")
    return prefix / "bin"


def test_types_are_checked_and_those_of_node_are_known(packages: Path, tmp_path: Path) -> None:
    languages = tuple(each for each in ours().languages if each.name == "typescript" and each.compile)
    tools = CodeTools(book=Book(languages), path=f"{packages}:{os.environ['PATH']}", home=Path.home())

    async def best() -> sandboxes.Sandbox:
        return await sandboxes.best() or PlainSandbox()

    async def story() -> None:
        await tools.look(best)
        async with working(tmp_path, code=tools) as rig:
            value = await rig.value(
                a_task("code", {"language": "ts", "version": "7", "code": TWICE, "stdin": "hej"})
            )
            assert (value["stdout"], value["compile"]["cached"]) == ("hejhej", False)
            wrong = TWICE.replace("words: string", "words: number")
            failure = await rig.failure(a_task("code", {"language": "typescript", "code": wrong}))
            assert failure.type == "CompileError" and "main.ts(4," in failure.message

    play(story())
