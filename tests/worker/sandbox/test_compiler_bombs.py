"""Texts that are short, and make a compiler take all there is. It runs in the sandbox as any program does."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from tests.worker.sandbox.hands import Ask
from tests.worker.sandbox.rig import SMALL, Bench
from windlass.worker.sandbox import Job, Limits, Ran

LIMITS = replace(SMALL, wall_s=1.0, cpu_s=1.0, memory_bytes=128 * 1024**2, disk_bytes=16 * 1024**2)
MACROS = "\n".join(f"#define M{n + 1} {f'M{n} ' * 16}" for n in range(8))
BOMBS = {
    "endless include": '#include "/dev/zero"\n',
    "include of itself": "#include __FILE__\n#include __FILE__\nint main(void) { return 0; }\n",
    "macros": f"#define M0 int x;\n{MACROS}\nM8\n",
    "a large array": "char big[1L << 40] = {1};\nint main(void) { return big[1]; }\n",
    "a large object": "int big[1 << 26] = {1};\nint main(void) { return big[1]; }\n",
    "assembler": '__asm__(".rept 1000000000\\n.quad 1\\n.endr");\nint main(void) { return 0; }\n',
    "a file of the host": '#include "/etc/shadow"\nint main(void) { return 0; }\n',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_compiler_bomb_ends_with_what_it_may_have(bench: Bench, bomb: str) -> None:
    ran = _compile(bench, BOMBS[bomb], LIMITS)
    assert (ran.how, ran.code) != ("exited", 0) and ran.how != "not_started" and ran.files == {}, ran
    assert ran.wall_s < LIMITS.wall_s + 2 and b"root:" not in ran.stderr


def test_what_is_no_bomb_is_compiled_with_the_same_memory(bench: Bench) -> None:
    text = '#include <stdio.h>\nint main(void) { return puts("made") < 0; }\n'
    ran = _compile(bench, text, replace(LIMITS, wall_s=20.0, cpu_s=20.0))
    assert (ran.how, ran.code) == ("exited", 0) and len(ran.files["made"]) > 1000, ran


def _compile(bench: Bench, text: str, limits: Limits) -> Ran:
    if shutil.which("gcc", path="/usr/bin") is None:
        pytest.skip("there is no gcc here")
    words = ["/usr/bin/gcc", "-o", "made", "main.c"]
    job = Job(words, limits, files={"main.c": text.encode()}, wanted=["made"])
    ran = bench.worker.ask(Ask(bench.tier, job)).ran
    assert ran is not None
    return ran
