"""What was measured: how it is kept, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

LAST: Final = Path(__file__).parent / "last.json"


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing measured, some times over; each time beside the ceiling of that moment, if it has one."""

    name: str
    unit: str
    values: Sequence[float]
    ceilings: Sequence[float] = ()
    less_is_better: bool = False
    target: str = ""  # what was promised, in words
    note: str = ""

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def ceiling(self) -> float | None:
        return median(self.ceilings) if self.ceilings else None

    @property
    def ratio(self) -> float | None:
        """How much of the ceiling is reached; of times, how much of ours the ceiling would take."""
        pairs = list(zip(self.values, self.ceilings, strict=False))
        if not pairs:
            return None
        return median(c / v if self.less_is_better else v / c for v, c in pairs)

    def words(self) -> str:
        """The figure in one line, for those who list proofs."""
        share = f", {self.ratio:.1%} of the ceiling" if self.ratio is not None else ""
        return f"{number(self.value)} {self.unit}{share}"

    def record(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "lo": min(self.values),
            "hi": max(self.values),
            "repeats": len(self.values),
            "ceiling": self.ceiling,
            "ratio": self.ratio,
            "target": self.target,
            "note": self.note,
        }


def number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def show(console: Console, title: str, figures: Sequence[Figure]) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("what")
    for heading in ("value", "unit", "[lo-hi]", "ceiling", "ratio"):
        table.add_column(heading, justify="left" if heading == "unit" else "right", no_wrap=True)
    table.add_column("remark")
    for figure in figures:
        spread = f"[{number(min(figure.values))}-{number(max(figure.values))}]"
        table.add_row(
            figure.name,
            number(figure.value),
            figure.unit,
            spread.replace("[", r"\[") if len(figure.values) > 1 else "",
            "" if figure.ceiling is None else number(figure.ceiling),
            "" if figure.ratio is None else f"{figure.ratio:.1%}",
            "; ".join(part for part in (figure.target, figure.note) if part),
        )
    console.print(table)


def write(command: str, machine: Mapping[str, Any], figures: Sequence[Figure], path: Path = LAST) -> None:
    """Keep the figures; those of benchmarks that were not run this time stay as they were."""
    before = json.loads(path.read_text()) if path.exists() else {}
    measured = {entry["name"]: entry for entry in before.get("measured", [])}
    texts = dict(before.get("figures", {}))
    for figure in figures:
        measured[figure.name] = {**figure.record(), "command": command}
        texts[figure.name] = figure.words()
    content = {
        "command": command,
        "machine": dict(machine),
        "figures": texts,
        "measured": list(measured.values()),
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
