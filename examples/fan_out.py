"""Fan-out and fan-in: one step per file, side by side, and one that waits for all of them.

windlass up examples/fan_out.py
windlass run word_count -i "files=[\"$PWD/README.md\", \"$PWD/CHANGELOG.md\"]"
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from windlass import index, step, workflow


@step(retries=2, on_failure="skip")
def count_words(file: str, number: int) -> dict[str, int] | None:
    """Of one file. One that cannot be read is left out: the list has null in its place."""
    print(f"file {number}: {file}")
    return dict(Counter(Path(file).read_text().lower().split()))


@step
def most_frequent(counted: list[dict[str, int] | None], top: int) -> dict[str, int]:
    together: Counter[str] = Counter()
    for words in counted:
        together.update(words or {})
    return dict(together.most_common(top))


@workflow
def word_count(files: list[str], top: int = 3) -> dict[str, int]:
    counted = count_words.options(max_parallel=10).map(files, number=index)
    return most_frequent(counted, top)
