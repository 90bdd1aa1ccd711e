"""Code steps on the languages of this machine, in the best sandbox that it has."""

import asyncio
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.waiting import until
from tests.worker.plain_sandbox import PlainSandbox
from tests.worker.rig import Rig, a_task, play, working
from windlass.core.task import Task
from windlass.worker import sandbox as sandboxes
from windlass.worker.code_config import CodeConfig
from windlass.worker.code_tools import CodeTools, tools_of
from windlass.worker.languages import Book, Language
from windlass.worker.sandbox import Sandbox

# Each prints what it reads, twice, and then "done" to stderr.
TWICE = {
    "python": """
import sys
s = sys.stdin.read()
print(s + s, end="")
print("done", file=sys.stderr)
""",
    "javascript": """
const s = require("fs").readFileSync(0, "utf8")
process.stdout.write(s + s)
console.error("done")
""",
    # Of what TypeScript knows of node, nothing is certain.
    "typescript": """
// @ts-ignore
import { readFileSync } from "node:fs"
const s: string = readFileSync(0, "utf8")
// @ts-ignore
globalThis.process.stdout.write(s + s)
console.error("done")
""",
    "bash": """
s=$(cat)
printf '%s%s' "$s" "$s"
echo done >&2
""",
    "c": """
#include <stdio.h>
int main(void) {
    char s[99];
    size_t n = fread(s, 1, 99, stdin);
    fwrite(s, 1, n, stdout);
    fwrite(s, 1, n, stdout);
    fputs("done\\n", stderr);
    return 0;
}
""",
    "cpp": """
#include <iostream>
int main() {
    std::string s;
    std::cin >> s;
    std::cout << s << s;
    std::cerr << "done" << std::endl;
}
""",
    "golang": """
package main
import ("fmt"; "io"; "os")
func main() {
    s, _ := io.ReadAll(os.Stdin)
    fmt.Printf("%s%s", s, s)
    fmt.Fprintln(os.Stderr, "done")
}
""",
    "java": """
import java.util.Scanner;
class Twice { static String of(String s) { return s + s; } }
public class Main {
    public static void main(String[] args) {
        System.out.print(Twice.of(new Scanner(System.in).next()));
        System.err.println("done");
    }
}
""",
    "rust": """
use std::io::Read;
fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    print!("{s}{s}");
    eprintln!("done");
}
""",
    "ruby": """
s = STDIN.read
print s + s
warn "done"
""",
    "php": """<?php
$s = stream_get_contents(STDIN);
echo $s . $s;
fwrite(STDERR, "done" . PHP_EOL);
""",
    "lua": """
local s = io.read("*a")
io.write(s .. s)
io.stderr:write("done", string.char(10))
""",
    "perl": """
my $s = <STDIN>;
print $s . $s;
print STDERR "done", chr(10);
""",
}
EXIT_3 = {
    "python": "raise SystemExit(3)",
    "javascript": "process.exit(3)",
    "typescript": "// @ts-ignore\nglobalThis.process.exit(3 as number)",
    "bash": "exit 3",
    "cpp": "int main() { return 3; }",
    "golang": 'package main\nimport "os"\nfunc main() { os.Exit(3) }',
    "java": "public class Main { public static void main(String[] a) { System.exit(3); } }",
    "rust": "fn main() { std::process::exit(3); }",
    "c": "int main(void) { return 3; }",
    "perl": "exit 3",
    "ruby": "exit 3",
    "php": "<?php exit(3);",
    "lua": "os.exit(3)",
}
NONSENSE = {
    "c": "int main(void) { return nothing; }",
    "cpp": "int main() { return nothing; }",
    "golang": "package main\nfunc main() { nothing() }",
    "java": "public class Main { public static void main(String[] a) { nothing(); } }",
    "rust": "fn main() { nothing(); }",
    "typescript": "const nothing: number = 'text'",
}


SMALL = 'package main\nimport (_ "fmt"; _ "io"; _ "os")\nfunc main() {}'
EXPECTED = {"python", "bash", "c"}


