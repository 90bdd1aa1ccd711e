"""Extract, transform, load: a day's sales from a CSV file into a report.

windlass up examples/etl.py
windlass run etl -i day=2026-01-01 -i source="$PWD/sales.csv" -i target="$PWD/report.json"

sales.csv has the columns day, product, amount. Whole paths: steps work in the data folder of the engine.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TypedDict

from windlass import step, workflow


class Sale(TypedDict):
    day: str
    product: str
    amount: float


class Report(TypedDict):
    day: str
    total: float
    by_product: dict[str, float]


@step(retries=3, backoff="2s", timeout="1m", not_on=[FileNotFoundError])
def extract(source: str, day: str) -> list[Sale]:
    """A network drive may be away for a moment: that is worth another attempt, a wrong name is not."""
    with Path(source).open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["day"] == day]
    return [{"day": row["day"], "product": row["product"], "amount": float(row["amount"])} for row in rows]


@step
def transform(sales: list[Sale], day: str) -> Report:
    by_product: dict[str, float] = {}
    for sale in sales:
        by_product[sale["product"]] = by_product.get(sale["product"], 0.0) + sale["amount"]
    return {"day": day, "total": sum(by_product.values()), "by_product": by_product}


@step
def load(report: Report, target: str) -> str:
    """Written beside, then renamed: whoever reads the target sees all of it, and a second attempt is safe."""
    path = Path(target)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(report, indent=2))
    beside.replace(path)
    return str(path)


@workflow(deadline="1h")
def etl(day: str, source: str, target: str) -> Report:
    report = transform(extract(source, day), day)
    load(report, target)
    return report
