"""How busy the machine is, from what the kernel counts."""

from pathlib import Path

import pytest

from windlass.worker.machine import Machine


def test_the_processor_is_as_busy_as_it_was_since_the_last_look(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    #                 user nice system idle iowait irq softirq steal guest
    stat.write_text("cpu 100 0 100 800 0 0 0 0 50 0\ncpu0 1 2 3\n")
    machine = Machine(lambda: 0.33333, stat)
    stat.write_text("cpu 160 0 110 820 10 0 0 0 99 0\n")
    assert machine() == (0.7, 0.3333)
    assert machine() == (0.7, 0.3333)  # asked again at once
    stat.write_text("cpu 160 0 110 920 10 0 0 0 99 0\n")
    assert machine() == (0.0, 0.3333)


@pytest.mark.parametrize("text", ["", "cpu what\n", None])
def test_where_the_kernel_does_not_say_nothing_is_said(tmp_path: Path, text: str | None) -> None:
    stat = tmp_path / "stat"
    if text is not None:
        stat.write_text(text)
    assert Machine(lambda: 0.5, stat)() == (0.0, 0.5)


def test_here_it_says_something() -> None:
    cpu, memory = Machine(lambda: 0.5)()
    assert 0.0 <= cpu <= 1.0
    assert memory == 0.5