@cache
def found() -> CodeTools:
    async def best() -> Sandbox:
        return await sandboxes.best() or PlainSandbox()

    tools = tools_of(CodeConfig(), os.environ)
    assert tools is not None
    tools.book = Book(tuple(map(with_less, tools.book.languages)))
    asyncio.run(tools.look(best))
    return tools


def with_less(language: Language) -> Language:
    """No more of the standard library is built than these programs need."""
    return msgspec.structs.replace(language, warm=SMALL) if language.warm else language


def code(language: str, text: str, timeout_s: float | None = None, **more: Any) -> Task:
    if found().toolbox.pick(language) is None:
        assert language not in EXPECTED, f"there is no {language} on this machine"
        pytest.skip(f"there is no {language} on this machine")
    return a_task("code", {"language": language, "code": text, **more}, timeout_s=timeout_s)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one worker for all of them: what a compiler needs once it needs once."""
    return tmp_path_factory.mktemp("worker")


def on_a_worker(folder: Path, story: Callable[[Rig], Any]) -> None:
    async def told() -> None:
        async with working(folder, code=found()) as rig:
            await story(rig)

    play(told())


@pytest.mark.parametrize("language", TWICE)
def test_a_program_reads_its_stdin_and_its_output_comes_back(language: str, folder: Path) -> None:
    task = code(language, TWICE[language], stdin="hej")

    async def story(rig: Rig) -> None:
        value = await rig.value(task, within_s=150.0)
        assert (value["stdout"], value["stderr"], value["exitCode"]) == ("hejhej", "done\n", 0)
        installed = found().toolbox.pick(language)
        assert installed is not None and found().sandbox is not None
        assert (value["language"], value["version"]) == (language, installed.version)
        assert value["tier"] == found().sandbox.name and "filesystem" in value["protections"]  # type: ignore[union-attr]
        assert value["timeS"] > 0
        assert ("stdout", "hejhej") in [(line.stream, line.text) for line in rig.lines(task)]

    on_a_worker(folder, story)


@pytest.mark.parametrize("language", EXIT_3)
def test_another_exit_code_is_a_failure_with_all_that_is_known(language: str, folder: Path) -> None:
    task = code(language, EXIT_3[language])

    async def story(rig: Rig) -> None:
        failure = await rig.failure(task, within_s=150.0)
        assert (failure.type, failure.elsewhere) == ("ExitCode", False), failure
        assert "exited with 3" in failure.message
        assert (failure.value["exitCode"], failure.value["language"]) == (3, language)

    on_a_worker(folder, story)


@pytest.mark.parametrize("language", NONSENSE)
def test_what_cannot_be_compiled_fails_with_the_words_of_the_compiler(language: str, folder: Path) -> None:
    task = code(language, NONSENSE[language])
    installed = found().toolbox.pick(language)
    if installed is None or not installed.language.compile:
        pytest.skip(f"nothing compiles {language} on this machine")

    async def story(rig: Rig) -> None:
        failure = await rig.failure(task, within_s=150.0)
        assert (failure.type, failure.retryable) == ("CompileError", False)
        assert installed.language.file in failure.detail and failure.message.startswith(f"{language} ")
        assert "error" in failure.message or "undefined" in failure.message
        assert installed.language.file in failure.value["stdout"] + failure.value["stderr"]
        assert any(installed.language.file in line.text for line in rig.lines(task))

    on_a_worker(folder, story)


@pytest.mark.parametrize("language", TWICE)
def test_a_program_runs_in_the_version_that_it_asks_for(language: str, folder: Path) -> None:
    installed = found().toolbox.pick(language)
    version = "0" if installed is None else installed.version
    task = code(language, TWICE[language], stdin="v", version=version)

    async def story(rig: Rig) -> None:
        assert (await rig.value(task, within_s=150.0))["version"] == version
        unknown = await rig.failure(code(language, "x", version="999"))
        assert (unknown.type, unknown.elsewhere) == ("NoLanguage", True)

    on_a_worker(folder, story)
    offered = found().capabilities
    assert f"code/{language}/{version.split('.')[0]}" in offered and f"code/{language}/999" not in offered


def test_warnings_of_a_compiler_are_no_errors(folder: Path) -> None:
    task = code("c", '#include <stdio.h>\nint main(void) { int unused; puts("fine"); }')

    async def story(rig: Rig) -> None:
        assert (await rig.value(task))["stdout"] == "fine\n"
        assert any("unused" in line.text for line in rig.lines(task))

    on_a_worker(folder, story)


AWK = """
[[language]]
name = "awk"
file = "main.awk"
programs.awk = ["mawk", "gawk", "awk"]
version = ["/bin/sh", "-c", '"$0" -W version < /dev/null || "$0" --version', "{awk}"]
pattern = '([0-9]+\\.[0-9.]+)'
compile = ["/bin/sh", "-c", "grep -q . main.awk || { echo error: empty; exit 1; }; cp main.awk checked.awk"]
makes = ["checked.awk"]
run = ["{awk}", "-f", "checked.awk"]
"""


def test_users_add_languages_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "languages.toml").write_text(AWK)
    tools = tools_of(CodeConfig(languages=tmp_path / "languages.toml"), os.environ)
    assert tools is not None

    async def story() -> None:
        async def best() -> Sandbox:
            return await sandboxes.best() or PlainSandbox()

        await tools.look(best)
        installed = tools.toolbox.pick("awk")
        assert installed is not None, "every Debian has an awk"
        async with working(tmp_path, code=tools) as rig:
            asked = {"language": "awk", "version": installed.version.split(".")[0], "stdin": "20\n22\n"}
            task = a_task("code", {**asked, "code": "{ sum += $1 } END { print sum }"})
            value = await rig.value(task)
            assert (value["stdout"], value["version"]) == ("42\n", installed.version)
            failure = await rig.failure(a_task("code", {**asked, "code": "\n"}))
            assert (failure.type, "error: empty" in failure.message) == ("CompileError", True)

    play(story())


def test_limits_end_a_program_each_by_its_name(folder: Path) -> None:
    endless = code("python", "while True: pass", limits={"timeout": "300ms"})
    busy = code("python", "while True: pass", limits={"cpu": "1s", "timeout": "20s"})
    greedy = code("python", "x = bytearray(10**9)\nprint(len(x))", limits={"memory": "100MB"})
    chatty = code("python", "while True: print('y' * 1000)", limits={"output": "10KB"})

    async def story(rig: Rig) -> None:
        for task, type, exceeded in (
            (endless, "TimeLimit", "timeout"),
            (busy, "CpuLimit", "cpu"),
            (greedy, "MemoryLimit", "memory"),
            (chatty, "OutputLimit", "output"),
        ):
            failure = await rig.failure(task)
            if type == "MemoryLimit" and failure.type == "ExitCode":
                # Where nobody counts for the whole, the interpreter is told that there is no more.
                assert "MemoryError" in failure.message
                continue
            assert (failure.type, failure.value["exceeded"]) == (type, exceeded), failure

    on_a_worker(folder, story)


def test_files_go_in_and_come_out_as_text_or_as_bytes(folder: Path) -> None:
    text = """
import os
os.makedirs("out")
open("out/upper.txt", "w").write(open("in/words.txt").read().upper())
open("raw.bin", "wb").write(open("given.bin", "rb").read()[::-1])
os.symlink("/etc/passwd", "stolen")
"""
    task = code(
        "python",
        text,
        files={"in/words.txt": "grüße", "given.bin": {"base64": "AAH/"}},
        outputs=["out/upper.txt", "raw.bin", "never.txt", "stolen"],
    )

    async def story(rig: Rig) -> None:
        value = await rig.value(task)
        assert value["files"] == {"out/upper.txt": "GRÜSSE", "raw.bin": {"base64": "/wEA"}}

    on_a_worker(folder, story)


def test_a_stopped_step_leaves_nothing_running(folder: Path) -> None:
    task = code("bash", "echo begun; sleep 1000")

    async def story(rig: Rig) -> None:
        rig.start(task)
        await until(lambda: rig.lines(task))
        rig.worker.stop(task.name)
        await until(lambda: not rig.worker.held())

    on_a_worker(folder, story)
